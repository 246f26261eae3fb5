//! Running Python: the tool `code_exec`, the interpreter worker and the kernels behind it.
//!
//! Two levels. `expression` is an interpreter of our own executable in another role ([`worker_entry`]): a part of Python, no files, no
//! clock, no network, a fresh start for each call, ready in microseconds because one waits. `full` is the CPython of this machine in the
//! sandbox, a kernel per run whose variables stay, with the packages of [`Environment`] where they are installed.
//!
//! Invariants
//! - Code of a model runs in a sandbox of level [`Reduced`](toolcrib_sandbox::Level::Reduced) at least, without network, in another process.
//! - The one that runs the code bounds itself, and is killed by us when it does not: time and memory are kept from outside.
//! - What comes back from such a process is untrusted: messages have a limit, and a process that sends nonsense is killed.
//! - A worker serves one call and ends. A kernel serves one run, and sleeps between calls.
//! - What was approved as `expression` never runs as `full`.
//! - A call of a script goes through the door, once, under an id that the script has again when it runs again.
//!
//! Absent on purpose: the engine, providers, the environment of this process. Calls that a script makes go through `core::Children`.

mod answer;
mod environment;
mod expression;
mod frame;
mod interpreter;
mod kernel;
mod kernels;
mod pool;
mod printed;
mod protocol;
mod pythons;
mod refusal;
mod scratch;
mod script;
mod setup;
mod tool;
mod worker;

pub use environment::{Environment, EnvironmentError, EnvironmentState, REQUIREMENTS};
pub use interpreter::{Interpreter, InterpreterError};
pub use kernels::Kernels;
pub use pool::Workers;
pub use script::{
    ByWords, ChainError, ChainFolder, Found, KeptChain, SavedChains, ToolSearch, check,
};
pub use setup::{Setup, source, source_with};
pub use worker::worker_entry;
