//! Deciding: stored first, by compare-and-set, and then it goes on wherever the call waits.

use serde_json::json;
use toolcrib_app::core::invoke::DecideError;
use toolcrib_app::core::store::{Question, Waiting};
use toolcrib_app::core::{
    ApprovalRequest, Clock as _, Decision, DecisionRecord, RunId, SystemClock,
};
use toolcrib_app::{Decisions, Stores};

use super::super::resume;
use super::list::decision_words;
use super::surroundings::Place;
use super::{find, here, other_kind, store};
use crate::cli::Yes;
use crate::output::{self, Failure};
use crate::{person, when};

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
    let record = DecisionRecord { decision, decided_by: person::name(), decided_at: 0 };
    match place {
        Place::Over => Err(over(stores, request).await),
        Place::Nobody if request.question.is_none() => {
            here::carry_out(stores, &waiting, Some(record), json).await
        }
        Place::Nobody => only_record(stores, &waiting, record, json).await,
        Place::Live(who) => {
            let words = recorded(stores, request, record).await?;
            say(request, &words, &format!("{who} goes on with it"), json)?;
            Ok(0)
        }
        Place::Aside(run) => {
            let words = recorded(stores, request, record).await?;
            let next = match resume {
                true => "its run goes on now".to_owned(),
                false => format!("`toolcrib resume {}` goes on with its run", run.id),
            };
            // With --resume the events of the run are what is printed.
            match resume {
                true => output::remark(&format!("{words}; {next}"), json),
                false => say(request, &words, &next, json)?,
            }
            if resume { resume::take_up(*run, json).await } else { Ok(0) }
        }
    }
}

/// Writes a decision down, and nothing more.
pub(super) async fn only_record(
    stores: &Stores,
    waiting: &Waiting,
    record: DecisionRecord,
    json: bool,
) -> Result<u8, Failure> {
    let words = recorded(stores, &waiting.request, record).await?;
    say(&waiting.request, &words, "nobody waits for it any more", json)?;
    Ok(0)
}

async fn recorded(
    stores: &Stores,
    request: &ApprovalRequest,
    record: DecisionRecord,
) -> Result<String, Failure> {
    let decisions = decisions(stores);
    let record = decisions.record(request.id, record).await;
    record.map(|record| decision_words(&record)).map_err(|error| failure(request, error))
}

/// Where decisions are written down.
pub(crate) fn decisions(stores: &Stores) -> Decisions<'_> {
    Decisions { approvals: &*stores.approvals, grants: &*stores.grants, clock: &SystemClock }
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
    let may_run = matches!(first.decision, Decision::Approve { .. } | Decision::Edit { .. });
    let says_so_again = may_run && *again == Decision::approve();
    if says_so_again && matches!(place, Place::Nobody) && has_not_run(stores, request).await? {
        let words = decision_words(first);
        output::remark(
            &format!("it was {words} before and has not run; it is carried out now"),
            json,
        );
        return here::carry_out(stores, waiting, None, json).await;
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
