//! Watches the inboxes of the mail accounts, for the heartbeat and for tasks that run when mail
//! arrives.
//!
//! Invariants
//! - Mail that existed when an account was first watched starts no task.
//! - Mail that arrives within 30 s is one event of a task: a flood of mail does not start a flood
//!   of runs.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use toolcrib_app::StateChanges;
use toolcrib_assistant::mail_inbox::{ArrivedMail, MailPosition};
use toolcrib_core::{
    BoxFuture, Clock as _, SystemClock, Task, TaskEvent, TaskStatus, TaskTrigger, canonical_json,
};
use toolcrib_mail::account::MailAccount;
use toolcrib_mail::{InboxListener, MailError, NewMail, WatchTimes, watch_inbox};

use crate::run_supervisor::RunSupervisor;

/// Shortest time between two reads of the list of accounts.
const LOOK: Duration = Duration::from_secs(1);
/// Longest time: the folder of the configuration may not be watched.
const LONGEST: Duration = Duration::from_secs(10);
/// Maximum number of characters of an event.
const MAX_EVENT_CHARS: usize = 8_000;
/// The owner of the accounts.
const OWNER: &str = "";
/// The tools that are available only while mail is enabled.
const MAIL_TOOLS: [&str; 2] = ["check_email", "setup_email"];

/// Watches until the daemon is told to stop.
pub(crate) async fn run_mail_watcher(supervisor: &RunSupervisor, mut changes: StateChanges) {
    let mut tasks = JoinSet::new();
    let mut watched: HashMap<String, (MailAccount, AbortHandle)> = HashMap::new();
    loop {
        match accounts(supervisor) {
            Ok(accounts) => follow(supervisor, &accounts, &mut watched, &mut tasks).await,
            Err(error) => tracing::warn!(%error, "the mail accounts could not be read"),
        }
        while tasks.try_join_next().is_some() {}
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => return,
            () = changes.next_within(LOOK, LONGEST) => {}
        }
    }
}

/// Returns the accounts to watch: none while mail is switched off.
fn accounts(supervisor: &RunSupervisor) -> Result<Vec<MailAccount>, MailError> {
    let view = supervisor.toolcrib().catalog().view(&Arc::default());
    if MAIL_TOOLS.iter().all(|tool| view.find(tool).is_none()) {
        return Ok(Vec::new());
    }
    supervisor.toolcrib().mail_accounts().list()
}

/// Starts and stops watchers, so that they match the accounts.
async fn follow(
    supervisor: &RunSupervisor,
    accounts: &[MailAccount],
    watched: &mut HashMap<String, (MailAccount, AbortHandle)>,
    tasks: &mut JoinSet<()>,
) {
    let gone: Vec<String> = watched
        .iter()
        .filter(|(_, (account, _))| !accounts.contains(account))
        .map(|(address, _)| address.clone())
        .collect();
    for address in gone {
        if let Some((_, handle)) = watched.remove(&address) {
            handle.abort();
        }
        let is_removed = accounts.iter().all(|account| account.address != address);
        // Switching mail off temporarily keeps the stored positions.
        let exists = supervisor.toolcrib().mail_accounts().find(Some(&address)).is_ok();
        if is_removed && !exists {
            supervisor.toolcrib().mail_inboxes().forget(OWNER, &address).await.ok();
        }
    }
    for account in accounts {
        if watched.contains_key(&account.address) {
            continue;
        }
        let (supervisor, watching) = (supervisor.clone(), account.clone());
        let handle = tasks.spawn(async move {
            let accounts = supervisor.toolcrib().mail_accounts().clone();
            let listener = Listener { supervisor };
            match watch_inbox(&accounts, &watching, &listener, WatchTimes::default()).await {}
        });
        watched.insert(account.address.clone(), (account.clone(), handle));
    }
}

/// Starts tasks on new mail, and records the mail as seen.
struct Listener {
    supervisor: RunSupervisor,
}

