//! Waiting for new mail: IDLE, a look now and then without it, and a connection that is lost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::timeout;
use toolcrib_assistant::mail_inbox::MailPosition;
use toolcrib_core::BoxFuture;
use toolcrib_mail::account::MailAccount;
use toolcrib_mail::{InboxListener, MailError, NewMail, WatchTimes, watch_inbox};
use toolcrib_testkit::mail_servers::Dovecot;

use crate::dovecot::tools_of;

/// Longest time until a mail is seen.
const SEEN: Duration = Duration::from_secs(30);

/// Remembers what it is told.
#[derive(Default, Clone)]
struct Listener {
    position: Arc<Mutex<Option<MailPosition>>>,
    found: Arc<Mutex<Vec<NewMail>>>,
    problems: Arc<Mutex<Vec<String>>>,
}

impl InboxListener for Listener {
    fn position<'a>(
        &'a self,
        _: &'a MailAccount,
    ) -> BoxFuture<'a, Result<Option<MailPosition>, String>> {
        Box::pin(async { Ok(*self.position.lock().unwrap()) })
    }

    fn found<'a>(&'a self, _: &'a MailAccount, new: NewMail) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            *self.position.lock().unwrap() = Some(new.position);
            self.found.lock().unwrap().push(new);
            Ok(())
        })
    }

    fn problem<'a>(&'a self, _: &'a MailAccount, error: &'a MailError) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.problems.lock().unwrap().push(error.to_string()) })
    }
}

impl Listener {
    fn subjects(&self) -> Vec<String> {
        let found = self.found.lock().unwrap();
        found.iter().flat_map(|new| new.arrived.iter().map(|m| m.subject.clone())).collect()
    }

    /// Waits until so many looks and these subjects were reported.
    async fn until(&self, looks: usize, subjects: &[&str]) {
        let wait = async {
            while self.subjects() != subjects || self.found.lock().unwrap().len() < looks {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let seen = timeout(SEEN, wait).await;
        assert!(seen.is_ok(), "{:?} {:?}", self.subjects(), self.problems.lock().unwrap());
    }
}

fn mail(subject: &str) -> String {
    format!(
        "From: Bob <bob@example.net>\nTo: ann@example.org\nSubject: {subject}\n\nText of {subject}\n"
    )
}

fn times() -> WatchTimes {
    let short = Duration::from_millis(100);
    WatchTimes {
        poll: short,
        batch: short,
        retry: short,
        longest_retry: short,
        ..WatchTimes::default()
    }
}

/// Watches while `steps` run.
async fn watching(dovecot: Dovecot, steps: impl AsyncFnOnce(Dovecot, Listener)) {
    let tools = tools_of(&dovecot).await;
    let account = tools.accounts.find(None).unwrap();
    let listener = Listener::default();
    tokio::select! {
        _ = watch_inbox(&tools.accounts, &account, &listener, times()) => {}
        () = steps(dovecot, listener.clone()) => {}
    }
}

#[tokio::test]
async fn new_mail_is_told_once_and_a_lost_connection_loses_none() {
    let Some(dovecot) = Dovecot::start() else { return };
    dovecot.deliver("0.old", &mail("Old"));
    watching(dovecot, async |mut dovecot, listener| {
        // What was there before is not new.
        listener.until(1, &[]).await;
        assert_eq!(listener.found.lock().unwrap()[0].unread, 1);
        dovecot.deliver("1.a", &mail("One"));
        listener.until(2, &["One"]).await;
        let first = listener.found.lock().unwrap()[1].arrived[0].clone();
        assert_eq!(
            (first.from.as_str(), first.text.trim()),
            ("Bob <bob@example.net>", "Text of One")
        );
        dovecot.stop();
        // Mail that arrives while there is no connection, one of them read elsewhere.
        dovecot.deliver("2.b", &mail("Two"));
        tokio::time::sleep(Duration::from_millis(300)).await;
        dovecot.run().unwrap();
        listener.until(3, &["One", "Two"]).await;
        dovecot.deliver("3.c", &mail("Three"));
        listener.until(4, &["One", "Two", "Three"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_server_without_idle_is_asked_again() {
    let capability = "protocol imap {\n imap_capability = IMAP4rev1 LITERAL+\n}";
    let Some(dovecot) = Dovecot::start_with(capability) else { return };
    watching(dovecot, async |dovecot, listener| {
        listener.until(1, &[]).await;
        dovecot.deliver("1.a", &mail("One"));
        listener.until(2, &["One"]).await;
    })
    .await;
}
