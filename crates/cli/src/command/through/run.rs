//! `toolcrib run --daemon` and `toolcrib resume --daemon`: the run works in the daemon, and goes on there whoever goes away.

use std::io::{self, IsTerminal as _, Write as _};

use serde_json::{Value, json};
use toolcrib_app::core::RunId;

use super::events::{Events, Told};
use crate::cli::Run;
use crate::daemon::client::{Ask, Client, Stream, unreachable};
use crate::output::{self, Failure};
use crate::session::failure_words;
use crate::{terminal, world};

/// Lets the daemon do it, and shows what happens.
pub(in crate::command) fn run(command: &Run, task: &str, json: bool) -> Result<u8, Failure> {
    super::own_surroundings(&command.world)?;
    let brain = &command.brain;
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
    world::block_on(async {
        let client = Client::required().await?;
        let stream = client.stream(&Ask::post("/api/v1/runs", &body)).await?;
        show(stream, Shown::new(json).from_its_beginning()).await
    })
}

/// Lets the daemon go on with a run that waits or was left behind, and shows what happens.
pub(in crate::command) fn resume(run: &str, json: bool) -> Result<u8, Failure> {
    let run: RunId = run.trim().parse().map_err(|_| {
        Failure::usage(
            "with --daemon write the whole id of the run; `toolcrib resume --list` shows it",
        )
    })?;
    world::block_on(async {
        let client = Client::required().await?;
        let path = format!("/api/v1/runs/{run}/resume");
        client.send(&Ask::post(&path, &json!({}))).await?.done()?;
        let path = format!("/api/v1/runs/{run}/events");
        show(client.stream(&Ask::get(&path)).await?, Shown::new(json)).await
    })
}

async fn show(stream: Stream, mut shown: Shown) -> Result<u8, Failure> {
    let mut events = Events::of(stream);
    while let Some(told) = events.next().await? {
        shown.saw(&told)?;
        if let Some(code) = shown.code {
            return shown.end(code);
        }
    }
    Err(unreachable(&format!(
        "the daemon stopped in the middle; it goes on with the run {} when it is back",
        shown.run
    )))
}

/// What was shown of a run.
struct Shown {
    json: bool,
    live: bool,
    /// What was done before anybody looked is new to whoever looks.
    from_its_beginning: bool,
    run: String,
    streamed: bool,
    text: String,
    /// Calls that nobody could approve.
    unapproved: bool,
    /// Exit code, once it has ended or waits.
    code: Option<u8>,
}

impl Shown {
    fn new(json: bool) -> Self {
        let live = !json && io::stdout().is_terminal();
        Self {
            json,
            live,
            from_its_beginning: false,
            run: String::new(),
            streamed: false,
            text: String::new(),
            unapproved: false,
            code: None,
        }
    }

    fn from_its_beginning(self) -> Self {
        Self { from_its_beginning: true, ..self }
    }

    fn saw(&mut self, told: &Told) -> Result<(), Failure> {
        let word = |key: &str| told.data.get(key).and_then(Value::as_str).unwrap_or_default();
        if self.json {
            let mut row = told.data.clone();
            if let Some(row) = row.as_object_mut().filter(|row| !row.contains_key("type")) {
                row.insert("type".to_owned(), json!(told.name));
            }
            output::document(&row, true)?;
        }
        match told.name.as_str() {
            "snapshot" => {
                word("run").clone_into(&mut self.run);
                self.catch_up(&told.data);
                let state = word("state");
                if matches!(state, "paused" | "ended") {
                    word("text").clone_into(&mut self.text);
                    self.over(state == "paused", word("status"), word("message"));
                }
            }
            "run-start" => word("run").clone_into(&mut self.run),
            "text-delta" if self.live => {
                let mut out = io::stdout().lock();
                out.write_all(terminal::visible(word("text")).as_bytes())?;
                out.flush()?;
                self.streamed = true;
            }
            "answer" if self.streamed => output::data("")?,
            "tool" => self.tool(&told.data),
            "notice" => self.note(word("text")),
            "run-paused" => self.over(true, word("status"), ""),
            "run-end" => {
                word("text").clone_into(&mut self.text);
                self.over(false, word("status"), word("message"));
            }
            _ => {}
        }
        Ok(())
    }

    /// A run may be through with much, or over, before its stream begins.
    fn catch_up(&mut self, snapshot: &Value) {
        if !std::mem::take(&mut self.from_its_beginning) {
            return;
        }
        for item in snapshot.get("items").and_then(Value::as_array).into_iter().flatten() {
            match item.get("item").and_then(Value::as_str) {
                Some("call") => self.tool(item),
                Some("notice") => {
                    self.note(item.get("text").and_then(Value::as_str).unwrap_or_default());
                }
                _ => {}
            }
        }
    }

    fn tool(&mut self, call: &Value) {
        let word = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        let ms = call.get("elapsed_ms").and_then(Value::as_u64).unwrap_or_default();
        let why = call.get("output").map(failure_words).unwrap_or_default();
        let line = match word("state") {
            "output-available" => format!("done, {ms} ms"),
            "output-error" => format!("{}, {ms} ms: {why}", word("outcome")),
            "output-denied" => {
                self.unapproved |= word("error_type") == "approval_denied";
                format!("{}: {why}", word("outcome"))
            }
            _ => return,
        };
        self.note(&format!("{} … {line}", word("tool")));
    }

    fn note(&self, text: &str) {
        if !self.json {
            output::note(&format!("· {}", terminal::one_line(text)));
        }
    }

    /// It has ended, or waits: the exit codes are those of a run here.
    fn over(&mut self, waits: bool, status: &str, message: &str) {
        if !message.is_empty() {
            self.note(message);
        }
        let code =
            match status {
                _ if waits => 6,
                "completed" | "length" | "round_limit" | "repeated" | "stalled" => {
                    if self.unapproved { 5 } else { 0 }
                }
                "budget_exceeded" => 7,
                "stopped" => 130,
                _ => 1,
            };
        self.code = Some(code);
    }

    fn end(self, code: u8) -> Result<u8, Failure> {
        if self.json {
            return Ok(code);
        }
        if !self.streamed && !self.text.is_empty() {
            if io::stdout().is_terminal() {
                output::data(&terminal::visible(&self.text))?;
            } else {
                output::data(&self.text)?;
            }
        }
        if code == 6 {
            output::note(&format!(
                "toolcrib: the run {} waits for a person; `toolcrib approve list` shows for what, and the daemon goes on with it",
                self.run
            ));
        }
        Ok(code)
    }
}
