//! The subcommands of `toolcrib approve`.

use toolcrib_core::Decision;
use toolcrib_core::store::ApprovalWithDecision;

use super::question::wrong_kind_failure;
use super::{always, decide, edit, list, show};
use crate::bootstrap;
use crate::clap_args::{Approve, ApproveAnswerArgs};
use crate::output::Failure;

pub(in crate::command) fn run(command: Approve, json: bool) -> Result<u8, Failure> {
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

/// Returns the typed answer, or the chosen option.
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
