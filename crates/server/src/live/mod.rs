//! Runs at work in this daemon: who drives them, who looks on, and what becomes of those that nobody drives.
//!
//! Invariants
//! - A run is driven by at most one task of this process; between processes its epoch in the store decides (`RunStore::take_run`).
//! - Whoever asked for a run may go away: it goes on, and is looked up by its id.
//! - A reader takes events at its own pace; the run never waits for it.
//! - A run is never lost: whatever is stored as running and has nobody who works on it is taken up again.

mod begin;
mod decided;
mod drive;
mod feed;
mod key;
mod look;
mod run;
pub(crate) mod sse;
pub(crate) mod stored;
mod stream;
mod view;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolcrib_app::core::{ApprovalRequest, ConversationId, DecisionRecord, RunId, StoredRun};

use crate::daemon::Daemon;
use crate::problem::{Code, Problem};

pub(crate) use begin::{Wanted, begin};
pub(crate) use decided::{Next, go_on, place_of, promise};
pub(crate) use drive::{How, is_abandoned, run_id, take_up};
pub(crate) use feed::Feed;
pub(crate) use look::{leave, tend};
pub(crate) use run::LiveRun;
pub(crate) use stream::{of_everything, of_run};
pub(crate) use view::{RunState, RunView};

/// Runs at work in this daemon.
#[derive(Default)]
pub(crate) struct LiveRuns {
    registry: Mutex<Registry>,
    feed: Feed,
    /// Asks for a look at what waits, before its time.
    poked: Notify,
    keys: key::Keys,
    /// Runs of responses that are open for calls which were decided about later, with the number of these.
    opened: Mutex<HashMap<RunId, usize>>,
}

#[derive(Default)]
struct Registry {
    /// Runs whose events are told here: those at work, and those put aside that somebody looks at.
    runs: HashMap<RunId, Arc<LiveRun>>,
    /// Who has a place to work.
    at_work: HashMap<RunId, Worker>,
}

struct Worker {
    client: String,
    conversation: ConversationId,
}

/// The right to drive a run; given back when dropped.
pub(crate) struct Place {
    daemon: Daemon,
    run: RunId,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.daemon.live().registry().at_work.remove(&self.run);
    }
}

/// Why there is no place.
pub(crate) enum NoPlace {
    /// This run has one already.
    AtWork,
    /// Another run works in this conversation.
    Conversation(RunId),
    /// This client has as many as it may have.
    Client(usize),
    /// The daemon has as many as it may have.
    Full(usize),
}

impl From<NoPlace> for Problem {
    fn from(why: NoPlace) -> Self {
        match why {
            NoPlace::AtWork => Self::conflict("the run is being worked on already"),
            NoPlace::Conversation(run) => Self::conflict(format!(
                "the run {run} is being worked on in this conversation; wait for it, stop it, or begin another conversation"
            ))
            .about(json!({"run": run})),
            NoPlace::Client(most) => Self::new(
                Code::RateLimited,
                format!("{most} runs of this client are at work, which is the most; wait until one has ended"),
            )
            .retry_after(1),
            NoPlace::Full(most) => Self::new(
                Code::Unavailable,
                format!("{most} runs are at work, which is the most; try again when one has ended"),
            )
            .retry_after(1),
        }
    }
}

impl LiveRuns {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<RunId, usize>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run whose events are told here.
    pub(crate) fn get(&self, id: RunId) -> Option<Arc<LiveRun>> {
        self.registry().runs.get(&id).cloned()
    }

    /// A run that waits, and that somebody begins to look at: what happens to it will be told here if it goes on here.
    fn adopt(&self, run: &StoredRun, view: RunView) -> Arc<LiveRun> {
        let mut registry = self.registry();
        if let Some(live) = registry.runs.get(&run.id) {
            return Arc::clone(live);
        }
        let owner = run.context.owner.clone();
        let live = Arc::new(LiveRun::new(run.id, run.conversation, owner, view));
        live.goes_on(run.epoch);
        registry.runs.insert(run.id, Arc::clone(&live));
        live
    }

    /// Whether this process drives it.
    pub(crate) fn drives(&self, id: RunId) -> bool {
        self.registry().at_work.contains_key(&id)
    }

    /// Runs that this process drives.
    pub(crate) fn count(&self) -> usize {
        self.registry().at_work.len()
    }

    /// Whoever looks at a run now.
    fn readers(&self) -> usize {
        self.registry().runs.values().map(|run| run.readers()).sum()
    }

    /// What happens to all of them.
    pub(crate) fn feed(&self) -> &Feed {
        &self.feed
    }

    /// Something was asked, decided or left behind: it is looked at now and not at the next turn.
    pub(crate) fn poke(&self) {
        self.poked.notify_one();
    }

    /// Tells everybody who looks that a switch, or the kill switch, is set another way. `what` = its row.
    pub(crate) fn switched(&self, what: &impl Serialize) {
        self.feed.tell(None, "switch", what);
    }

    /// Tells that a person is asked.
    pub(crate) fn asked(&self, request: &ApprovalRequest) {
        self.feed.tell(Some(&request.context.owner), "approval", &question_row(request));
    }

    /// Tells that a person decided.
    pub(crate) fn was_decided(&self, request: &ApprovalRequest, record: Option<&DecisionRecord>) {
        let decision = record.and_then(|record| serde_json::to_value(&record.decision).ok());
        let what = json!({
            "approval": request.id, "call": request.call, "run": request.run, "tool": request.tool,
            "decision": decision.as_ref().and_then(|decision| decision.get("decision")),
            "by": record.map(|record| record.decided_by.as_str()),
            "at": record.map(|record| record.decided_at),
        });
        self.feed.tell(Some(&request.context.owner), "decision", &what);
    }
}

impl Daemon {
    /// Readers of the streams of runs, now.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.live().readers()
    }

    /// Runs that this daemon works on, now.
    #[must_use]
    pub fn runs_at_work(&self) -> usize {
        self.live().count()
    }
}

/// A question as everybody may see it who looks: what it is about is fetched by its id.
fn question_row(request: &ApprovalRequest) -> Value {
    json!({
        "approval": request.id, "call": request.call, "run": request.run, "tool": request.tool,
        "operation": request.operation, "risk": request.risk, "requested_at": request.requested_at,
        "expires_at": request.expires_at, "is_question": request.question.is_some(),
    })
}

/// A place for a run; `client` = who is counted, nobody for one that has to go on.
fn place(
    daemon: &Daemon,
    run: RunId,
    conversation: ConversationId,
    client: Option<&str>,
) -> Result<Place, NoPlace> {
    let settings = daemon.settings();
    let mut registry = daemon.live().registry();
    if registry.at_work.contains_key(&run) {
        return Err(NoPlace::AtWork);
    }
    let same = registry.at_work.iter().find(|(_, worker)| worker.conversation == conversation);
    if let Some((other, _)) = same {
        return Err(NoPlace::Conversation(*other));
    }
    if let Some(client) = client {
        let of_client = registry.at_work.values().filter(|worker| worker.client == client).count();
        if of_client >= settings.runs_of_client {
            return Err(NoPlace::Client(settings.runs_of_client));
        }
        if registry.at_work.len() >= settings.runs_at_once {
            return Err(NoPlace::Full(settings.runs_at_once));
        }
    }
    let client = client.unwrap_or_default().to_owned();
    registry.at_work.insert(run, Worker { client, conversation });
    drop(registry);
    Ok(Place { daemon: daemon.clone(), run })
}
