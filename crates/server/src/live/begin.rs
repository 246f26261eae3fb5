//! Beginning a run that somebody asks for: checked, given a place, stored, and then answered; from there on it goes on without whoever asked.

use std::sync::Arc;

use toolcrib_app::core::{ConversationId, RunId, RunStatus};
use toolcrib_app::runner::Start;

use super::drive::{self, First};
use super::run::LiveRun;
use super::view::{Item, RunView};
use super::{drive::is_abandoned, key, place};
use crate::daemon::Daemon;
use crate::host::RunWish;
use crate::problem::{Code, Problem};
use crate::role::Principal;

/// Runs of a conversation's owner that are looked at for one that is in the way; older ones have ended.
const LOOKED_AT: usize = 1_000;

/// A run that somebody asks for.
pub(crate) struct Wanted {
    /// What is asked for.
    pub(crate) wish: RunWish,
    /// Idempotency key and the fingerprint of the request.
    pub(crate) key: Option<(String, String)>,
}

/// Begins a run, or finds the one that was begun before under its key. It is stored when this returns.
pub(crate) async fn begin(
    daemon: &Daemon,
    principal: &Principal,
    wanted: Wanted,
) -> Result<RunId, Problem> {
    if daemon.stopping().is_cancelled() {
        return Err(Problem::new(Code::Unavailable, "the daemon is stopping").retry_after(5));
    }
    let Wanted { wish, key } = wanted;
    let goes_on = wish.conversation.is_some();
    if let Some(conversation) = wish.conversation {
        known(daemon, &wish.owner, conversation).await?;
    }
    let start = daemon.host().start(wish).await?;
    let Some((key, fingerprint)) = key else {
        let id = RunId::fresh();
        begin_as(daemon, principal, (id, start), goes_on).await?;
        return Ok(id);
    };
    let claim = key::claim(daemon, &start.context.owner, &key, fingerprint).await?;
    let id = claim.run();
    if claim.is_begun() {
        return Ok(id);
    }
    begin_as(daemon, principal, (id, start), goes_on).await?;
    claim.done().await;
    Ok(id)
}

/// A conversation that a run may go on in: the caller's own. Somebody else's is not there.
async fn known(daemon: &Daemon, owner: &str, id: ConversationId) -> Result<(), Problem> {
    let found = daemon.stores().runs.conversation(id).await?;
    match found.filter(|found| found.owner == owner) {
        Some(_) => Ok(()),
        None => Err(Problem::not_found(format!("there is no conversation {id}"))),
    }
}

/// No other run is in the middle of it: two would write over each other's messages.
async fn free(daemon: &Daemon, start: &Start) -> Result<(), Problem> {
    let stores = daemon.stores();
    for status in [RunStatus::Running, RunStatus::Paused] {
        let runs = stores.runs.runs(&start.context.owner, Some(status), LOOKED_AT).await?;
        let same = runs.iter().find(|run| run.conversation == start.conversation);
        let Some(run) = same else { continue };
        let (does, what) = match status {
            RunStatus::Paused => ("waits for a person", "decide what it asks or stop it"),
            // One that nobody works on is taken up soon: it is in the way too.
            _ if is_abandoned(daemon, run).await? => {
                ("is about to go on", "wait for it or stop it")
            }
            _ => ("is being worked on", "wait for it or stop it"),
        };
        return Err(Problem::conflict(format!(
            "the run {} {does} in this conversation; {what}, or begin another conversation",
            run.id
        ))
        .about(serde_json::json!({"run": run.id})));
    }
    Ok(())
}

async fn begin_as(
    daemon: &Daemon,
    principal: &Principal,
    (id, mut start): (RunId, Start),
    goes_on: bool,
) -> Result<(), Problem> {
    let place = place(daemon, id, start.conversation, Some(&principal.client))?;
    if goes_on {
        // With the place in hand, so that of two in this process only one looks and finds it free.
        free(daemon, &start).await?;
    }
    // Who asked stands in every row, so that a decision about one's own request can be told.
    start.context.device.clone_from(&principal.name);
    drive::worked_on_here(daemon, &mut start.setup).await?;
    drive::limited(daemon, &mut start, principal.tools.as_deref());
    let text = daemon.toolcrib().engine().sealing().secrets.mask(start.message.text.clone());
    let view = RunView {
        run: id.to_string(),
        conversation: start.conversation.to_string(),
        agent: start.agent.name.clone(),
        items: vec![Item::Message { kind: "typed".to_owned(), text }],
        ..RunView::default()
    };
    let owner = start.context.owner.clone();
    let live = Arc::new(LiveRun::new(id, start.conversation, owner, view));
    drive::drive(daemon, place, live, First::Start(Box::new(start))).await
}
