//! The exact state of a run, as a page shows it: a snapshot of it and the events after that come to the same as all events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_app::agent::events::{Event, ToolEvent, ToolState};
use toolcrib_app::core::{CallId, RawArgs};

/// A run as it is now.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunView {
    /// Its id.
    pub(crate) run: String,
    /// Its conversation.
    pub(crate) conversation: String,
    /// The agent.
    pub(crate) agent: String,
    /// Where it stands.
    pub(crate) state: RunState,
    /// Why it waits (`approval_needed`, `clarification_needed`) or how it ended (docs/agents.md); `None` while it works.
    pub(crate) status: Option<String>,
    /// Why it ended, where the status alone does not say it.
    pub(crate) message: Option<String>,
    /// The model that is asked first, `provider/model`.
    pub(crate) model: Option<String>,
    /// Whether that model only replays a file.
    pub(crate) scripted: bool,
    /// Text of the newest answer.
    pub(crate) text: String,
    /// Everything that was said and done, in its order.
    pub(crate) items: Vec<Item>,
    /// What it waits for: requests and questions, as in the event `run-paused`.
    pub(crate) waiting: Vec<Value>,
    /// Skills that were loaded.
    pub(crate) skills: Vec<String>,
    /// Rounds of calls; known once it waits or has ended.
    pub(crate) rounds: u32,
    /// Tokens, as far as providers report them; known once it has ended.
    pub(crate) usage: Option<Value>,
    /// What it cost in millionths of a US dollar, an estimate; known once it has ended.
    pub(crate) cost: Option<Value>,
    /// Tokens of schemas that all requests left out, for tools were found instead of carried: an estimate, known once it has ended.
    #[serde(default)]
    pub(crate) tokens_saved: u64,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunState {
    /// Somebody works on it.
    #[default]
    Running,
    /// It waits for a person.
    Paused,
    /// It is over.
    Ended,
}

/// One thing that was said or done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "item", rename_all = "kebab-case")]
pub(crate) enum Item {
    /// Somebody else than the model said something.
    Message {
        /// `typed`, `queued`, `answer`, `guard` or `summary`.
        kind: String,
        /// The text.
        text: String,
    },
    /// The model said something.
    Answer(Answer),
    /// A call.
    Call(Box<Call>),
    /// The model asked a person.
    Question {
        /// The call that asks.
        call: String,
        /// Under which id it is answered.
        approval: String,
        /// The question with its context and options.
        question: Value,
        /// What was said; `None` = nothing yet.
        said: Option<Value>,
    },
    /// Something that people should know.
    Notice {
        /// In words.
        text: String,
    },
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Answer {
    /// Round that it belongs to, from 0.
    pub(crate) round: u32,
    /// Which model answers, `provider/model`.
    pub(crate) model: String,
    /// Its text so far.
    pub(crate) text: String,
    /// Its reasoning so far.
    pub(crate) reasoning: String,
    /// Whether it is whole.
    pub(crate) done: bool,
    /// Why it stopped.
    pub(crate) stop: Option<Value>,
    /// Tokens, as the provider reports them.
    pub(crate) usage: Option<Value>,
    /// What it cost, an estimate.
    pub(crate) cost: Option<Value>,
}

/// A call of the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Call {
    /// Round that it belongs to, from 0.
    pub(crate) round: u32,
    /// Place in its answer, from 0.
    pub(crate) index: usize,
    /// Its id, once it has one.
    pub(crate) call: Option<String>,
    /// The tool.
    pub(crate) tool: String,
    /// Where it stands: the states of the event `tool`.
    pub(crate) state: String,
    /// Arguments as far as the model has written them.
    pub(crate) written: String,
    /// The arguments, once they are whole: text or value as the provider sent them.
    pub(crate) args: Option<Value>,
    /// How far it is while it runs, as it said last.
    pub(crate) progress: Option<Value>,
    /// What a person is asked about it.
    pub(crate) approval: Option<Value>,
    /// What a person decided.
    pub(crate) decision: Option<Value>,
    /// How it ended, where it did not succeed.
    pub(crate) outcome: Option<String>,
    /// Why it did not succeed.
    pub(crate) error_type: Option<String>,
    /// What the model reads.
    pub(crate) output: Option<Value>,
    /// Milliseconds since it began.
    pub(crate) elapsed_ms: Option<u64>,
}

