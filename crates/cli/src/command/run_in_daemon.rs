//! `toolcrib run --daemon` and `toolcrib resume --daemon`: the daemon drives the run, which
//! continues there when the client leaves.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{ErrorType, RunId, RunStatus};
use toolcrib_ops::runs::{ExitCodeTally, RunSnapshot, SnapshotCall, SnapshotItem};

use crate::clap_args::Run;
use crate::daemon::client::{
    ApiRequest, Client, EventStream, ResponseStream, ServerSentEvent, parse_reply,
    reject_workspace_args, unreachable,
};
use crate::output::{self, Failure};
use crate::session::{CallEnd, call_line, failure_text, scripted_note};
use crate::{bootstrap, terminal};

/// Starts a run in the daemon, and prints its events.
pub(super) fn run(command: &Run, task: &str, json: bool) -> Result<u8, Failure> {
    reject_workspace_args(&command.workspace_args)?;
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

/// Resumes a waiting or abandoned run in the daemon, and prints its events.
pub(super) fn resume(run: &str, json: bool) -> Result<u8, Failure> {
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
        shown.apply_event(told)?;
        if let Some(code) = shown.code {
            return shown.print_result(code);
        }
    }
    Err(unreachable(&format!(
        "the daemon stopped; it resumes the run {} at its next start",
        shown.run
    )))
}

/// The event at the start of a run.
#[derive(Deserialize)]
struct RunStart {
    run: String,
    model: String,
    scripted: bool,
}

/// A piece of text, or a notice.
#[derive(Deserialize)]
struct Text {
    text: String,
}

/// The event at the end or pause of a run.
#[derive(Deserialize)]
struct RunEnd {
    status: String,
    text: Option<String>,
    message: Option<String>,
}

/// A call, in an event or in a snapshot.
#[derive(Deserialize)]
struct CallEvent {
    call: Option<String>,
    tool: String,
    state: String,
    outcome: Option<String>,
    error_type: Option<ErrorType>,
    elapsed_ms: Option<u64>,
    output: Option<Value>,
}

impl From<&SnapshotCall> for CallEvent {
    fn from(call: &SnapshotCall) -> Self {
        Self {
            call: call.call.clone(),
            tool: call.tool.clone(),
            state: call.state.clone(),
            outcome: call.outcome.clone(),
            error_type: call.error_type.as_ref().and_then(|name| parse_reply(json!(name)).ok()),
            elapsed_ms: call.elapsed_ms,
            output: call.output.clone(),
        }
    }
}

/// The output of a run so far.
struct RunProgress {
    json: bool,
    live: bool,
    /// Whether events from before the subscription are new to this client.
    replay_snapshot: bool,
    run: String,
    streamed: bool,
    /// Whether the note on a scripted model was printed.
    noted_scripted: bool,
    text: String,
    tally: ExitCodeTally,
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
            tally: ExitCodeTally::default(),
            code: None,
        }
    }

    fn with_replay(self) -> Self {
        Self { replay_snapshot: true, ..self }
    }

    fn apply_event(&mut self, told: ServerSentEvent) -> Result<(), Failure> {
        if self.json {
            let mut row = told.data.clone();
            if let Some(row) = row.as_object_mut().filter(|row| !row.contains_key("type")) {
                row.insert("type".to_owned(), json!(told.name));
            }
            output::print_json(&row, true)?;
        }
        match told.name.as_str() {
            "snapshot" => self.apply_snapshot(parse_reply(told.data)?),
            "run-start" => {
                let start: RunStart = parse_reply(told.data)?;
                self.run = start.run;
                self.note_scripted(start.scripted, &start.model);
            }
            "text-delta" if self.live => {
                let delta: Text = parse_reply(told.data)?;
                let mut out = io::stdout().lock();
                out.write_all(terminal::escape_controls(&delta.text).as_bytes())?;
                out.flush()?;
                self.streamed = true;
            }
            "answer" if self.streamed => output::print_line("")?,
            "tool" => self.print_call(&parse_reply(told.data)?),
            "notice" => self.note(&parse_reply::<Text>(told.data)?.text),
            "run-paused" => {
                let paused: RunEnd = parse_reply(told.data)?;
                self.set_exit_code(true, &paused.status, "");
            }
            "run-end" => {
                let end: RunEnd = parse_reply(told.data)?;
                self.text = end.text.unwrap_or_default();
                self.set_exit_code(false, &end.status, &end.message.unwrap_or_default());
            }
            _ => {}
        }
        Ok(())
    }

    fn apply_snapshot(&mut self, snapshot: RunSnapshot) {
        self.note_scripted(snapshot.scripted, snapshot.model.as_deref().unwrap_or_default());
        self.print_snapshot(&snapshot);
        self.run = snapshot.run;
        if snapshot.state == RunStatus::Running {
            return;
        }
        self.text = snapshot.text;
        let (status, message) = (snapshot.status, snapshot.message);
        self.set_exit_code(
            snapshot.state == RunStatus::Paused,
            status.as_deref().unwrap_or_default(),
            message.as_deref().unwrap_or_default(),
        );
    }

    /// Prints once that a file answers instead of a model.
    fn note_scripted(&mut self, is_scripted: bool, model: &str) {
        if is_scripted && !std::mem::replace(&mut self.noted_scripted, true) {
            self.note(&scripted_note(model));
        }
    }

    /// Prints the snapshot: a run may have progressed far, or ended, before its stream starts.
    fn print_snapshot(&mut self, snapshot: &RunSnapshot) {
        if !std::mem::take(&mut self.replay_snapshot) {
            return;
        }
        for item in &snapshot.items {
            match item {
                SnapshotItem::Call(call) => {
                    if call.decision.is_some() {
                        self.tally.record_call(call.call.as_deref(), "approval-responded", None);
                    }
                    self.print_call(&CallEvent::from(&**call));
                }
                SnapshotItem::Notice { text } => self.note(text),
                SnapshotItem::Message { .. }
                | SnapshotItem::Answer(_)
                | SnapshotItem::Question { .. } => {}
            }
        }
    }

    fn print_call(&mut self, call: &CallEvent) {
        let ms = call.elapsed_ms.unwrap_or_default();
        let why = call.output.as_ref().map(|output| failure_text(None, output));
        let (why, outcome) = (why.unwrap_or_default(), call.outcome.as_deref().unwrap_or_default());
        self.tally.record_call(call.call.as_deref(), &call.state, call.error_type);
        let end = match call.state.as_str() {
            "output-available" => CallEnd::Done(ms),
            "output-error" => CallEnd::Failed(outcome.to_owned(), ms, why),
            "output-denied" => CallEnd::Denied(outcome.to_owned(), why),
            _ => return,
        };
        self.note(&call_line(&call.tool, &end));
    }

    fn note(&self, text: &str) {
        if !self.json {
            output::eprint_line(&format!("· {}", terminal::escape_to_line(text)));
        }
    }

    /// It has ended, or waits.
    fn set_exit_code(&mut self, waits: bool, status: &str, message: &str) {
        if !message.is_empty() {
            self.note(message);
        }
        self.code = Some(self.tally.exit_code_of(waits, status));
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
