//! Collects the calls of one answer, in every format: ids, duplicates, incomplete arguments.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};
use toolcrib_core::RawArgs;

use crate::model_turn::{ModelCall, Stop};
use crate::raw_json;

/// Limit of calls per answer. OpenAI accepts 128 tools in a request; an answer with more calls
/// comes from a broken model or server, and each call is compared with all others.
pub(crate) const MAX_CALLS: usize = 256;
/// Limit of blocks or output items per answer: a text with many citations has hundreds.
pub(crate) const MAX_BLOCKS: usize = 1_000;

/// Text for a call whose arguments were cut by the output limit.
pub(crate) const CUT: &str = "The answer ended inside the arguments of this call, so it was not run. Send the call again with complete arguments; write large contents in several smaller calls.";
/// Text for the calls of an incomplete answer.
pub(crate) const UNFINISHED: &str = "The stream ended before the answer was complete, so this call was not run. Send the call again if it is still needed.";
/// Text for a second call with a used id.
const REUSED: &str = "Two different calls carried the same id, so this second one was not run. Send it again as a call of its own.";

/// Note about a stream with a piece that fits no call, or more than one.
pub(crate) const UNCLEAR_PIECES: &str =
    "pieces of the stream are missing or out of order, so none of its calls is run";

/// How an answer ended, as far as its calls are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerEnd {
    /// Complete.
    Whole,
    /// The output limit, a filter or an unknown reason stopped it: the last call may be incomplete.
    Cut,
    /// It ended without a reason: text that is not a complete JSON value may be a fragment.
    Unsaid,
    /// The end is missing, or a chunk could not be read: no call may run.
    Broken,
}

impl AnswerEnd {
    /// Returns arguments that arrived as text. Text that is one complete JSON value cannot be a
    /// fragment of a longer one.
    pub(crate) fn text(self, text: String, last: bool) -> RawArgs {
        match self {
            Self::Whole => RawArgs::Text(text),
            Self::Broken => broken(UNFINISHED),
            Self::Cut | Self::Unsaid if text.trim().is_empty() && !last => RawArgs::Text(text),
            Self::Unsaid if raw_json::is_json(&text) => RawArgs::Text(text),
            // A number or literal may be the beginning of a longer one.
            Self::Cut if text.trim_end().ends_with(['}', ']', '"']) && raw_json::is_json(&text) => {
                RawArgs::Text(text)
            }
            Self::Cut | Self::Unsaid => broken(CUT),
        }
    }

    /// Returns arguments that arrived as a value: the provider may have closed brackets that the
    /// model left open.
    pub(crate) fn value(self, text: String, last: bool) -> RawArgs {
        match self {
            Self::Cut if last => broken(CUT),
            _ => self.text(text, last),
        }
    }
}

/// Returns the failure of an answer over a limit.
pub(crate) fn too_many_calls(limit: usize, notes: &mut Vec<String>) -> Stop {
    let words =
        format!("the answer has more than {limit} calls or blocks; none of its calls is run");
    notes.push(words.clone());
    Stop::Failed(words)
}

/// Returns the failure of an answer with more entries than `limit`. Each parser converts no more
/// than `limit` entries: a body of 1 MiB can contain 349,000 empty calls, and building and
/// answering them all took 9 s.
pub(crate) fn over_limit(entries: usize, limit: usize, notes: &mut Vec<String>) -> Option<Stop> {
    (entries > limit).then(|| too_many_calls(limit, notes))
}

pub(crate) fn broken(text: &str) -> RawArgs {
    RawArgs::Broken(text.to_owned())
}

/// Result of adding a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddResult {
    /// The call was added.
    New,
    /// The call is an exact duplicate and was dropped.
    Repeated,
}

/// The calls of one answer, at most one per id.
#[derive(Debug)]
pub(crate) struct CallCollector {
    pub(crate) list: Vec<ModelCall>,
    notes: Vec<String>,
    by_id: HashMap<String, usize>,
    ids: CallIds,
}

