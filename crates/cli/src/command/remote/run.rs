//! `toolcrib run --daemon` and `toolcrib resume --daemon`: the run works in the daemon, and
//! continues there when the client leaves.

use std::io::{self, IsTerminal as _, Write as _};

use serde_json::{Value, json};
use toolcrib_app::core::RunId;

use super::server_sent_events::{EventStream, ServerSentEvent};
use crate::clap_args::Run;
use crate::daemon::client::{ApiRequest, Client, ResponseStream, unreachable};
use crate::output::{self, Failure};
use crate::session::{failure_text, scripted_note};
use crate::{bootstrap, terminal};

/// Lets the daemon do it, and shows what happens.
pub(in crate::command) fn run(command: &Run, task: &str, json: bool) -> Result<u8, Failure> {
    super::reject_workspace_args(&command.workspace_args)?;
    let brain = &command.model_args;
    if brain.base_url.is_some() || brain.provider.is_some() {
        return Err(Failure::usage(
            "the daemon has its own providers; name one of its models with --model PROVIDER/MODEL",
        ));
    }
    let limits = json!({
        "rounds": brain.max_rounds,
        "calls": brain.max_calls,
        "tokens": brain.max_tokens,
        "seconds": brain.max_time.map(|time| time.as_secs().max(1)),
        "micro_dollars": brain.max_cost,
    });
    let body = json!({
        "text": task,
        "agent": brain.agent,
        "model": brain.model,
        "conversation": command.conversation,
        "limits": limits,
        "stream": true,
    });
    bootstrap::block_on(async {
        let client = Client::connect_required().await?;
        let stream = client.stream(&ApiRequest::post("/api/v1/runs", &body)).await?;
        follow(stream, RunProgress::new(json).with_replay()).await
    })
}

/// Lets the daemon go on with a run that waits or was left behind, and shows what happens.
pub(in crate::command) fn resume(run: &str, json: bool) -> Result<u8, Failure> {
    let run: RunId = run.trim().parse().map_err(|_| {
        Failure::usage(
            "with --daemon write the whole id of the run; `toolcrib resume --list` shows it",
        )
    })?;
    bootstrap::block_on(async {
        let client = Client::connect_required().await?;
        let path = format!("/api/v1/runs/{run}/resume");
        client.send(&ApiRequest::post(&path, &json!({}))).await?.into_result()?;
        let path = format!("/api/v1/runs/{run}/events");
        follow(client.stream(&ApiRequest::get(&path)).await?, RunProgress::new(json)).await
    })
}

async fn follow(stream: ResponseStream, mut shown: RunProgress) -> Result<u8, Failure> {
    let mut events = EventStream::from_stream(stream);
    while let Some(told) = events.next().await? {
        shown.apply_event(&told)?;
        if let Some(code) = shown.code {
            return shown.print_result(code);
        }
    }
    Err(unreachable(&format!(
        "the daemon stopped in the middle; it goes on with the run {} when it is back",
        shown.run
    )))
}

/// What was shown of a run.
struct RunProgress {
    json: bool,
    live: bool,
    /// Events from before the subscription are new to this client.
    replay_snapshot: bool,
    run: String,
    streamed: bool,
    /// Whether the note of a scripted model is printed.
    noted_scripted: bool,
    text: String,
    /// Calls that had no approver.
    has_unapproved_call: bool,
    /// Exit code, once it has ended or waits.
    code: Option<u8>,
}

impl RunProgress {
    fn new(json: bool) -> Self {
        let live = !json && io::stdout().is_terminal();
        Self {
            json,
            live,
            replay_snapshot: false,
            run: String::new(),
            streamed: false,
            noted_scripted: false,
            text: String::new(),
            has_unapproved_call: false,
            code: None,
        }
    }

    fn with_replay(self) -> Self {
        Self { replay_snapshot: true, ..self }
    }

