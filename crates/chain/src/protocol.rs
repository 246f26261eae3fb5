//! What is said between us and a process that runs code, be it our interpreter or a kernel of CPython.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Version of these messages. A process that speaks another one belongs to another build of ours.
pub(crate) const PROTOCOL: u32 = 2;

/// Bytes of a value that are shown; the rest is counted.
pub(crate) const VALUE_BYTES: usize = 256 << 10;

/// Bytes of the words of an exception, its traceback included.
pub(crate) const TRACE_BYTES: usize = 8 << 10;

/// What a process is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Order {
    /// Run this code.
    Run(Run),
    /// Run this code, which may call tools.
    Script(Script),
    /// Go on with a script that was frozen.
    Thaw(Thaw),
    /// What became of calls that a script waits for.
    Replies {
        /// By the id that each was asked for under.
        replies: Vec<(u32, Reply)>,
    },
    /// The answer to a question of a script.
    Told(Reply),
    /// End, and give back all that is needed to go on elsewhere.
    Freeze,
}

/// See [`Order::Script`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Script {
    pub(crate) code: String,
    /// How long it may compute, in milliseconds; waiting for calls excluded.
    pub(crate) time_ms: u64,
    /// Bytes of memory that it may use beyond what the process has.
    pub(crate) memory: u64,
    /// The functions that it may call, as names of Python.
    pub(crate) names: Vec<String>,
    /// The value `args`, if it is called with any.
    pub(crate) args: Option<Value>,
    /// What a kernel prints last of all.
    #[serde(default)]
    pub(crate) mark: String,
    /// Whether it is only compiled, to see whether it could run.
    #[serde(default)]
    pub(crate) check: bool,
}

/// See [`Order::Thaw`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Thaw {
    /// What [`Said::Frozen`] gave.
    pub(crate) snapshot: String,
    /// How long it may go on computing, in milliseconds.
    pub(crate) time_ms: u64,
    pub(crate) memory: u64,
    pub(crate) names: Vec<String>,
}

/// A call that a script waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    pub(crate) id: u32,
    /// The function, as a name of Python.
    pub(crate) name: String,
    pub(crate) args: Vec<Value>,
    pub(crate) named: Map<String, Value>,
}

/// A question of a script that is no call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Asks {
    pub(crate) what: String,
    pub(crate) args: Vec<Value>,
}

/// What a script gets for a call or a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The result of a tool.
    Result {
        text: String,
        data: Option<Value>,
        /// The whole, where this is its beginning.
        reference: Option<String>,
        /// References of pictures and sounds.
        media: Vec<String>,
    },
    /// A value.
    Value { value: Value },
    /// An exception, which the script may catch.
    Raise { kind: Kind, text: String },
    /// An exception that no script can catch.
    End { text: String },
}

/// The exceptions of calls (SPEC 4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The tool failed.
    Error,
    /// It was not allowed.
    Denied,
    /// It took too long.
    TimedOut,
    /// There is no such tool.
    Unknown,
    /// The arguments are not right.
    Arguments,
}

/// See [`Order::Run`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Comes back with the answer.
    pub(crate) id: u64,
    pub(crate) code: String,
    /// How long it may run, in milliseconds. A kernel is told from outside when to stop.
    pub(crate) time_ms: u64,
    /// Bytes of memory that it may use beyond what the process has. A kernel is bounded from outside.
    pub(crate) memory: u64,
    /// What a kernel prints last of all, so that it is known where its output ends.
    #[serde(default)]
    pub(crate) mark: String,
}

/// What a process says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub(crate) enum Said {
    /// It is there.
    Ready { protocol: u32, engine: String },
    /// The code printed something. A kernel prints to its standard output.
    Printed { text: String },
    /// The script cannot go on before at least one of its calls has a reply; these are new.
    Waits { calls: Vec<Wanted> },
    /// The script cannot go on before this is answered.
    Asks(Asks),
    /// The script, frozen.
    Frozen { snapshot: String },
    /// The code has ended.
    Done(Done),
}

/// How code ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Done {
    /// Of the run.
    pub(crate) id: u64,
    /// The value of its last expression, unless that is `None`.
    pub(crate) value: Option<Shown>,
    /// The same as data, where it is data and short enough.
    pub(crate) data: Option<Box<Value>>,
    /// The exception that nobody caught.
    pub(crate) raised: Option<Raised>,
    /// Files that were made or changed.
    pub(crate) files: Vec<Made>,
}

/// A value as `repr` shows it, or its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// Bytes of the whole.
    pub(crate) bytes: u64,
    /// Name of its type.
    pub(crate) kind: String,
}

/// An exception.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Raised {
    /// Name of its type, such as `ValueError`.
    pub(crate) kind: String,
    pub(crate) message: String,
    /// The words that Python prints of it.
    pub(crate) trace: String,
    /// Line of the code, from 1.
    pub(crate) line: Option<u32>,
    /// What it is about when the interpreter lacks something that CPython has.
    pub(crate) lacks: Option<Lack>,
}

impl Raised {
    /// Whether the interpreter ended the code because its time was over. No code can raise or catch that one.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.kind == "TimeoutError" && self.message.starts_with("time limit exceeded: ")
    }
}

/// What our interpreter does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Lack {
    /// Syntax: nothing has run.
    Syntax,
    /// A module, or a name in one.
    Module,
    /// A built-in name, or a file, a clock, a variable of the environment.
    Builtin,
}

/// A file in the scratch folder.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Made {
    /// Its path in the folder.
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

/// The beginning of a text, at most so many bytes of whole characters.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}
