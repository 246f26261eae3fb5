//! A node: this machine offers chosen tools to a daemon on another machine, which is paired with
//! it. It speaks the protocol of apps (docs/apps.md).
//!
//! - `listener`: connections, and the signatures of requests and answers.
//! - `tools`: the chosen tools, and their calls through the pipeline of this machine.
//!
//! # Invariants
//! - A request without the signature of the paired daemon reaches no tool.
//! - Only the chosen tools are called, under the rules of this machine, and a call that needs an
//!   approval is denied: there is nobody to ask here. The daemon has asked before.

mod listener;
mod tools;

pub use listener::Node;
pub use tools::NodeTools;