impl Listener {
    async fn record(&self, account: &MailAccount, new: NewMail) -> Result<(), String> {
        let toolcrib = self.supervisor.toolcrib();
        let inboxes = toolcrib.mail_inboxes();
        let known = inboxes.get(OWNER, &account.address).await.map_err(|e| e.to_string())?;
        let known = known.and_then(|inbox| inbox.position);
        // Mail that another daemon has recorded meanwhile has already started its tasks.
        let is_new = |mail: &ArrivedMail| {
            known.is_none_or(|known| {
                known.validity != new.position.validity || mail.uid >= known.next_uid
            })
        };
        let arrived: Vec<ArrivedMail> = new.arrived.iter().filter(|m| is_new(m)).cloned().collect();
        let all = self.supervisor.stores().tasks.tasks(OWNER).await.map_err(|e| e.to_string())?;
        // Start tasks before the position is recorded: if the daemon dies in between, the next one
        // finds the mail again, and the key of the event prevents a second start.
        for task in all {
            let Some(event) = event_for(&task, account, &arrived, &new) else { continue };
            if let Err(error) = toolcrib.tasks().add_event(OWNER, task.id, event).await {
                tracing::warn!(task = %task.id, %error, "a mail could not start its task");
            }
        }
        let recorded =
            inboxes.record(OWNER, &account.address, new.position, new.unread, &arrived).await;
        recorded.map_err(|error| error.to_string())
    }
}

/// Returns the event of a task; `None` if no mail matches it.
fn event_for(
    task: &Task,
    account: &MailAccount,
    arrived: &[ArrivedMail],
    new: &NewMail,
) -> Option<TaskEvent> {
    let TaskTrigger::Mail { filter } = &task.trigger else { return None };
    if !matches!(task.status, TaskStatus::Pending | TaskStatus::Running) {
        return None;
    }
    let names = [account.id.as_str(), account.address.as_str()];
    let fits = |mail: &&ArrivedMail| filter.matches(names, &mail.from, &mail.subject);
    let fitting: Vec<&ArrivedMail> = arrived.iter().filter(fits).collect();
    let newest = fitting.first()?;
    let mut text = format!("E-mail to {}:", account.address);
    for mail in &fitting {
        let ArrivedMail { uid, from, subject, text: body, .. } = mail;
        let _ = write!(text, "\n\nuid {uid}, from {from}\nSubject: {subject}\n{}", body.trim());
    }
    if new.more > 0 {
        let _ = write!(text, "\n\nBesides, {} older mails arrived; check_email.", new.more);
    }
    let (validity, uid) = (new.position.validity.to_string(), newest.uid.to_string());
    let hash = canonical_json::sha256_parts(&["mail", &account.address, &validity, &uid]);
    Some(TaskEvent {
        key: format!("mail-{}", hash.get(..32).unwrap_or_default()),
        at: SystemClock.now_ms(),
        text: text.chars().take(MAX_EVENT_CHARS).collect(),
    })
}

impl InboxListener for Listener {
    fn position<'a>(
        &'a self,
        account: &'a MailAccount,
    ) -> BoxFuture<'a, Result<Option<MailPosition>, String>> {
        Box::pin(async move {
            let inboxes = self.supervisor.toolcrib().mail_inboxes();
            let inbox = inboxes.get(OWNER, &account.address).await;
            Ok(inbox.map_err(|error| error.to_string())?.and_then(|inbox| inbox.position))
        })
    }

    fn found<'a>(
        &'a self,
        account: &'a MailAccount,
        new: NewMail,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.record(account, new))
    }

    fn problem<'a>(&'a self, account: &'a MailAccount, error: &'a MailError) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            tracing::warn!(account = account.address, %error, "an inbox cannot be read");
            let inboxes = self.supervisor.toolcrib().mail_inboxes();
            let reason = error.to_string();
            inboxes.record_problem(OWNER, &account.address, &reason).await.ok();
        })
    }
}
