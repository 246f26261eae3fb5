//! `toolcrib approve edit`.

use serde_json::Value;
use toolcrib_app::Stores;
use toolcrib_app::core::{ApprovalRequest, Decision};

use super::{decide, find, other_kind, surroundings};
use crate::cli::Edit;
use crate::output::{self, Failure};
use crate::terminal::editor::{self, Draft};

pub(super) async fn run(stores: &Stores, command: &Edit, json: bool) -> Result<u8, Failure> {
    let question = find(stores, &command.which.id).await?;
    let (waiting, decided) = &question;
    if waiting.request.question.is_some() {
        return Err(other_kind(&waiting.request));
    }
    // Nobody writes arguments for a call that is decided.
    if decided.is_some() {
        return decide::apply(stores, question, Decision::Skip, command.which.resume, json).await;
    }
    let args = args(command.args.as_deref(), &waiting.request)?;
    if args == waiting.request.args {
        return Err(Failure::usage(format!(
            "the arguments are unchanged; `toolcrib approve yes {}` lets the call run with them",
            waiting.request.id
        )));
    }
    if let Some(why) = surroundings::wrong_args(waiting, &args).await {
        return Err(Failure::usage(format!(
            "{} would refuse these arguments: {why}",
            waiting.request.tool
        )));
    }
    let resume = command.which.resume;
    decide::apply(stores, question, Decision::Edit { args }, resume, json).await
}

fn args(given: Option<&str>, request: &ApprovalRequest) -> Result<Value, Failure> {
    let text = match given {
        Some("-") => String::from_utf8(output::input()?).map_err(|error| {
            Failure::usage(format!("the arguments are no UTF-8: {}", error.utf8_error()))
        })?,
        Some(text) => text.to_owned(),
        None => in_editor(request)?,
    };
    let args: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("the arguments are no JSON: {error}")))?;
    if !args.is_object() {
        return Err(Failure::usage("the arguments are no JSON object"));
    }
    Ok(args)
}

fn in_editor(request: &ApprovalRequest) -> Result<String, Failure> {
    let editor = editor::chosen().ok_or_else(|| {
        Failure::usage("say the new arguments with --args, or set EDITOR to an editor")
    })?;
    let draft = Draft::of(&request.args)?;
    let status = draft.command(&editor).status()?;
    draft.text(status).map_err(|error| Failure::run(format!("the editor does not work: {error}")))
}
