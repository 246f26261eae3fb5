//! `toolcrib exec`: reads a model's response, and prints the messages to append.
//!
//! Exit codes: 0 = every call has its result in the messages, failed calls included, for the model
//! to read; 1 = the response was cut off, so none of its calls ran (the messages state that); 2 =
//! the response cannot be parsed; 3 = the configuration is invalid; 6 = a call waits for a person.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_app::{ExecReply, ExecRequest, StateChanges};
use toolcrib_core::{Answer, Context, Origin, RunLimits, ViewRequest};
use toolcrib_ops::calls::ExecDocument;

use super::exec_in_daemon;
use super::tool::waiting_message;
use crate::clap_args::Exec;
use crate::output::{self, Failure};
use crate::{bootstrap, stage_trace};

pub(crate) fn run(command: &Exec, json: bool) -> Result<u8, Failure> {
    let body = output::read_stdin()?;
    if command.daemon {
        return exec_in_daemon::run(command, body, json);
    }
    let reply = bootstrap::block_on(async {
        let toolcrib = bootstrap::build_for_calls(&command.workspace_args, command.on_ask).await?;
        let _watching = toolcrib.watch_switches(StateChanges::default(), |_| ());
        let request = ExecRequest {
            body: &body,
            format: command.format,
            origin: Origin::Cli,
            context: Arc::new(Context { channel: "chat".to_owned(), ..Context::default() }),
            view: ViewRequest::default(),
            limits: RunLimits::default(),
            key: command.idempotency_key.clone(),
        };
        let reply = toolcrib.exec(request).await;
        bootstrap::flush_hooks(&toolcrib).await;
        Ok(reply?)
    })?;
    print_notes(&reply, command.explain, json);
    print_messages(reply.into(), command, json)
}

/// Prints the messages to append; returns the exit code.
pub(super) fn print_messages(
    reply: ExecDocument,
    command: &Exec,
    json: bool,
) -> Result<u8, Failure> {
    let (is_complete, waits) = (reply.complete, !reply.waiting.is_empty());
    let messages = reply.into_messages(command.with_assistant);
    output::print_json(&Value::Array(messages), json)?;
    Ok(if waits { 6 } else { u8::from(!is_complete) })
}

/// Prints everything except the messages to standard error.
fn print_notes(reply: &ExecReply, explain: bool, json: bool) {
    let remark = |text: &str| output::warn(text, json);
    if explain && !json {
        remark(&format!("read the response as {}", reply.format));
    }
    reply.notes.iter().for_each(|note| remark(note));
    for hosted in &reply.hosted {
        let name = hosted.name.as_ref().unwrap_or(&hosted.kind);
        remark(&format!("the provider ran {name}"));
    }
    match (reply.complete, reply.calls.is_empty()) {
        (true, true) => remark("the response has no tool call; there is nothing to append"),
        (true, false) => {}
        (false, true) => {
            remark("the response was truncated before its first tool call; ask the model again");
        }
        (false, false) => remark("the response was truncated, so none of its calls ran"),
    }
    for call in &reply.calls {
        if let Answer::Suspended(request) = &call.answer {
            remark(&waiting_message(request));
        }
    }
    if explain {
        for call in &reply.calls {
            stage_trace::print(&call.answer, call.provider_id.as_deref(), json);
        }
    }
}
