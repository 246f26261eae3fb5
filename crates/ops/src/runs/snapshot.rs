//! The snapshot of a run for display. A snapshot and the later events give the same state as all
//! events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_agent::events::{Event, ToolEvent, ToolState};
use toolcrib_core::{CallId, OutcomeKind, RawArgs, RunStatus};

use crate::calls::serialized_name;

/// The current state of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunSnapshot {
    /// Its id.
    pub run: String,
    /// Its conversation.
    pub conversation: String,
    /// The agent.
    pub agent: String,
    /// Its state.
    pub state: RunStatus,
    /// Why it waits (`approval_needed`, `clarification_needed`) or how it ended (docs/agents.md);
    /// `None` while it is active.
    pub status: Option<String>,
    /// Why it ended, if the status alone is not sufficient.
    pub message: Option<String>,
    /// The first model of its chain, `provider/model`.
    pub model: Option<String>,
    /// Whether that model only replays a file.
    pub scripted: bool,
    /// Text of the latest answer.
    pub text: String,
    /// Messages, answers, calls and questions, in order.
    pub items: Vec<SnapshotItem>,
    /// The approvals and questions that it waits for, as in the event `run-paused`.
    pub waiting: Vec<Value>,
    /// Skills that were loaded.
    pub skills: Vec<String>,
    /// Number of rounds; known when it waits or has ended.
    pub rounds: u32,
    /// Tokens, as far as providers report them; known when it has ended.
    pub usage: Option<Value>,
    /// Estimated cost in millionths of a US dollar; known when it has ended.
    pub cost: Option<Value>,
    /// Estimated tokens of schemas that requests omitted, because tools are searched instead of
    /// declared; known when it has ended.
    #[serde(default)]
    pub tokens_saved: u64,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// One message, answer, call, question or notice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "item", rename_all = "kebab-case")]
pub enum SnapshotItem {
    /// A message that is not from the model.
    Message {
        /// `typed`, `queued`, `answer`, `guard` or `summary`.
        kind: String,
        /// The text.
        text: String,
        /// Number of its images.
        #[serde(default, skip_serializing_if = "is_zero")]
        images: usize,
    },
    /// An answer of the model.
    Answer(ModelAnswer),
    /// A call.
    Call(Box<SnapshotCall>),
    /// The model asked a person.
    Question {
        /// The call of the question.
        call: String,
        /// The id for answering it.
        approval: String,
        /// The question with its context and options.
        question: Value,
        /// The answer; `None` if there is none yet.
        said: Option<Value>,
    },
    /// A notice for people.
    Notice {
        /// The text.
        text: String,
    },
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ModelAnswer {
    /// Its round, from 0.
    pub round: u32,
    /// The model, `provider/model`.
    pub model: String,
    /// Its text so far.
    pub text: String,
    /// Its reasoning so far.
    pub reasoning: String,
    /// Whether it is complete.
    pub done: bool,
    /// Why it stopped.
    pub stop: Option<Value>,
    /// Tokens, as the provider reports them.
    pub usage: Option<Value>,
    /// Estimated cost.
    pub cost: Option<Value>,
}

/// A call of the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotCall {
    /// Its round, from 0.
    pub round: u32,
    /// Index in its answer, from 0.
    pub index: usize,
    /// Its id, after it was assigned.
    pub call: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its state, as in the event `tool`.
    pub state: String,
    /// The part of the arguments that the model has written.
    pub written: String,
    /// The complete arguments: text or value, as the provider sent them.
    pub args: Option<Value>,
    /// The latest progress that it reported.
    pub progress: Option<Value>,
    /// The approval request.
    pub approval: Option<Value>,
    /// The decision.
    pub decision: Option<Value>,
    /// The outcome, once it has ended.
    pub outcome: Option<String>,
    /// The error type, if it did not succeed.
    pub error_type: Option<String>,
    /// The result as the model reads it.
    pub output: Option<Value>,
    /// Cards that it shows to people: `{blocks, untrusted?}` or `{html}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<Value>,
    /// Milliseconds that the tool ran, without waiting for people; 0 if it did not run,
    /// `None` if it has not ended.
    pub elapsed_ms: Option<u64>,
}

/// State of a call while the model writes its arguments.
const WRITING: &str = "input-streaming";

