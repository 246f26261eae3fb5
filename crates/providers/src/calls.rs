//! What all formats do with the calls they find: ids, repetitions, unfinished arguments.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};
use toolcrib_core::RawArgs;

use crate::raw;
use crate::turn::{ModelCall, Stop};

/// Calls of one answer at most. OpenAI takes 128 tools in a request; an answer with more calls than this is a model, or a server, out of
/// control, and each call would be matched against all others.
pub(crate) const MAX_CALLS: usize = 256;
/// Blocks or output items of one answer at most: a text with many citations has hundreds.
pub(crate) const MAX_BLOCKS: usize = 1_000;

/// Text for a call whose arguments were cut by the limit of output.
pub(crate) const CUT: &str = "The answer ended inside the arguments of this call, so it was not run. Send the call again with complete arguments; write large contents in several smaller calls.";
/// Text for the calls of an answer that never reached its end.
pub(crate) const UNFINISHED: &str = "The stream ended before the answer was complete, so this call was not run. Send the call again if it is still needed.";
/// Text for a second call under a used id.
const REUSED: &str = "Two different calls carried the same id, so this second one was not run. Send it again as a call of its own.";

/// How an answer ended, as far as its calls are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Everything arrived.
    Whole,
    /// The limit of output was reached, or a filter or something unknown stopped it: the last call may be incomplete.
    Cut,
    /// The end came, but no reason for it: text that is no whole JSON value may be a piece of one.
    Unsaid,
    /// The end never came, or a piece could not be read: nothing may run.
    Broken,
}

impl End {
    /// The arguments of a call that came as text. Text that is one whole JSON value cannot be a piece of a longer one.
    pub(crate) fn text(self, text: String, last: bool) -> RawArgs {
        match self {
            Self::Whole => RawArgs::Text(text),
            Self::Broken => broken(UNFINISHED),
            Self::Cut | Self::Unsaid if text.trim().is_empty() && !last => RawArgs::Text(text),
            Self::Unsaid if raw::is_json(&text) => RawArgs::Text(text),
            // A bare number or word may be the beginning of a longer one.
            Self::Cut if text.trim_end().ends_with(['}', ']', '"']) && raw::is_json(&text) => {
                RawArgs::Text(text)
            }
            Self::Cut | Self::Unsaid => broken(CUT),
        }
    }

    /// The arguments of a call that came as a value: a provider may have closed what the model did not.
    pub(crate) fn value(self, text: String, last: bool) -> RawArgs {
        match self {
            Self::Cut if last => broken(CUT),
            _ => self.text(text, last),
        }
    }
}

/// The failure of an answer with more calls or blocks than any answer has.
pub(crate) fn too_many(limit: usize, notes: &mut Vec<String>) -> Stop {
    let words =
        format!("the answer has more than {limit} calls or blocks; none of its calls is run");
    notes.push(words.clone());
    Stop::Failed(words)
}

pub(crate) fn broken(text: &str) -> RawArgs {
    RawArgs::Broken(text.to_owned())
}

/// Whether a call was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is in the list.
    New,
    /// It was there already, letter for letter.
    Repeated,
}

/// The calls of one answer, at most one per id.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) list: Vec<ModelCall>,
    pub(crate) notes: Vec<String>,
    by_id: HashMap<String, usize>,
}

impl Calls {
    /// Adds a call. The same call under the same id again is dropped; another call under a used id is kept, to be answered, but not run
    /// (research/reliability U4).
    pub(crate) fn add(&mut self, mut call: ModelCall) -> Added {
        if let Some(id) = &call.provider_id {
            match self.by_id.get(id).and_then(|&at| self.list.get(at)) {
                Some(first) if first.name == call.name && same(&first.args, &call.args) => {
                    self.notes
                        .push(format!("the call {id} was sent more than once; it counts once"));
                    return Added::Repeated;
                }
                Some(_) => {
                    self.notes.push(format!(
                        "two different calls carry the id {id}; the second one is not run"
                    ));
                    call.args = broken(REUSED);
                }
                None => {
                    self.by_id.insert(id.clone(), self.list.len());
                }
            }
        }
        self.list.push(call);
        Added::New
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

/// Makes ids for calls without one: `call_1`, `call_2`, … by their place, leaving out those in use.
#[derive(Debug)]
pub(crate) struct Ids {
    used: HashSet<String>,
    count: usize,
    made: usize,
}

impl Ids {
    /// Knows the ids that the provider gave.
    pub(crate) fn new<'a>(given: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        Self { used: given.into_iter().flatten().map(str::to_owned).collect(), count: 0, made: 0 }
    }

    /// The id of the next call.
    pub(crate) fn next(&mut self, given: Option<&str>) -> String {
        self.count += 1;
        if let Some(id) = given.filter(|id| !id.is_empty()) {
            return id.to_owned();
        }
        let mut number = self.count;
        while !self.used.insert(format!("call_{number}")) {
            number += 1;
        }
        self.made += 1;
        format!("call_{number}")
    }

    /// What to say about it.
    pub(crate) fn note(&self) -> Option<String> {
        (self.made > 0).then(|| {
            format!(
                "{} calls came without an id; ids were made here (call_1, …), also in the assistant's turn",
                self.made
            )
        })
    }
}

/// Arguments for the replayed turn: text that is no JSON would make every later request fail (research/protocols 2.3, 2.5).
pub(crate) fn replay_text(text: &str) -> String {
    match () {
        () if text.trim().is_empty() => "{}".to_owned(),
        // Read as whoever gets it reads it: with a limit of depth.
        () if serde_json::from_str::<Value>(text).is_ok() => text.to_owned(),
        () => json!({"INVALID_JSON": text}).to_string(),
    }
}

/// The same for formats in which arguments are an object.
pub(crate) fn replay_object(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ if text.trim().is_empty() => Value::Object(Map::new()),
        _ => json!({"INVALID_JSON": text}),
    }
}

/// A call's arguments for a request to another model: an object, the model's own words where they are one.
pub(crate) fn args_object(args: &RawArgs) -> Value {
    match args {
        RawArgs::Text(text) => replay_object(text),
        RawArgs::Value(value) if value.is_object() => value.clone(),
        RawArgs::Value(value) => json!({"INVALID_JSON": value.to_string()}),
        // What the model wrote is not known here; the result tells it that the call was cut.
        RawArgs::Broken(_) | RawArgs::Sealed(_) => Value::Object(Map::new()),
    }
}

/// The first of these members that is there and not null.
pub(crate) fn field<'v>(value: &'v Value, names: &[&str]) -> Option<&'v Value> {
    names.iter().filter_map(|name| value.get(name)).find(|v| !v.is_null())
}

/// A member as text; `None` when it is missing, empty or no text.
pub(crate) fn text_of<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A member as a count of tokens.
pub(crate) fn count(value: &Value, name: &str) -> Option<u64> {
    value.get(name).and_then(Value::as_u64)
}

/// A copy of a member that is there and not null.
pub(crate) fn clone_of(value: &Value, name: &str) -> Option<Value> {
    field(value, &[name]).cloned()
}
