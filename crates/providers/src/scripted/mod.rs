//! A model that replays turns: for tests, the tour and offline work.
//!
//! Its words come from a YAML file ([`ScriptedModel::load`]) or from code ([`ScriptedModel::from_turns`]). It is asked like any other model,
//! by the same trait and in the format of Chat Completions, and its answers are made by the same parser as a live provider's, so that broken
//! arguments, cut answers and repeated ids behave as they do there. A turn may say what it expects to be sent; what does not fit ends the
//! request with [`FailureKind::Script`](crate::model::FailureKind::Script).
//!
//! ```yaml
//! version: 1
//! name: Two rounds
//! turns:
//!   - think: The file first.
//!     say: Let me look.
//!     calls:
//!       - tool: read_file
//!         args: {path: notes.md}
//!   - expect:
//!       results: [{tool: read_file, outcome: succeeded, contains: milk}]
//!     say: You wanted milk.
//!   - for: summary
//!     say: The person asked for the notes.
//! ```
//!
//! Absent on purpose: branches, placeholders, random answers. One conversation per [`ScriptedModel`].

mod error;
mod expect;
mod file;
mod model;
mod play;
mod turn;

#[cfg(test)]
mod tests;

pub use error::ScriptError;
pub use expect::{Expect, ExpectedResult};
pub use model::{ScriptedModel, is_summary_request};
pub use turn::{ScriptCall, ScriptFailure, ScriptStop, ScriptTurn, ScriptUsage, TurnUse};

/// Id of the provider entry that scripted models answer under.
pub const PROVIDER: &str = "scripted";
