//! The facade for embedders and for the binary: [`Settings`] in, a working [`Toolcrib`] out.
//!
//! ```
//! use serde_json::json;
//! use toolcrib_app::{Origin, OutcomeKind, Settings, Toolcrib};
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
//! - Every call passes [`toolcrib_core::Invoker`]; this crate adds no second path.
//! - Nothing here reads the environment, the terminal or a configuration file: the caller passes
//!   everything in [`Settings`].

mod call_idempotency;
mod channel_vault;
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
mod sms_vault;
mod state_changes;
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
pub use state_changes::StateChanges;
pub use stores::{ANCHORS_FILE, Stores, StoresError};
pub use switch_watcher::{SwitchEvent, SwitchWatcher};
pub use tool_search::{EmbeddingModel, ToolSearchSettings};
pub use toolcrib::{AGENT_SOURCE, Builder, Toolcrib};
pub use vault_secrets::{oauth_secret_name, secrets_to_mask as secret_values};

/// The types that an embedder names to provide a tool, make a call, or take part in its decision.
/// The binary's own crates import everything else from the crate that owns it.
pub use toolcrib_core::{
    Answer, Approver, ApproverReply, CallCtx, CallId, Context, ConversationId, Entry, ErrorType,
    Event, EventKind, Gate, GateInput, Guard, GuardVerdict, Handler, Invoker, Observer, Origin,
    Outcome, OutcomeKind, Permission, RawArgs, Source, Tool, ToolError, ToolName, ToolOutput,
    ToolSpec, Verdict, Vote,
};

/// Rules: compilation and evaluation.
pub use toolcrib_engine::rules;

pub use toolcrib_engine::{
    ApprovalRoute, Decisions, DryRunReport, Engine, EngineSettings, Policy, Preset, RunningCall,
    SWITCH_CACHE_TTL, Sealing, SecretAccess, Secrets, SubmitError, Submitted, SwitchTarget,
    ToolSettings, grant_from_decision,
};

/// The desktop's program for opening files.
pub use toolcrib_builtins::Opener;

/// Runs a worker (sandbox helper, document reader, host of a terminal or interpreter of code) if
/// the arguments, without the program name, select one; then returns its exit code.
///
/// Call it first in `main`, before the program starts threads or reads anything.
#[must_use]
pub fn worker_entry(args: impl IntoIterator<Item = std::ffi::OsString>) -> Option<u8> {
    let args: Vec<std::ffi::OsString> = args.into_iter().collect();
    toolcrib_sandbox::helper_entry(args.iter().cloned())
        .or_else(|| toolcrib_builtins::document::worker_entry(args.iter().cloned()))
        .or_else(|| toolcrib_builtins::terminal::worker_entry(args.iter().cloned()))
        .or_else(|| toolcrib_code_mode::worker_entry(args))
}
