//! Deciding: stored first, by compare-and-set, and then it goes on wherever the call waits.

use serde_json::json;
use toolcrib_app::core::invoke::DecideError;
use toolcrib_app::core::store::{Question, Waiting};
use toolcrib_app::core::{
    ApprovalRequest, Clock as _, Decision, DecisionRecord, Grant, RunId, SystemClock,
};
use toolcrib_app::{Decisions, Sealing, Stores, grant_of};

use super::super::{resume, through};
use super::here::Step;
use super::list::decision_words;
use super::surroundings::Place;
use super::{find, here, other_kind, store};
use crate::cli::Yes;
use crate::output::{self, Failure};
use crate::{person, when, world};

/// Decides about the question that is meant.
pub(super) async fn run(
    stores: &Stores,
    which: &Yes,
    decision: impl FnOnce(&Question) -> Result<Decision, Failure>,
    json: bool,
) -> Result<u8, Failure> {
    let question = find(stores, &which.id).await?;
    let decision = match &question.1 {
        // What was decided stands, whatever is wrong with this decision.
        Some(_) => decision(&question).unwrap_or(Decision::Skip),
        None => decision(&question)?,
    };
    apply(stores, question, decision, which.resume, json).await
}

pub(super) async fn apply(
    stores: &Stores,
    (waiting, decided): Question,
    decision: Decision,
    resume: bool,
    json: bool,
) -> Result<u8, Failure> {
    let request = &waiting.request;
    let place = Place::of(stores, &waiting).await?;
    if let Some(first) = decided {
        return decided_before(stores, &waiting, &first, (&decision, place), json).await;
    }
    if !decision.fits(request) {
        return Err(other_kind(request));
    }
    if matches!(place, Place::Nobody | Place::Aside(_))
        && let Some(code) = through::decide(&waiting, &decision, json).await?
    {
        return Ok(code);
    }
    let record = DecisionRecord { decision, decided_by: person::name(), decided_at: 0 };
    // What is shown of it from here on is what is kept.
    let record = world::sealing()?.seal_decision(record);
    let record = record.map_err(|error| Failure::usage(error.to_string()))?;
    match place {
        Place::Over => Err(over(stores, request).await),
        Place::Nobody if request.question.is_none() => {
            let code = here::carry_out(stores, &waiting, Step::Decide(record), json).await?;
            remembered(stores, request, json).await;
            Ok(code)
        }
        Place::Nobody => only_record(stores, &waiting, record, json).await,
        Place::Live(_) | Place::Aside(_) => {
            let record = recorded(stores, request, record).await?;
            remembered(stores, request, json).await;
            goes_on(stores, &waiting, record, resume, json).await
        }
    }
}

/// What comes of a decision that is written down. Whoever worked on the call may have ended or begun since the first look, so this is the
/// place where it is now.
async fn goes_on(
    stores: &Stores,
    waiting: &Waiting,
    record: DecisionRecord,
    resume: bool,
    json: bool,
) -> Result<u8, Failure> {
    let request = &waiting.request;
    let words = decision_words(&record);
    let next = match Place::of(stores, waiting).await? {
        Place::Live(who) => format!("{who} goes on with it"),
        Place::Aside(run) if resume => {
            // The events of the run are what is printed.
            output::remark(&format!("{words}; its run goes on now"), json);
            return resume::take_up(*run, json).await;
        }
        Place::Aside(run) => format!("`toolcrib resume {}` goes on with its run", run.id),
        Place::Over | Place::Nobody if !has_not_run(stores, request).await? => {
            format!("it went on at once; `toolcrib explain {}` says how", request.call)
        }
        Place::Nobody if may_run(&record.decision) => {
            let left = "the process that waited for it has ended, so it is carried out here";
            output::remark(&format!("{words}; {left}"), json);
            return here::carry_out(stores, waiting, Step::GoOn, json).await;
        }
        Place::Over | Place::Nobody => "nobody waits for it any more".to_owned(),
    };
    say(request, &words, &next, json)?;
    Ok(0)
}

/// Says so if a decision was to be remembered and is not: it is stored after the decision, which stands without it.
async fn remembered(stores: &Stores, request: &ApprovalRequest, json: bool) {
    let Ok(Some((_, Some(record)))) = stores.approvals.get(request.id).await else { return };
    let Some(wanted) = grant_of(request, &record) else { return };
    let is_it = |grant: &Grant| {
        grant.operation == wanted.operation
            && grant.args == wanted.args
            && (grant.scope, grant.created_at) == (wanted.scope, wanted.created_at)
    };
    let why = match stores.grants.list(&wanted.owner).await {
        Ok(grants) if grants.iter().any(is_it) => return,
        Ok(_) => String::new(),
        Err(error) => format!(" ({error})"),
    };
    let what = "it was decided about this call, but it could not be remembered";
    output::remark(&format!("{what}{why}: the next call like it is asked about again"), json);
}

