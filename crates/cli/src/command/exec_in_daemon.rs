//! `toolcrib exec --daemon`.

use toolcrib_ops::calls::ExecDocument;
use toolcrib_providers::Format;

use super::exec::print_messages;
use crate::bootstrap;
use crate::clap_args::Exec;
use crate::daemon::client::{ApiRequest, Client, reject_workspace_args};
use crate::output::{self, Failure};

/// Runs the calls of a response in the daemon.
pub(super) fn run(command: &Exec, body: Vec<u8>, json: bool) -> Result<u8, Failure> {
    reject_workspace_args(&command.workspace_args)?;
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
        let reply: ExecDocument = client.call(&ask).await?;
        reply.notes.iter().for_each(|note| output::warn(note, json));
        for question in &reply.waiting {
            let (summary, id) = (&question.summary, &question.id);
            output::warn(&format!("{summary}: `toolcrib approve yes {id}` lets it run"), json);
        }
        print_messages(reply, command, json)
    })
}
