//! Messages between this process and a process that runs code: the built-in interpreter or a
//! CPython kernel.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Version of the protocol. A process with another version belongs to another build.
pub(crate) const PROTOCOL: u32 = 2;

/// Maximum number of bytes of a value that are sent; the rest is only counted.
pub(crate) const VALUE_BYTES: usize = 256 << 10;

/// Maximum number of bytes of an exception's text, including its traceback.
pub(crate) const TRACE_BYTES: usize = 8 << 10;

/// A command to the process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum WorkerCommand {
    /// Run this code.
    Run(Run),
    /// Run this code, which may call tools.
    Script(Script),
    /// Continue a suspended script.
    Resume(ResumeScript),
    /// Results of calls that a script awaits.
    Replies {
        /// By the id of the request.
        replies: Vec<(u32, Reply)>,
    },
    /// The reply to a query of a script.
    QueryReply(Reply),
    /// Suspend: return a snapshot and end.
    Suspend,
}

/// See [`WorkerCommand::Script`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Script {
    pub(crate) code: String,
    /// Computing time limit in milliseconds, without waiting for calls.
    pub(crate) time_ms: u64,
    /// Bytes of memory beyond the current size of the process.
    pub(crate) memory: u64,
    /// The functions that it may call, as Python names.
    pub(crate) names: Vec<String>,
    /// The value `args`, if there are arguments.
    pub(crate) args: Option<Value>,
    /// Mark that a kernel prints after all output.
    #[serde(default)]
    pub(crate) mark: String,
    /// Only compile the script, as a syntax check.
    #[serde(default)]
    pub(crate) check: bool,
}

/// See [`WorkerCommand::Resume`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResumeScript {
    /// The snapshot of [`WorkerMessage::Suspended`].
    pub(crate) snapshot: String,
    /// Remaining computing time in milliseconds.
    pub(crate) time_ms: u64,
    pub(crate) memory: u64,
    pub(crate) names: Vec<String>,
}

/// A call that a script awaits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequestedCall {
    pub(crate) id: u32,
    /// The function, as a Python name.
    pub(crate) name: String,
    pub(crate) args: Vec<Value>,
    pub(crate) named: Map<String, Value>,
}

/// A query of a script that is not a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolQuery {
    pub(crate) what: String,
    pub(crate) args: Vec<Value>,
}

/// The reply to a call or a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The result of a tool.
    Result {
        text: String,
        data: Option<Value>,
        /// Reference to the whole text, if this is its beginning.
        reference: Option<String>,
        /// References of images and audio.
        media: Vec<String>,
    },
    /// A value.
    Value { value: Value },
    /// An exception that the script may catch.
    Raise { kind: ErrorKind, text: String },
    /// An exception that no script can catch.
    End { text: String },
}

/// Exceptions of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorKind {
    /// The tool failed.
    Error,
    /// The call was not allowed.
    Denied,
    /// The call timed out.
    TimedOut,
    /// No tool has this name.
    Unknown,
    /// The arguments are invalid.
    Arguments,
}

/// See [`WorkerCommand::Run`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Returned with the result.
    pub(crate) id: u64,
    pub(crate) code: String,
    /// Time limit in milliseconds. A kernel is interrupted from outside.
    pub(crate) time_ms: u64,
    /// Bytes of memory beyond the current size of the process. A kernel is limited from outside.
    pub(crate) memory: u64,
    /// Mark that a kernel prints after all output, so that the end of the output is known.
    #[serde(default)]
    pub(crate) mark: String,
}

/// A message of the process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub(crate) enum WorkerMessage {
    /// The process is ready.
    Ready { protocol: u32, engine: String },
    /// The code printed text. A kernel prints to its standard output instead.
    Printed { text: String },
    /// The script awaits at least one of its calls; these are new.
    Waits { calls: Vec<RequestedCall> },
    /// The script waits for the reply to this query.
    Asks(ToolQuery),
    /// The snapshot of the suspended script.
    Suspended { snapshot: String },
    /// The code has ended.
    Done(RunResult),
}

/// The result of ended code.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunResult {
    /// Id of the run.
    pub(crate) id: u64,
    /// The value of the last expression, unless it is `None`.
    pub(crate) value: Option<ValueRepr>,
    /// The value as JSON, if it is data and short enough.
    pub(crate) data: Option<Box<Value>>,
    /// The uncaught exception.
    pub(crate) raised: Option<PythonException>,
    /// Files that were created or changed.
    pub(crate) files: Vec<CreatedFile>,
}

/// The `repr` of a value, or its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ValueRepr {
    pub(crate) text: String,
    /// Bytes of the whole text.
    pub(crate) bytes: u64,
    /// Name of its type.
    pub(crate) kind: String,
}

/// An exception.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PythonException {
    /// Name of its type, such as `ValueError`.
    pub(crate) kind: String,
    pub(crate) message: String,
    /// The traceback as Python prints it.
    pub(crate) trace: String,
    /// Line of the code, from 1.
    pub(crate) line: Option<u32>,
    /// The missing feature, if the interpreter lacks something that CPython has.
    pub(crate) lacks: Option<MissingFeature>,
}

impl PythonException {
    /// Returns whether the interpreter stopped the code at its time limit. Code cannot raise or
    /// catch this exception.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.kind == "TimeoutError" && self.message.starts_with("time limit exceeded: ")
    }
}

/// Features that the built-in interpreter lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MissingFeature {
    /// Syntax: nothing has run.
    Syntax,
    /// A module, or a name in one.
    Module,
    /// A built-in name, or an external resource: a file, a clock, an environment variable.
    Builtin,
}

/// A file in the scratch folder.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CreatedFile {
    /// Its path in the folder.
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

/// Returns the beginning of a text, at most `bytes` bytes of whole characters.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}