/// A call whose arguments are being written.
const WRITING: &str = "input-streaming";

impl RunView {
    /// Takes in what happened.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::RunStart { run, conversation, agent, provider, model, scripted, .. } => {
                self.run = run.to_string();
                self.conversation = conversation.to_string();
                self.agent.clone_from(agent);
                self.model = Some(format!("{provider}/{model}"));
                self.scripted = *scripted;
                self.goes_on();
            }
            Event::Request { round, provider, model, .. } => {
                self.void();
                let model = format!("{provider}/{model}");
                let answer = Answer { round: *round, model, ..Answer::default() };
                self.items.push(Item::Answer(answer));
            }
            Event::TextDelta { text } => self.writing(|answer| answer.text.push_str(text)),
            Event::ReasoningDelta { text } => {
                self.writing(|answer| answer.reasoning.push_str(text));
            }
            Event::Retry { attempt, why, .. } => {
                self.drop_unsent();
                self.writing(|answer| (answer.text, answer.reasoning) = Default::default());
                self.notice(format!("attempt {attempt}: {why}"));
            }
            Event::Fallback { from, to, why } => {
                let next =
                    to.as_ref().map_or("none is left".to_owned(), |to| format!("{to} is asked"));
                self.notice(format!("{from} failed ({why}); {next}"));
            }
            Event::Answer { text, provider, model, stop, usage, cost, .. } => {
                self.text.clone_from(text);
                let (stop, usage, cost) = (json(stop), json(usage), json(cost));
                self.writing(|answer| {
                    answer.model = format!("{provider}/{model}");
                    answer.text.clone_from(text);
                    (answer.done, answer.stop, answer.usage, answer.cost) =
                        (true, stop, usage, cost);
                });
            }
            Event::Tool(tool) => self.tool(tool),
            Event::Question { call, approval, question } => {
                let (call, approval) = (call.to_string(), approval.to_string());
                let question = json(question).unwrap_or_default();
                let known = self.items.iter().any(|item| is_question(item, &call));
                if !known {
                    self.items.push(Item::Question { call, approval, question, said: None });
                }
            }
            Event::QuestionAnswered { call, said: what } => {
                let call = call.to_string();
                let found = self.items.iter_mut().rev().find(|item| is_question(item, &call));
                if let Some(Item::Question { said, .. }) = found {
                    *said = json(what);
                }
            }
            Event::Message { kind, text } => {
                let kind = word(kind);
                self.items.push(Item::Message { kind, text: text.clone() });
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
                self.state = RunState::Paused;
                self.status = Some((*status).to_owned());
                self.waiting = waiting.iter().filter_map(json).collect();
            }
            Event::RunEnd { status, message, text, rounds, usage, cost, tokens_saved, .. } => {
                self.goes_on();
                self.state = RunState::Ended;
                self.status = Some((*status).to_owned());
                self.message.clone_from(message);
                self.text.clone_from(text);
                self.rounds = *rounds;
                (self.usage, self.cost) = (json(usage), json(cost));
                self.tokens_saved = *tokens_saved;
            }
        }
    }

    /// The same without what was said, called and answered, for whoever only looks.
    pub(crate) fn without_payloads(mut self) -> Self {
        self.text.clear();
        self.message = None;
        self.waiting.clear();
        self.items.retain(|item| matches!(item, Item::Answer(_) | Item::Call(_)));
        for item in &mut self.items {
            match item {
                Item::Answer(answer) => (answer.text, answer.reasoning) = Default::default(),
                Item::Call(call) => {
                    call.written.clear();
                    (call.args, call.approval, call.decision, call.output) = Default::default();
                }
                Item::Message { .. } | Item::Question { .. } | Item::Notice { .. } => {}
            }
        }
        self
    }

    fn goes_on(&mut self) {
        self.state = RunState::Running;
        (self.status, self.message) = (None, None);
        self.waiting.clear();
    }

    fn notice(&mut self, text: String) {
        self.items.push(Item::Notice { text });
    }

    /// The answer that is being written.
    fn writing(&mut self, change: impl FnOnce(&mut Answer)) {
        let open = self.items.iter_mut().rev().find_map(|item| match item {
            Item::Answer(answer) => Some(answer),
            _ => None,
        });
        match open {
            Some(answer) if !answer.done => change(answer),
            _ => {
                let mut answer = Answer::default();
                change(&mut answer);
                self.items.push(Item::Answer(answer));
            }
        }
    }

    /// An answer that never became whole is nobody's: another request takes its place.
    fn void(&mut self) {
        self.drop_unsent();
        self.items.retain(|item| !matches!(item, Item::Answer(answer) if !answer.done));
    }

    /// Calls whose arguments never became whole.
    fn drop_unsent(&mut self) {
        self.items.retain(|item| !matches!(item, Item::Call(call) if call.state == WRITING));
    }

    fn tool(&mut self, event: &ToolEvent) {
        let Some(call) = self.call(event) else { return };
        call.tool.clone_from(&event.tool);
        call.call = event.call.as_ref().map(CallId::to_string).or_else(|| call.call.take());
        if let ToolState::Progress { progress } = &event.state {
            call.progress = json(progress);
            return;
        }
        call.state = match json(&event.state) {
            Some(Value::Object(state)) => {
                state.get("state").and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            _ => String::new(),
        };
        match &event.state {
            ToolState::InputStreaming { delta } => call.written.push_str(delta),
            ToolState::InputAvailable { args } => {
                call.written.clear();
                call.args = Some(args_of(args));
            }
            ToolState::ApprovalRequested { approval } => call.approval = json(approval),
            ToolState::ApprovalResponded { decision, .. } => call.decision = json(decision),
            ToolState::Progress { .. } => {}
            ToolState::OutputAvailable { output, elapsed_ms } => {
                call.progress = None;
                (call.output, call.elapsed_ms) = (Some(output.clone()), Some(*elapsed_ms));
            }
            ToolState::OutputError { outcome, error_type, output, elapsed_ms }
            | ToolState::OutputDenied { outcome, error_type, output, elapsed_ms } => {
                call.progress = None;
                call.outcome = Some(word(outcome));
                call.error_type = error_type.as_ref().map(word);
                (call.output, call.elapsed_ms) = (Some(output.clone()), Some(*elapsed_ms));
            }
        }
    }

    /// The call that an event is about: by its id, or by its place while it has none.
    fn call(&mut self, event: &ToolEvent) -> Option<&mut Call> {
        let id = event.call.as_ref().map(CallId::to_string);
        let is_it = |call: &Call| match &call.call {
            Some(known) => Some(known) == id.as_ref(),
            None => (call.round, call.index) == (event.round, event.index),
        };
        let is_known =
            self.items.iter().any(|item| matches!(item, Item::Call(call) if is_it(call)));
        if !is_known {
            let (round, index) = (event.round, event.index);
            self.items.push(Item::Call(Box::new(Call { round, index, ..Call::default() })));
        }
        let calls = self.items.iter_mut().rev().filter_map(|item| match item {
            Item::Call(call) => Some(&mut **call),
            _ => None,
        });
        calls.into_iter().find(|call| is_it(call))
    }
}

fn is_question(item: &Item, of: &str) -> bool {
    matches!(item, Item::Question { call, .. } if call == of)
}

/// Arguments as the model wrote them, without the form they came in.
pub(super) fn args_of(args: &RawArgs) -> Value {
    match args {
        RawArgs::Value(value) => value.clone(),
        RawArgs::Text(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        RawArgs::Broken(why) => Value::String(why.clone()),
        RawArgs::Sealed(_) => Value::String("***".to_owned()),
    }
}

/// The JSON form; nothing for what is null.
pub(super) fn json(value: &impl Serialize) -> Option<Value> {
    serde_json::to_value(value).ok().filter(|value| !value.is_null())
}

/// The wire name of something that has one.
pub(super) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
