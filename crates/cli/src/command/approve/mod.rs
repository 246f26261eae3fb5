//! `toolcrib approve`: the inbox of questions to people, over all runs and single calls.

mod always;
mod decide;
mod edit;
mod here;
mod list;
mod show;
mod surroundings;

use toolcrib_app::Stores;
use toolcrib_app::core::store::Question;
use toolcrib_app::core::{ApprovalId, Decision, StoreError};

pub(super) use decide::{decisions, may_run};
pub(super) use surroundings::Place;

use super::short_id::{self, Found};
use crate::cli::{Answer, Approve};
use crate::output::Failure;
use crate::world;

/// Questions that a shortened id is looked for among, beside all that wait.
const LOOKED_AT: usize = 1_000;

pub(crate) fn run(command: Approve, json: bool) -> Result<u8, Failure> {
    world::block_on(async {
        let stores = world::stores()?;
        match command {
            Approve::List(command) => list::run(&stores, command.all, json).await,
            Approve::Show { id } => show::run(&stores, &id, json).await,
            Approve::Yes(which) => {
                decide::run(&stores, &which, |_| Ok(Decision::approve()), json).await
            }
            Approve::No(command) => {
                let decision = Decision::Deny { note: command.note };
                decide::run(&stores, &command.which, |_| Ok(decision), json).await
            }
            Approve::Skip(which) => {
                decide::run(&stores, &which, |_| Ok(Decision::Skip), json).await
            }
            Approve::Always(command) => always::run(&stores, &command, json).await,
            Approve::Edit(command) => edit::run(&stores, &command, json).await,
            Approve::Answer(command) => {
                let answered = |question: &Question| answered(question, &command);
                decide::run(&stores, &command.which, answered, json).await
            }
        }
    })
}

/// The answer that was written, or the option that was chosen.
fn answered((waiting, _): &Question, command: &Answer) -> Result<Decision, Failure> {
    let Some(question) = &waiting.request.question else {
        return Err(other_kind(&waiting.request));
    };
    let text = match (command.option, &command.text) {
        (Some(number), _) => {
            let at = number.checked_sub(1);
            let option = at.and_then(|at| question.options.get(at)).cloned();
            option.ok_or_else(|| {
                let count = question.options.len();
                Failure::usage(format!("the question has {count} options, and no option {number}"))
            })?
        }
        (None, text) => text.clone().unwrap_or_default(),
    };
    if text.trim().is_empty() {
        return Err(Failure::usage("the answer is empty; `toolcrib approve skip` leaves it open"));
    }
    Ok(Decision::Answer { text })
}

/// A decision that is none about this question.
fn other_kind(request: &toolcrib_app::core::ApprovalRequest) -> Failure {
    let id = request.id;
    Failure::usage(match &request.question {
        Some(_) => format!(
            "{id} is a question of the model: answer it with `toolcrib approve answer {id} TEXT`, or `toolcrib approve skip {id}`"
        ),
        None => format!(
            "{id} asks whether {} may run: decide with `toolcrib approve yes|no|edit|skip {id}`",
            request.tool
        ),
    })
}

/// The question of this id, or of an id that begins like this.
async fn find(stores: &Stores, text: &str) -> Result<Question, Failure> {
    let id = match text.parse::<ApprovalId>() {
        Ok(id) => id,
        Err(_) => {
            let known = known(stores).await?;
            match short_id::find(text, &known) {
                Found::One(id) => id,
                found => {
                    return Err(short_id::failure("question", text, found, "approve list --all"));
                }
            }
        }
    };
    match stores.approvals.get(id).await.map_err(store)? {
        Some(question) => Ok(question),
        None => {
            let known = known(stores).await?;
            let near = Found::None(short_id::near(text, &known));
            Err(short_id::failure("question", text, near, "approve list --all"))
        }
    }
}

/// The ids that are known, each once.
async fn known(stores: &Stores) -> Result<Vec<ApprovalId>, Failure> {
    let waiting = stores.approvals.pending().await.map_err(store)?;
    let all = stores.approvals.questions("", LOOKED_AT).await.map_err(store)?;
    let mut ids: Vec<ApprovalId> = waiting.iter().map(|request| request.id).collect();
    ids.extend(all.iter().map(|(waiting, _)| waiting.request.id));
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn store(error: StoreError) -> Failure {
    Failure::run(error.to_string())
}
