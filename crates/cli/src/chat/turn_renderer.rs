//! Renders a turn at a terminal: the streamed answer, one line per call, and the current activity
//! at the bottom.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use toolcrib_agent::events::{Event, EventSink, ToolEvent, ToolState};
use toolcrib_agent::machine::QuestionAnswer;
use toolcrib_providers::Stop;

use super::markdown::Markdown;
use super::{ChatRecord, lock, note};
use crate::session::{describe_event, format_duration, format_ended};
use crate::terminal::{Console, Style, Styler, draw_card, escape_to_line, terminal_size};

/// The frames of the indicator.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Renders one turn. Clones share their state.
#[derive(Clone)]
pub(super) struct TurnRenderer {
    state: Arc<Mutex<State>>,
}

struct State {
    console: Console,
    record: Arc<Mutex<ChatRecord>>,
    agent: String,
    markdown: Markdown,
    /// The header above the first text.
    header: Option<String>,
    doing: Activity,
    /// Whether text arrived since the newest request.
    has_words: bool,
    begun: Instant,
    ticks: usize,
    typed: String,
}

/// The current activity, apart from calls.
#[derive(PartialEq, Eq)]
enum Activity {
    Thinking,
    Answering,
    /// The model writes the arguments of this tool.
    Calling(String),
    Stopping,
    Nothing,
}

