//! The facade that embedders use, and the binary too: [`Settings`] in, a working [`Toolcrib`] out.
//!
//! ```
//! use serde_json::json;
//! use toolcrib_app::core::{Origin, OutcomeKind};
//! use toolcrib_app::{Settings, Toolcrib};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let (workspace, state) = (home.path().join("workspace"), home.path().join("state"));
//! # std::fs::create_dir(&workspace)?;
//! std::fs::write(workspace.join("notes.md"), "buy oats")?;
//! let toolcrib = Toolcrib::builder(Settings::new(&workspace, &state)).build().await?;
//!
//! // One call by hand; `exec` takes a whole response of a model.
//! let args = json!({"path": "notes.md"}).into();
//! let answer = toolcrib.call("read_file", args, Origin::Cli).await.ok_or("no answer")?;
//! let outcome = answer.outcome().ok_or("it waits for approval")?;
//! assert_eq!(outcome.kind, OutcomeKind::Succeeded);
//! assert!(outcome.to_text().contains("buy oats"));
//! # Ok(())
//! # }
//! ```
//!
//! Invariants
//! - Every call goes through [`toolcrib_core::Invoker`]; this crate adds no second path.
//! - Nothing here reads the environment, the terminal or a configuration file: the caller passes
//!   everything in [`Settings`].

mod call_idempotency;
mod document_files;
mod exec;
mod history_records;
pub mod hooks;
mod kill_switch_file;
mod link_notifications;
mod locked_file;
mod mail_vault;
pub mod mcp;
mod permission_table;
mod python_settings;
mod reconfigure;
pub mod rule_files;
pub mod runner;
mod saved_chains;
mod sealed_stores;
mod settings;
mod stores;
mod switch_watcher;
mod tool_folders;
mod tool_search;
mod toolcrib;
mod vault_secrets;
mod workbench;

pub use exec::{ExecCall, ExecError, ExecReply, ExecRequest};
pub use kill_switch_file::{KillSwitchFile, KillSwitchState};
pub use locked_file::LockedFile;
pub use permission_table::{
    PermissionChoice, PermissionChoices, PermissionTable, parse_permission,
};
pub use python_settings::{PythonSettings, python_environment};
pub use saved_chains::ChainEntry;
pub use settings::{Settings, SetupError, ToolFolder};
pub use stores::{ANCHORS_FILE, Stores, StoresError};
pub use switch_watcher::{SwitchEvent, SwitchWatcher};
pub use tool_search::{EmbeddingModel, ToolSearchSettings};
pub use toolcrib::{AGENT_SOURCE, Builder, Toolcrib};
pub use vault_secrets::{oauth_secret_name, secrets_to_mask as secret_values};

/// Shared types and traits.
pub use toolcrib_core as core;

/// The argument decoder: parses, repairs and validates the arguments of a call.
pub use toolcrib_argument_decoder as argument_decoder;

/// The assistant: memories, tasks and their times.
pub use toolcrib_assistant as assistant;
/// E-mail: accounts, tools, and sending drafts.
pub use toolcrib_mail as mail;

/// The audit: its signing key and its verifier.
pub use toolcrib_audit as audit;

/// Rules: compilation and evaluation.
pub use toolcrib_engine::rules;

/// The sanitizer: neutralizes and truncates untrusted text.
pub use toolcrib_sanitizer as sanitizer;

pub use toolcrib_engine::{
    ApprovalRoute, Decisions, DryRunReport, Engine, EngineSettings, Policy, Preset, RunningCall,
    SWITCH_CACHE_TTL, Sealing, SecretAccess, Secrets, SubmitError, Submitted, SwitchTarget,
    ToolSettings, grant_from_decision,
};

/// Address policy and HTTP client.
pub use toolcrib_net as net;

/// The agent loop: machine, driver, events, library.
pub use toolcrib_agent as agent;

/// Provider formats and live models.
pub use toolcrib_providers as providers;

/// Tool search.
pub use toolcrib_tool_search as discover;

/// External tools.
pub use toolcrib_builtins::external_tools;

/// The database stores.
pub use toolcrib_store as store;

/// The sandbox.
pub use toolcrib_sandbox as sandbox;

/// The desktop's program for opening files.
pub use toolcrib_builtins::Opener;

/// The program runner.
pub use toolcrib_builtins::program_runner as bench;
/// Terminals for people, in the sandbox of programs.
pub use toolcrib_builtins::terminal;
/// Settings of the web tools.
pub use toolcrib_builtins::web;
/// Code execution.
pub use toolcrib_code_mode as python;

/// Workspaces and their undo journal.
pub use toolcrib_builtins::fs as workspace;

/// Runs a worker (sandbox helper, document reader or host of a terminal) if the arguments, without
/// the program name, select one; returns the exit code.
///
/// Call it first in `main`, before the program starts threads or reads anything.
#[must_use]
pub fn worker_entry(args: impl IntoIterator<Item = std::ffi::OsString>) -> Option<u8> {
    let args: Vec<std::ffi::OsString> = args.into_iter().collect();
    sandbox::helper_entry(args.iter().cloned())
        .or_else(|| toolcrib_builtins::document::worker_entry(args.iter().cloned()))
        .or_else(|| toolcrib_builtins::terminal::worker_entry(args))
}