impl CallCollector {
    /// Registers the ids that the provider gave.
    pub(crate) fn new<'a>(given: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let (list, notes, by_id) = (Vec::new(), Vec::new(), HashMap::new());
        Self { list, notes, by_id, ids: CallIds::new(given) }
    }

    /// Returns the id of the next call: the given one, or a generated one.
    pub(crate) fn next_id(&mut self, given: Option<&str>) -> String {
        self.ids.next(given)
    }

    /// Returns the id of the call that was added last, for the replayed turn.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.list.last().and_then(|call| call.provider_id.as_deref())
    }

    /// Returns the notes about ids and duplicates.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        self.ids.note().into_iter().chain(std::mem::take(&mut self.notes)).collect()
    }

    /// Adds a call. Drops an exact duplicate under the same id. Keeps a different call under a used
    /// id, with a separate id, so that it gets its own result, but marks it so that it never runs:
    /// the provider may have mixed up the two.
    pub(crate) fn add(&mut self, mut call: ModelCall) -> AddResult {
        if let Some(id) = &call.provider_id {
            match self.by_id.get(id).and_then(|&at| self.list.get(at)) {
                Some(first) if first.name == call.name && same(&first.args, &call.args) => {
                    self.notes
                        .push(format!("the call {id} was sent more than once; it counts once"));
                    return AddResult::Repeated;
                }
                Some(_) => {
                    let own = self.ids.generate();
                    self.notes.push(format!(
                        "two different calls carry the id {id}; the second one is not run and has the id {own} here, also in the assistant's turn"
                    ));
                    call.provider_id = Some(own);
                    call.args = broken(REUSED);
                }
                None => {
                    self.by_id.insert(id.clone(), self.list.len());
                }
            }
        }
        self.list.push(call);
        AddResult::New
    }
}

fn same(a: &RawArgs, b: &RawArgs) -> bool {
    match (a, b) {
        (RawArgs::Text(a), RawArgs::Text(b)) => {
            a == b || {
                let (a, b) = (serde_json::from_str::<Value>(a), serde_json::from_str::<Value>(b));
                matches!((a, b), (Ok(a), Ok(b)) if a == b)
            }
        }
        _ => a == b,
    }
}

/// Generates ids for calls without one: `call_1`, `call_2`, … by position, skipping used ids.
#[derive(Debug)]
struct CallIds {
    used: HashSet<String>,
    count: usize,
    made: usize,
}

impl CallIds {
    fn new<'a>(given: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        Self { used: given.into_iter().flatten().map(str::to_owned).collect(), count: 0, made: 0 }
    }

    fn next(&mut self, given: Option<&str>) -> String {
        self.count += 1;
        if let Some(id) = given.filter(|id| !id.is_empty()) {
            return id.to_owned();
        }
        self.made += 1;
        self.generate()
    }

    /// Returns an id that no call of the answer has.
    fn generate(&mut self) -> String {
        let mut number = self.count.max(1);
        while !self.used.insert(format!("call_{number}")) {
            number += 1;
        }
        format!("call_{number}")
    }

    /// Returns a note about generated ids.
    fn note(&self) -> Option<String> {
        (self.made > 0).then(|| {
            format!(
                "{} calls came without an id; ids were made here (call_1, …), also in the assistant's turn",
                self.made
            )
        })
    }
}

/// Returns arguments for the replayed turn: providers reject a request whose history contains
/// invalid JSON.
pub(crate) fn replay_text(text: &str) -> String {
    match () {
        () if text.trim().is_empty() => "{}".to_owned(),
        // Parsed with a depth limit, as the recipient parses it.
        () if serde_json::from_str::<Value>(text).is_ok() => text.to_owned(),
        () => json!({"INVALID_JSON": text}).to_string(),
    }
}

/// Returns arguments for the replayed turn in formats in which they are an object.
pub(crate) fn replay_object(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ if text.trim().is_empty() => Value::Object(Map::new()),
        _ => json!({"INVALID_JSON": text}),
    }
}

/// Returns the arguments of a call for a request to another model, as an object.
pub(crate) fn args_object(args: &RawArgs) -> Value {
    match args {
        RawArgs::Text(text) => replay_object(text),
        RawArgs::Value(value) if value.is_object() => value.clone(),
        RawArgs::Value(value) => json!({"INVALID_JSON": value.to_string()}),
        // The text is unknown or incomplete here; the result tells the model that the call was cut.
        RawArgs::Broken(_) | RawArgs::Sealed(_) => Value::Object(Map::new()),
    }
}

/// Returns the first of these members that exists and is not null.
pub(crate) fn field<'v>(value: &'v Value, names: &[&str]) -> Option<&'v Value> {
    names.iter().filter_map(|name| value.get(name)).find(|v| !v.is_null())
}

/// Returns a member as text; `None` if it is missing, empty or not text.
pub(crate) fn text_field<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Returns a member as a token count.
pub(crate) fn count_field(value: &Value, name: &str) -> Option<u64> {
    value.get(name).and_then(Value::as_u64)
}

/// Returns a copy of a member that exists and is not null.
pub(crate) fn clone_field(value: &Value, name: &str) -> Option<Value> {
    field(value, &[name]).cloned()
}