impl RunSnapshot {
    /// Applies an event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::RunStart { run, conversation, agent, provider, model, scripted, .. } => {
                self.run = run.to_string();
                self.conversation = conversation.to_string();
                self.agent.clone_from(agent);
                self.model = Some(format!("{provider}/{model}"));
                self.scripted = *scripted;
                self.set_running();
            }
            Event::Request { round, provider, model, .. } => {
                self.drop_incomplete();
                let model = format!("{provider}/{model}");
                let answer = ModelAnswer { round: *round, model, ..ModelAnswer::default() };
                self.items.push(SnapshotItem::Answer(answer));
            }
            Event::TextDelta { text } => self.change_answer(|answer| answer.text.push_str(text)),
            Event::ReasoningDelta { text } => {
                self.change_answer(|answer| answer.reasoning.push_str(text));
            }
            Event::Retry { attempt, why, .. } => {
                self.drop_unsent();
                self.change_answer(|answer| (answer.text, answer.reasoning) = Default::default());
                self.notice(format!("attempt {attempt}: {why}"));
            }
            Event::Fallback { from, to, why } => {
                let next =
                    to.as_ref().map_or("none is left".to_owned(), |to| format!("{to} is asked"));
                self.notice(format!("{from} failed ({why}); {next}"));
            }
            Event::Answer { text, provider, model, stop, usage, cost, .. } => {
                self.text.clone_from(text);
                let (stop, usage, cost) = (to_value(stop), to_value(usage), to_value(cost));
                self.change_answer(|answer| {
                    answer.model = format!("{provider}/{model}");
                    answer.text.clone_from(text);
                    (answer.done, answer.stop, answer.usage, answer.cost) =
                        (true, stop, usage, cost);
                });
            }
            Event::Tool(tool) => self.tool(tool),
            Event::Question { call, approval, question } => {
                let (call, approval) = (call.to_string(), approval.to_string());
                let question = to_value(question).unwrap_or_default();
                let known = self.items.iter().any(|item| is_question(item, &call));
                if !known {
                    self.items.push(SnapshotItem::Question {
                        call,
                        approval,
                        question,
                        said: None,
                    });
                }
            }
            Event::QuestionAnswered { call, said: answer } => {
                let call = call.to_string();
                let found = self.items.iter_mut().rev().find(|item| is_question(item, &call));
                if let Some(SnapshotItem::Question { said, .. }) = found {
                    *said = to_value(answer);
                }
            }
            Event::Message { kind, text, images } => {
                let kind = serialized_name(kind).unwrap_or_default();
                let (text, images) = (text.clone(), *images);
                self.items.push(SnapshotItem::Message { kind, text, images });
            }
            Event::Compaction { covers } => {
                self.notice(format!("{covers} older messages are replaced by a summary"));
            }
            Event::Trimmed { dropped } => {
                self.notice(format!("{dropped} older messages are left out"));
            }
            Event::Skill { name, .. } => {
                self.skills.retain(|known| known != name);
                self.skills.push(name.clone());
            }
            Event::Notice { text } => self.notice(text.clone()),
            Event::RunPaused { status, waiting, .. } => {
                self.state = RunStatus::Paused;
                self.status = Some((*status).to_owned());
                self.waiting = waiting.iter().filter_map(to_value).collect();
            }
            Event::RunEnd { status, message, text, rounds, usage, cost, tokens_saved, .. } => {
                self.set_running();
                self.state = RunStatus::Ended;
                self.status = Some((*status).to_owned());
                self.message.clone_from(message);
                self.text.clone_from(text);
                self.rounds = *rounds;
                (self.usage, self.cost) = (to_value(usage), to_value(cost));
                self.tokens_saved = *tokens_saved;
            }
        }
    }

    /// Returns the snapshot for a caller that sees payloads, or only the rest.
    #[must_use]
    pub fn for_caller(self, shows_payloads: bool) -> Self {
        if shows_payloads { self } else { self.without_payloads() }
    }

    /// Returns the snapshot without texts, arguments and results, for principals with only the role
    /// viewer.
    fn without_payloads(mut self) -> Self {
        self.text.clear();
        self.message = None;
        self.waiting.clear();
        self.items.retain(|item| matches!(item, SnapshotItem::Answer(_) | SnapshotItem::Call(_)));
        for item in &mut self.items {
            match item {
                SnapshotItem::Answer(answer) => {
                    (answer.text, answer.reasoning) = Default::default();
                }
                SnapshotItem::Call(call) => {
                    call.written.clear();
                    (call.args, call.approval, call.decision, call.output) = Default::default();
                }
                SnapshotItem::Message { .. }
                | SnapshotItem::Question { .. }
                | SnapshotItem::Notice { .. } => {}
            }
        }
        self
    }

    fn set_running(&mut self) {
        self.state = RunStatus::Running;
        (self.status, self.message) = (None, None);
        self.waiting.clear();
    }

    fn notice(&mut self, text: String) {
        self.items.push(SnapshotItem::Notice { text });
    }

    /// Changes the answer that the model is writing.
    fn change_answer(&mut self, change: impl FnOnce(&mut ModelAnswer)) {
        let open = self.items.iter_mut().rev().find_map(|item| match item {
            SnapshotItem::Answer(answer) => Some(answer),
            _ => None,
        });
        match open {
            Some(answer) if !answer.done => change(answer),
            _ => {
                let mut answer = ModelAnswer::default();
                change(&mut answer);
                self.items.push(SnapshotItem::Answer(answer));
            }
        }
    }

    /// Removes an incomplete answer and its calls, which another request replaces.
    fn drop_incomplete(&mut self) {
        self.drop_unsent();
        self.items.retain(|item| !matches!(item, SnapshotItem::Answer(answer) if !answer.done));
    }

    /// Removes calls with incomplete arguments.
    fn drop_unsent(&mut self) {
        self.items
            .retain(|item| !matches!(item, SnapshotItem::Call(call) if call.state == WRITING));
    }

    fn tool(&mut self, event: &ToolEvent) {
        let Some(call) = self.call(event) else { return };
        call.tool.clone_from(&event.tool);
        call.call = event.call.as_ref().map(CallId::to_string).or_else(|| call.call.take());
        if let ToolState::Progress { progress } = &event.state {
            call.progress = to_value(progress);
            return;
        }
        call.state = match to_value(&event.state) {
            Some(Value::Object(state)) => {
                state.get("state").and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            _ => String::new(),
        };
        match &event.state {
            ToolState::InputStreaming { delta } => call.written.push_str(delta),
            ToolState::InputAvailable { args } => {
                call.written.clear();
                call.args = Some(args_value(args));
            }
            ToolState::ApprovalRequested { approval } => call.approval = to_value(approval),
            ToolState::ApprovalResponded { decision, .. } => call.decision = to_value(decision),
            ToolState::Progress { .. } => {}
            ToolState::OutputAvailable { output, elapsed_ms, cards } => {
                call.progress = None;
                call.cards.clone_from(cards);
                call.outcome = Some(serialized_name(&OutcomeKind::Succeeded).unwrap_or_default());
                (call.output, call.elapsed_ms) = (Some(output.clone()), Some(*elapsed_ms));
            }
            ToolState::OutputError { outcome, error_type, output, elapsed_ms, .. }
            | ToolState::OutputDenied { outcome, error_type, output, elapsed_ms, .. } => {
                call.progress = None;
                call.outcome = Some(serialized_name(outcome).unwrap_or_default());
                call.error_type = error_type.as_ref().and_then(serialized_name);
                (call.output, call.elapsed_ms) = (Some(output.clone()), Some(*elapsed_ms));
            }
        }
    }

    /// Finds the call of an event: by its id, or by its index if it has no id yet.
    fn call(&mut self, event: &ToolEvent) -> Option<&mut SnapshotCall> {
        let id = event.call.as_ref().map(CallId::to_string);
        let is_it = |call: &SnapshotCall| match &call.call {
            Some(known) => Some(known) == id.as_ref(),
            None => (call.round, call.index) == (event.round, event.index),
        };
        let is_known =
            self.items.iter().any(|item| matches!(item, SnapshotItem::Call(call) if is_it(call)));
        if !is_known {
            let (round, index) = (event.round, event.index);
            self.items.push(SnapshotItem::Call(Box::new(SnapshotCall {
                round,
                index,
                ..SnapshotCall::default()
            })));
        }
        let calls = self.items.iter_mut().rev().filter_map(|item| match item {
            SnapshotItem::Call(call) => Some(&mut **call),
            _ => None,
        });
        calls.into_iter().find(|call| is_it(call))
    }
}

fn is_question(item: &SnapshotItem, of: &str) -> bool {
    matches!(item, SnapshotItem::Question { call, .. } if call == of)
}

/// Converts arguments to JSON, from any form that the provider sent.
#[must_use]
pub fn args_value(args: &RawArgs) -> Value {
    match args {
        RawArgs::Value(value) => value.clone(),
        RawArgs::Text(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        RawArgs::Broken(why) => Value::String(why.clone()),
        RawArgs::Sealed(_) => Value::String("***".to_owned()),
    }
}

/// Converts a value to JSON; returns `None` for null.
pub fn to_value(value: &impl Serialize) -> Option<Value> {
    serde_json::to_value(value).ok().filter(|value| !value.is_null())
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