/// Writes a decision down, and nothing more.
pub(super) async fn only_record(
    stores: &Stores,
    waiting: &Waiting,
    record: DecisionRecord,
    json: bool,
) -> Result<u8, Failure> {
    let record = recorded(stores, &waiting.request, record).await?;
    say(&waiting.request, &decision_words(&record), "nobody waits for it any more", json)?;
    Ok(0)
}

async fn recorded(
    stores: &Stores,
    request: &ApprovalRequest,
    record: DecisionRecord,
) -> Result<DecisionRecord, Failure> {
    let sealing = world::sealing()?;
    let record = decisions(stores, &sealing).record(request.id, record).await;
    record.map_err(|error| failure(request, error))
}

/// Whether the call runs by this decision.
pub(crate) fn may_run(decision: &Decision) -> bool {
    matches!(decision, Decision::Approve { .. } | Decision::Edit { .. })
}

/// Where decisions are written down.
pub(crate) fn decisions<'a>(stores: &'a Stores, sealing: &'a Sealing) -> Decisions<'a> {
    let (approvals, grants) = (&*stores.approvals, &*stores.grants);
    Decisions { approvals, grants, clock: &SystemClock, sealing }
}

/// What was decided, and who goes on with it.
pub(super) fn say(
    request: &ApprovalRequest,
    words: &str,
    next: &str,
    json: bool,
) -> Result<(), Failure> {
    if json {
        let row =
            json!({"approval": request.id, "run": request.run, "decided": words, "next": next});
        output::document(&row, true)?;
    } else {
        output::note(&format!("toolcrib: {} {words}; {next}", request.tool));
    }
    Ok(())
}

/// The first decision stands. One to run the call that nobody has carried out, because its process died in between, is carried out when it
/// is said again.
async fn decided_before(
    stores: &Stores,
    waiting: &Waiting,
    first: &DecisionRecord,
    (again, place): (&Decision, Place),
    json: bool,
) -> Result<u8, Failure> {
    let request = &waiting.request;
    let says_so_again = may_run(&first.decision) && *again == Decision::approve();
    if says_so_again && matches!(place, Place::Nobody) && has_not_run(stores, request).await? {
        let words = decision_words(first);
        output::remark(
            &format!("it was {words} before and has not run; it is carried out now"),
            json,
        );
        return here::carry_out(stores, waiting, Step::GoOn, json).await;
    }
    let next = match place {
        Place::Aside(run) => format!("; `toolcrib resume {}` goes on with its run", run.id),
        Place::Live(_) | Place::Nobody | Place::Over => String::new(),
    };
    Err(Failure { code: 5, message: format!("{}{next}", before(request, first)) })
}

async fn has_not_run(stores: &Stores, request: &ApprovalRequest) -> Result<bool, Failure> {
    Ok(stores.calls.call(request.call).await.map_err(store)?.is_none())
}

fn before(request: &ApprovalRequest, first: &DecisionRecord) -> String {
    let ago = when::age(first.decided_at, SystemClock.now_ms());
    format!("{} was decided before, {ago} ago: {}", request.id, decision_words(first))
}

/// Its run is over: nobody is shown the question any more.
async fn over(stores: &Stores, request: &ApprovalRequest) -> Failure {
    let record = DecisionRecord {
        decision: Decision::Deny { note: None },
        decided_by: "the end of its run".to_owned(),
        decided_at: SystemClock.now_ms(),
    };
    let _ = stores.approvals.decide(request.id, record).await;
    let run = request.run.as_ref().map(RunId::to_string).unwrap_or_default();
    Failure {
        code: 5,
        message: format!("the run {run} is over; nobody waits for this decision any more"),
    }
}

/// Why a decision was not taken, with its exit code (DESIGN 7).
pub(super) fn failure(request: &ApprovalRequest, error: DecideError) -> Failure {
    let id = request.id;
    match error {
        DecideError::NotFound => Failure::not_found(format!("there is no question {id}")),
        DecideError::AlreadyDecided(first) => Failure { code: 5, message: before(request, &first) },
        DecideError::Unfit => other_kind(request),
        DecideError::Expired => Failure {
            code: 6,
            message: format!(
                "nobody decided about {id} in time, so {} was not run; a decision comes too late now",
                request.tool
            ),
        },
        DecideError::Undecided | DecideError::Store(_) => Failure::run(error.to_string()),
    }
}