    fn apply_event(&mut self, told: &ServerSentEvent) -> Result<(), Failure> {
        let word = |key: &str| told.data.get(key).and_then(Value::as_str).unwrap_or_default();
        if self.json {
            let mut row = told.data.clone();
            if let Some(row) = row.as_object_mut().filter(|row| !row.contains_key("type")) {
                row.insert("type".to_owned(), json!(told.name));
            }
            output::print_json(&row, true)?;
        }
        match told.name.as_str() {
            "snapshot" => {
                word("run").clone_into(&mut self.run);
                self.note_scripted(&told.data);
                self.print_snapshot(&told.data);
                let state = word("state");
                if matches!(state, "paused" | "ended") {
                    word("text").clone_into(&mut self.text);
                    self.set_exit_code(state == "paused", word("status"), word("message"));
                }
            }
            "run-start" => {
                word("run").clone_into(&mut self.run);
                self.note_scripted(&told.data);
            }
            "text-delta" if self.live => {
                let mut out = io::stdout().lock();
                out.write_all(terminal::escape_controls(word("text")).as_bytes())?;
                out.flush()?;
                self.streamed = true;
            }
            "answer" if self.streamed => output::print_line("")?,
            "tool" => self.print_call(&told.data),
            "notice" => self.note(word("text")),
            "run-paused" => self.set_exit_code(true, word("status"), ""),
            "run-end" => {
                word("text").clone_into(&mut self.text);
                self.set_exit_code(false, word("status"), word("message"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Says once that no model is asked, if it is a file that answers.
    fn note_scripted(&mut self, begin: &Value) {
        let is_scripted = begin.get("scripted").and_then(Value::as_bool) == Some(true);
        if is_scripted && !std::mem::replace(&mut self.noted_scripted, true) {
            let model = begin.get("model").and_then(Value::as_str).unwrap_or_default();
            self.note(&scripted_note(model));
        }
    }

    /// A run may be through with much, or over, before its stream begins.
    fn print_snapshot(&mut self, snapshot: &Value) {
        if !std::mem::take(&mut self.replay_snapshot) {
            return;
        }
        for item in snapshot.get("items").and_then(Value::as_array).into_iter().flatten() {
            match item.get("item").and_then(Value::as_str) {
                Some("call") => self.print_call(item),
                Some("notice") => {
                    self.note(item.get("text").and_then(Value::as_str).unwrap_or_default());
                }
                _ => {}
            }
        }
    }

    fn print_call(&mut self, call: &Value) {
        let word = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        let ms = call.get("elapsed_ms").and_then(Value::as_u64).unwrap_or_default();
        let why = call.get("output").map(|output| failure_text(None, output)).unwrap_or_default();
        let line = match word("state") {
            "output-available" => format!("done, {ms} ms"),
            "output-error" => format!("{}, {ms} ms: {why}", word("outcome")),
            "output-denied" => {
                self.has_unapproved_call |= word("error_type") == "approval_denied";
                format!("{}: {why}", word("outcome"))
            }
            _ => return,
        };
        self.note(&format!("{} … {line}", word("tool")));
    }

    fn note(&self, text: &str) {
        if !self.json {
            output::eprint_line(&format!("· {}", terminal::escape_to_line(text)));
        }
    }

    /// It has ended, or waits: the exit codes are those of a run here.
    fn set_exit_code(&mut self, waits: bool, status: &str, message: &str) {
        if !message.is_empty() {
            self.note(message);
        }
        let code = match status {
            _ if waits => 6,
            "completed" | "length" | "round_limit" | "repeated" | "stalled" => {
                if self.has_unapproved_call { 5 } else { 0 }
            }
            "budget_exceeded" => 7,
            "stopped" => 130,
            _ => 1,
        };
        self.code = Some(code);
    }

    fn print_result(self, code: u8) -> Result<u8, Failure> {
        if self.json {
            return Ok(code);
        }
        if !self.streamed && !self.text.is_empty() {
            if io::stdout().is_terminal() {
                output::print_line(&terminal::escape_controls(&self.text))?;
            } else {
                output::print_line(&self.text)?;
            }
        }
        if code == 6 {
            output::eprint_line(&format!(
                "toolcrib: the run {} waits for a person; `toolcrib approve list` shows for what, and the daemon goes on with it",
                self.run
            ));
        }
        Ok(code)
    }
}
