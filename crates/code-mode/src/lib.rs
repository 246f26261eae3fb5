//! Code mode: runs Python for the tools `code_exec` and `tool_chain`, with interpreter workers and
//! kernels.
//!
//! There are two levels. `expression` is a built-in interpreter, this executable in another role
//! ([`worker_entry`]): a subset of Python without files, clock or network, with a new process for
//! each call, ready in microseconds because one worker is always waiting. `full` is the CPython of
//! this machine in the sandbox: one kernel per run, which preserves its variables, with the
//! packages of the [`VirtualEnv`] if they are installed.
//!
//! Invariants
//! - The code of a model runs in another process, in a sandbox of at least level
//!   [`Reduced`](toolcrib_sandbox::Level::Reduced), without network.
//! - A process that runs code limits itself, and is killed from outside if that fails: time and
//!   memory are enforced twice.
//! - Messages of such a process are untrusted: they have a size limit, and a process that sends an
//!   invalid one is killed.
//! - A worker serves one call and ends. A kernel serves one run, and is stopped (SIGSTOP) between
//!   calls.
//! - Code that was approved at `expression` never runs at `full`.
//! - A call of a script passes the invoker once, under an id that is the same when the script runs
//!   again.
//!
//! Intentionally out of scope: the engine, providers, the environment of this process. Calls of
//! scripts go through `core::Children`.

mod captured_output;
mod code_exec;
mod cpython_level;
mod expression_level;
mod framing;
mod render_result;
mod setup;
mod source;
mod start_error;
mod tool_chain;
mod worker_process;
mod worker_protocol;

pub use cpython_level::kernel_pool::KernelPool;
pub use cpython_level::python_discovery::{Interpreter, InterpreterError};
pub use cpython_level::virtual_env::{REQUIREMENTS, VirtualEnv, VirtualEnvError, VirtualEnvState};
pub use expression_level::worker::worker_entry;
pub use expression_level::worker_pool::SharedWorkerPool;
pub use setup::{MaskFinder, Setup};
pub use source::{source, source_with};
pub use tool_chain::{
    ChainError, ChainFile, ChainFolder, KeywordSearch, SavedChains, ToolMatches, ToolSearch,
    check_syntax,
};
