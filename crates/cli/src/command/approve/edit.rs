//! `toolcrib approve edit`.

use serde_json::Value;
use toolcrib_app::Stores;
use toolcrib_core::{ApprovalRequest, Decision};

use super::question::{find_question, wrong_kind_failure};
use super::{decide, resume_target};
use crate::clap_args::ApproveEditArgs;
use crate::output::{self, Failure};
use crate::terminal::args_editor::{self, ArgsDraft};

pub(super) async fn run(
    stores: &Stores,
    command: &ApproveEditArgs,
    json: bool,
) -> Result<u8, Failure> {
    let question = find_question(stores, &command.approval.id).await?;
    let (waiting, decided) = &question;
    if waiting.request.question.is_some() {
        return Err(wrong_kind_failure(&waiting.request));
    }
    // The arguments of a decided call cannot be edited.
    if decided.is_some() {
        return decide::apply(stores, question, Decision::Skip, command.approval.resume, json)
            .await;
    }
    let args = edited_args(command.args.as_deref(), &waiting.request)?;
    if args == waiting.request.args {
        return Err(Failure::usage(format!(
            "the arguments are unchanged; use `toolcrib approve yes {}` to approve the call",
            waiting.request.id
        )));
    }
    if let Some(why) = resume_target::validation_error(waiting, &args).await {
        return Err(Failure::usage(format!(
            "{} would refuse these arguments: {why}",
            waiting.request.tool
        )));
    }
    let resume = command.approval.resume;
    decide::apply(stores, question, Decision::Edit { args }, resume, json).await
}

fn edited_args(given: Option<&str>, request: &ApprovalRequest) -> Result<Value, Failure> {
    let text = match given {
        Some("-") => String::from_utf8(output::read_stdin()?).map_err(|error| {
            Failure::usage(format!("the arguments are not UTF-8: {}", error.utf8_error()))
        })?,
        Some(text) => text.to_owned(),
        None => edit_in_editor(request)?,
    };
    let args: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("the arguments are not valid JSON: {error}")))?;
    if !args.is_object() {
        return Err(Failure::usage("the arguments are not a JSON object"));
    }
    Ok(args)
}

fn edit_in_editor(request: &ApprovalRequest) -> Result<String, Failure> {
    let editor = args_editor::editor_command().ok_or_else(|| {
        Failure::usage("pass the new arguments with --args, or set EDITOR to an editor")
    })?;
    let draft = ArgsDraft::from_args(&request.args)?;
    let status = draft.command(&editor).status()?;
    draft.text(status).map_err(|error| Failure::run(format!("the editor failed: {error}")))
}
