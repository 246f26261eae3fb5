//! Everything wired together: one value of [`Settings`] in, a working Toolcrib out. This is the facade that embedders use, and the
//! binary too.
//!
//! Invariants
//! - Every call goes through [`toolcrib_core::Invoker`]; this crate adds no second way.
//! - Nothing here reads the environment, the terminal or a configuration file: whoever calls says everything in [`Settings`].
//!
//! Absent on purpose: clap, a terminal, the environment.

mod exec;
mod settings;
mod toolcrib;

pub use exec::{ExecCall, ExecError, ExecReply, ExecRequest};
pub use settings::{Settings, SetupError};
pub use toolcrib::{Builder, Toolcrib};

/// The vocabulary.
pub use toolcrib_core as core;

/// Reading and checking arguments as the door does.
pub use toolcrib_engine::args;

/// Making output harmless and short as the door does.
pub use toolcrib_engine::text;

pub use toolcrib_engine::{Engine, EngineSettings, Preset, ToolSettings};

/// The address policy and the client that keeps it.
pub use toolcrib_net as net;

/// Provider formats.
pub use toolcrib_providers as providers;

/// Workspaces and their undo journal.
pub use toolcrib_builtins::fs as workspace;
