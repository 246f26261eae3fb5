//! `toolcrib exec --daemon`.

use serde_json::Value;
use toolcrib_app::providers::Format;

use crate::bootstrap;
use crate::clap_args::Exec;
use crate::daemon::client::{ApiRequest, Client};
use crate::output::{self, Failure};

/// Runs the calls of an answer in the daemon.
pub(in crate::command) fn run(command: &Exec, body: Vec<u8>, json: bool) -> Result<u8, Failure> {
    super::reject_workspace_args(&command.workspace_args)?;
    bootstrap::block_on(async {
        let client = Client::connect_required().await?;
        let format = command.format.map(Format::as_str);
        let path = match format {
            Some(format) => format!("/api/v1/exec?format={format}"),
            None => "/api/v1/exec".to_owned(),
        };
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok();
        let kind = if is_json { "application/json" } else { "text/event-stream" };
        let mut ask = ApiRequest::raw(&path, kind, body);
        if let Some(key) = &command.idempotency_key {
            ask = ask.header("idempotency-key", key);
        }
        let reply = client.send(&ask).await?.into_result()?;
        let list =
            |key: &str| reply.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let notes = list("notes");
        notes.iter().filter_map(Value::as_str).for_each(|note| output::warn(note, json));
        let waiting = list("waiting");
        for question in &waiting {
            let word = |key: &str| question.get(key).and_then(Value::as_str).unwrap_or_default();
            let id = word("id");
            let what = format!("{}: `toolcrib approve yes {id}` lets it run", word("summary"));
            output::warn(&what, json);
        }
        let mut messages = Vec::new();
        if command.with_assistant {
            match reply.get("assistant").cloned() {
                Some(Value::Array(items)) => messages.extend(items),
                Some(turn) => messages.push(turn),
                None => {}
            }
        }
        messages.extend(list("messages"));
        output::print_json(&Value::Array(messages), json)?;
        let is_whole = reply.get("complete") != Some(&Value::Bool(false));
        Ok(if waiting.is_empty() { u8::from(!is_whole) } else { 6 })
    })
}
