//! `toolcrib approve`: the inbox of questions to people, over all runs and single calls.

mod always;
mod decide;
mod decide_in_daemon;
mod edit;
mod hasty_note;
mod list;
mod resume_target;
mod run_locally;
mod show;

use toolcrib_app::Stores;
use toolcrib_app::core::store::ApprovalWithDecision;
use toolcrib_app::core::{Decision, StoreError};
use toolcrib_ops::approvals;

pub(super) use decide::{decisions, may_run};
pub(super) use resume_target::ResumeTarget;

use crate::clap_args::{Approve, ApproveAnswerArgs};
use crate::output::Failure;
use crate::{bootstrap, op_context};

pub(crate) fn run(command: Approve, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        match command {
            Approve::List(command) => list::run(&stores, command.all, json).await,
            Approve::Show { id } => show::run(&stores, &id, json).await,
            Approve::Yes(which) => {
                decide::run(&stores, &which, |_| Ok(Decision::approve()), json).await
            }
            Approve::No(command) => {
                let decision = Decision::Deny { note: command.note };
                decide::run(&stores, &command.approval, |_| Ok(decision), json).await
            }
            Approve::Skip(which) => {
                decide::run(&stores, &which, |_| Ok(Decision::Skip), json).await
            }
            Approve::Always(command) => always::run(&stores, &command, json).await,
            Approve::Edit(command) => edit::run(&stores, &command, json).await,
            Approve::Answer(command) => {
                let answered =
                    |question: &ApprovalWithDecision| answer_decision(question, &command);
                decide::run(&stores, &command.approval, answered, json).await
            }
        }
    })
}

/// The answer that was written, or the option that was chosen.
fn answer_decision(
    (waiting, _): &ApprovalWithDecision,
    command: &ApproveAnswerArgs,
) -> Result<Decision, Failure> {
    let Some(question) = &waiting.request.question else {
        return Err(wrong_kind_failure(&waiting.request));
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
fn wrong_kind_failure(request: &toolcrib_app::core::ApprovalRequest) -> Failure {
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
async fn find_question(stores: &Stores, text: &str) -> Result<ApprovalWithDecision, Failure> {
    let ctx = op_context::for_stores(stores);
    let id = approvals::resolve_approval(&ctx, text).await?;
    Ok(approvals::find(&ctx, id).await?)
}

fn store_failure(error: StoreError) -> Failure {
    Failure::run(error.to_string())
}