impl TurnRenderer {
    pub(super) fn new(console: Console, record: &Arc<Mutex<ChatRecord>>, agent: &str) -> Self {
        let markdown = Markdown::new(console.paint(), columns());
        let state = State {
            console,
            record: Arc::clone(record),
            agent: agent.to_owned(),
            markdown,
            header: None,
            doing: Activity::Thinking,
            has_words: false,
            begun: Instant::now(),
            ticks: 0,
            typed: String::new(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    pub(super) fn sink(&self) -> EventSink {
        let shown = self.clone();
        Arc::new(move |event: Event| {
            let mut state = shown.state();
            state.handle_event(&event);
            state.draw();
        })
    }

    /// Advances the animation.
    pub(super) fn tick(&self) {
        let mut state = self.state();
        state.ticks += 1;
        state.draw();
    }

    /// Shows the typed text at the bottom.
    pub(super) fn show_typed(&self, text: &str) {
        let mut state = self.state();
        text.clone_into(&mut state.typed);
        state.draw();
    }

    pub(super) fn show_stopping(&self) {
        let mut state = self.state();
        state.doing = Activity::Stopping;
        state.draw();
    }

    /// Ends the animation.
    pub(super) fn finish(&self) {
        let mut state = self.state();
        state.end_text();
        state.doing = Activity::Nothing;
        let lost = lock(&state.record).calls.take_unfinished();
        for row in lost {
            if let Some(line) = format_ended(&row, state.paint(), Some(columns())) {
                state.console.print_line(&line);
            }
        }
        state.console.set_live_rows(Vec::new());
        state.console.print_line("");
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the columns for text: all but one, because some terminals start a new row after the
/// last.
fn columns() -> usize {
    terminal_size().0.saturating_sub(1).max(20)
}

impl State {
    fn paint(&self) -> Styler {
        self.console.paint()
    }

    fn note(&self, text: &str) {
        note(&self.console, &escape_to_line(text));
    }

    fn handle_event(&mut self, event: &Event) {
        lock(&self.record).record(event);
        match event {
            Event::RunStart { model, provider, scripted, .. } => {
                self.begin(provider, model, *scripted);
            }
            Event::Request { .. } => {
                self.has_words = false;
                self.set_activity(Activity::Thinking);
            }
            Event::TextDelta { text } => self.text(text),
            Event::ReasoningDelta { .. } => self.set_activity(Activity::Thinking),
            Event::Retry { attempt, wait_seconds, why } => {
                self.end_text();
                let void = if self.has_words { "; what stands above is begun anew" } else { "" };
                self.has_words = false;
                self.note(&format!("attempt {attempt} in {wait_seconds:.1} s: {why}{void}"));
            }
            Event::Fallback { from, to, why } => {
                self.end_text();
                let to = to.as_deref().unwrap_or("no other model");
                self.note(&format!("{from}: {why}; next: {to}"));
            }
            Event::Answer { text, provider, model, fallback, stop, .. } => {
                if !self.has_words && !text.is_empty() {
                    self.text(text);
                }
                self.end_text();
                if *fallback {
                    self.note(&format!("answered by {provider}/{model}"));
                }
                match stop {
                    Stop::Length => self.note("the answer was cut off at the limit of its length"),
                    Stop::Refused => self.note("the model, or a filter, refuses"),
                    _ => {}
                }
                self.set_activity(Activity::Answering);
            }
            Event::Tool(tool) => self.tool(tool),
            other => self.remark(other),
        }
    }

    /// Shows an event that is only a remark.
    fn remark(&mut self, event: &Event) {
        match event {
            Event::QuestionAnswered { said, .. } => self.note(&match said {
                QuestionAnswer::Answered { text } => format!("your answer: {text}"),
                QuestionAnswer::Skipped => "the question was skipped".to_owned(),
                QuestionAnswer::Expired => "not answered in time".to_owned(),
            }),
            Event::RunPaused { status, .. } => {
                self.end_text();
                self.note(&format!("the run waits: {}", status.replace('_', " ")));
            }
            Event::RunEnd { status, message, .. } => self.end(status, message.as_deref()),
            other => describe_event(other).into_iter().for_each(|words| self.note(&words)),
        }
    }

    fn begin(&mut self, provider: &str, model: &str, scripted: bool) {
        let paint = self.paint();
        let label = match scripted {
            true => format!("{model} (scripted: replays a file)"),
            false => format!("{provider}/{model}"),
        };
        let mark = paint.styled(Style::CYAN, "●");
        let label = paint.dim(&format!("· {}", escape_to_line(&label)));
        self.header =
            Some(format!("\n{mark} {} {label}", paint.bold(&escape_to_line(&self.agent))));
    }

    fn set_activity(&mut self, doing: Activity) {
        if self.doing != Activity::Stopping {
            self.doing = doing;
        }
    }

    fn text(&mut self, piece: &str) {
        self.show_header();
        self.has_words = true;
        self.set_activity(Activity::Answering);
        self.markdown.resize(columns());
        let finished = self.markdown.push(piece);
        if !finished.is_empty() {
            self.console.print(&finished);
        }
    }

    fn show_header(&mut self) {
        if let Some(header) = self.header.take() {
            self.console.print_line(&header);
        }
    }

    fn end_text(&mut self) {
        let rest = self.markdown.finish();
        if !rest.is_empty() {
            self.console.print(&rest);
        }
    }

    fn tool(&mut self, event: &ToolEvent) {
        match &event.state {
            ToolState::InputStreaming { .. } => {
                self.set_activity(Activity::Calling(escape_to_line(&event.tool)));
            }
            ToolState::InputAvailable { .. } => self.show_header(),
            _ => {}
        }
        let record = lock(&self.record);
        let row = event.call.and_then(|id| record.calls.by_id(id));
        let line = row.and_then(|row| format_ended(row, self.console.paint(), Some(columns())));
        drop(record);
        if let Some(line) = line {
            self.console.print_line(&line);
        }
        if let ToolState::OutputAvailable { cards, .. } = &event.state {
            for rows in cards.iter().filter_map(|card| draw_card(card, columns())) {
                self.end_text();
                self.console.print_line(&rows.join("\n"));
            }
        }
    }

    fn end(&mut self, status: &str, message: Option<&str>) {
        self.end_text();
        match (status, message) {
            ("completed", _) => {}
            ("stopped", None) => self.note("stopped"),
            (_, Some(message)) => {
                let mark = self.paint().styled(Style::RED, "✗");
                self.console.print_line(&format!("{mark} {}", escape_to_line(message)));
            }
            (status, None) => self.note(&format!("the turn ended: {}", status.replace('_', " "))),
        }
        self.doing = Activity::Nothing;
    }

    /// Draws the animated part.
    fn draw(&self) {
        let mut rows = self.markdown.preview();
        let spinner = SPINNER.get(self.ticks % SPINNER.len()).copied().unwrap_or('·');
        let record = lock(&self.record);
        let calls: Vec<String> =
            record.calls.running().map(|row| row.running(spinner, self.paint())).collect();
        let names: Vec<&str> = record.calls.running().map(|row| row.tool.as_str()).collect();
        let status = self.status(&names, spinner);
        drop(record);
        rows.extend(calls);
        rows.extend(status);
        if !self.typed.is_empty() {
            rows.push(format!("› {}", escape_to_line(&self.typed)));
        }
        self.console.set_live_rows(rows);
    }

    fn status(&self, calls: &[&str], spinner: char) -> Option<String> {
        let words = match (&self.doing, calls) {
            (Activity::Nothing, _) => return None,
            (Activity::Stopping, _) => "Stopping…".to_owned(),
            (_, [tool]) => format!("Working… · {}", escape_to_line(tool)),
            (_, [_, _, ..]) => format!("Working… · {} tools", calls.len()),
            // Arriving text is a sufficient indicator.
            (Activity::Answering, []) => return None,
            (Activity::Calling(tool), []) => format!("Working… · calls {tool}"),
            (Activity::Thinking, []) => "Thinking…".to_owned(),
        };
        let paint = self.paint();
        let elapsed = format_duration(self.begun.elapsed());
        let spinner = paint.styled(Style::CYAN, &spinner.to_string());
        Some(format!("{spinner} {}", paint.dim(&format!("{words} · {elapsed} · Ctrl-C stops"))))
    }
}
