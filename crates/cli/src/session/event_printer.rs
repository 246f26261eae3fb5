//! Prints the events of a run: as lines of JSON, or as text for people.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_agent::events::{Event, EventSink, ToolEvent, ToolState};
use toolcrib_ops::runs::ExitCodeTally;
use toolcrib_providers::conversation::UserKind;

use super::failure_text;
use crate::output;
use crate::terminal::{Console, draw_card, escape_controls, escape_to_line, terminal_size};

/// The output so far, and the figures that determine the exit code.
pub(crate) struct PrinterState {
    console: Console,
    pub(crate) tally: ExitCodeTally,
    /// Whether standard output contains text of the model in an unfinished line.
    pub(crate) streamed: bool,
    open_line: bool,
}

/// Prints events.
#[derive(Clone)]
pub(crate) struct EventPrinter {
    shown: Arc<Mutex<PrinterState>>,
}

impl EventPrinter {
    /// Creates a printer. Remarks go through this console, so that none is written into a prompt.
    pub(crate) fn new(console: Console) -> Self {
        let shown = PrinterState {
            console,
            tally: ExitCodeTally::default(),
            streamed: false,
            open_line: false,
        };
        Self { shown: Arc::new(Mutex::new(shown)) }
    }

    /// Returns a sink that prints lines of JSON, or text.
    pub(crate) fn sink(&self, json: bool) -> EventSink {
        let shown = Arc::clone(&self.shown);
        let live = !json && io::stdout().is_terminal();
        Arc::new(move |event: Event| {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.tally.record(&event);
            if json {
                // A closed reader does not stop the work.
                let _ = output::print_line(&serde_json::to_string(&event).unwrap_or_default());
            } else {
                shown.print_text(&event, live);
            }
        })
    }

    /// Returns the summary of the output so far.
    pub(crate) fn summary(&self) -> (ExitCodeTally, bool) {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        (shown.tally.clone(), shown.streamed)
    }
}

impl PrinterState {
    fn print_text(&mut self, event: &Event, live: bool) {
        match event {
            Event::TextDelta { text } if live => {
                let text = escape_controls(text);
                let mut out = io::stdout().lock();
                let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                self.streamed = true;
                self.open_line = !text.ends_with('\n');
            }
            Event::Answer { text, model, provider, fallback, .. } => {
                if !live || !self.streamed {
                    self.streamed = false;
                }
                let _ = text;
                self.end_line();
                if *fallback {
                    self.note(&format!("answered by {model} ({provider})"));
                }
            }
            Event::Tool(tool) => self.print_tool(tool),
            Event::RunStart { model, scripted: true, .. } => {
                self.note(&scripted_note(model));
            }
            Event::Retry { attempt, wait_seconds, why } => {
                self.note(&format!("attempt {attempt} in {wait_seconds:.1} s: {why}"));
            }
            Event::Fallback { from, to, why } => {
                let to = to.as_deref().unwrap_or("no other model");
                self.note(&format!("{from}: {why}; next: {to}"));
            }
            // Messages of the loop to the model do not concern the person; the end of the run gives
            // the reason.
            Event::Message { kind: UserKind::Guard, .. } => {}
            Event::Message { text, .. } => self.note(&format!("said to the model: {text}")),
            other => describe_event(other).into_iter().for_each(|words| self.note(&words)),
        }
    }

    fn print_tool(&mut self, event: &ToolEvent) {
        let why = |reason: &Option<String>, output| failure_text(reason.as_deref(), output);
        let end = match &event.state {
            ToolState::OutputAvailable { elapsed_ms, .. } => CallEnd::Done(*elapsed_ms),
            ToolState::OutputError { outcome, output, elapsed_ms, reason, .. } => {
                CallEnd::Failed(outcome.to_string(), *elapsed_ms, why(reason, output))
            }
            ToolState::OutputDenied { outcome, output, reason, .. } => {
                CallEnd::Denied(outcome.to_string(), why(reason, output))
            }
            _ => return,
        };
        self.note(&call_line(&event.tool, &end));
        if let ToolState::OutputAvailable { cards, .. } = &event.state {
            let columns = terminal_size().0.saturating_sub(1);
            for rows in cards.iter().filter_map(|card| draw_card(card, columns)) {
                self.console.print_line(&rows.join("\n"));
            }
        }
    }

    fn note(&mut self, text: &str) {
        self.end_line();
        self.console.print_line(&format!("· {}", escape_to_line(text)));
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.open_line) {
            let _ = output::print_line("");
        }
    }
}

/// How a call ended.
pub(crate) enum CallEnd {
    /// After these milliseconds.
    Done(u64),
    /// With its outcome, after these milliseconds, and why.
    Failed(String, u64, String),
    /// With its outcome, and why.
    Denied(String, String),
}

/// One line for a call that has ended.
pub(crate) fn call_line(tool: &str, end: &CallEnd) -> String {
    match end {
        CallEnd::Done(ms) => format!("{tool} … done, {ms} ms"),
        CallEnd::Failed(outcome, ms, why) => format!("{tool} … {outcome}, {ms} ms: {why}"),
        CallEnd::Denied(outcome, why) => format!("{tool} … {outcome}: {why}"),
    }
}

/// The note that a run asks no model.
pub(crate) fn scripted_note(model: &str) -> String {
    format!("the scripted model {model} replays a file; no model is asked")
}

/// Describes an event in the same words in every output; returns `None` if it needs no text.
pub(crate) fn describe_event(event: &Event) -> Option<String> {
    Some(match event {
        Event::Compaction { covers } => format!("{covers} older messages were summarised"),
        Event::Trimmed { dropped } => {
            format!("{dropped} older messages were left out of the request")
        }
        Event::Skill { name, .. } => format!("skill {name} is active"),
        Event::Notice { text } => text.clone(),
        Event::RunEnd { tokens_saved: saved @ 1.., .. } => format!(
            "about {saved} tokens of tool definitions were not sent: tools were found when they were needed"
        ),
        _ => return None,
    })
}
