//! Everything wired together: one value of [`Settings`] in, a working Toolcrib out. This is the facade that embedders use, and the
//! binary too.
//!
//! Invariants
//! - Every call goes through [`toolcrib_core::Invoker`]; this crate adds no second way.
//! - Nothing here reads the environment, the terminal or a configuration file: whoever calls says everything in [`Settings`].
//!
//! Absent on purpose: clap, a terminal, the environment.

mod chains;
mod discovery;
mod exec;
pub mod hooks;
mod kept;
mod keyed;
mod kill_switch;
mod locked_file;
pub mod mcp;
mod permissions;
mod python_settings;
mod reconfigure;
mod records;
pub mod rule_files;
pub mod runner;
mod settings;
mod stores;
mod tool_folders;
mod toolcrib;
mod vault;
mod watch;
mod workbench;

pub use chains::Chain;
pub use discovery::{DiscoverySettings, EmbeddingModel};
pub use exec::{ExecCall, ExecError, ExecReply, ExecRequest};
pub use kill_switch::{KillSwitch, Stop};
pub use locked_file::LockedFile;
pub use permissions::{PermissionChoice, PermissionChoices, PermissionTable, permission_named};
pub use python_settings::{PythonSettings, python_environment};
pub use settings::{Settings, SetupError, ToolFolder};
pub use stores::{ANCHORS, Stores, StoresError};
pub use toolcrib::{Builder, Toolcrib};
pub use vault::{authorization, values as secret_values};
pub use watch::{Found, Watching};

/// The vocabulary.
pub use toolcrib_core as core;

/// Reading and checking arguments as the door does.
pub use toolcrib_engine::args;

/// The audit: its verifier and its key.
pub use toolcrib_engine::audit;

/// Rules, ready to judge.
pub use toolcrib_engine::rules;

/// Making output harmless and short as the door does.
pub use toolcrib_engine::text;

pub use toolcrib_engine::{
    Asking, Decisions, Engine, EngineSettings, Forecast, Policy, Preset, RunningCall, SWITCHES_AGE,
    Sealing, Secrets, SubmitError, Submitted, Switched, ToolSettings, grant_of,
};

/// The address policy and the client that keeps it.
pub use toolcrib_net as net;

/// The agent loop: machine, driver, events, library.
pub use toolcrib_agent as agent;

/// Provider formats and the models behind them.
pub use toolcrib_providers as providers;

/// Finding tools: the index, its model, and the same over files.
pub use toolcrib_discover as discover;

/// Tools from folders.
pub use toolcrib_builtins::folder;

/// The database.
pub use toolcrib_store as store;

/// Programs with bounds.
pub use toolcrib_sandbox as sandbox;

/// The program that opens files on a desktop.
pub use toolcrib_builtins::Opener;

/// How tools run programs.
pub use toolcrib_builtins::workbench as bench;
/// Code execution.
pub use toolcrib_chain as python;

/// Workspaces and their undo journal.
pub use toolcrib_builtins::fs as workspace;

/// Does the work of a worker, the helper that makes sandboxes or the reader of documents, if these arguments, those after the name of the
/// program, say so. The result is the exit code.
///
/// To be called at the very beginning of a program, before it makes threads or reads anything.
#[must_use]
pub fn worker_entry(args: impl IntoIterator<Item = std::ffi::OsString>) -> Option<u8> {
    let args: Vec<std::ffi::OsString> = args.into_iter().collect();
    sandbox::worker_entry(args.iter().cloned())
        .or_else(|| toolcrib_builtins::document::worker_entry(args))
}
