//! Scripted model: replays turns for tests, the tour and offline work.
//!
//! Its turns come from a YAML file ([`ScriptedModel::load`]) or from code
//! ([`ScriptedModel::from_turns`]). It implements the same trait as other models, in the format of
//! Chat Completions, and its answers pass through the parser of live answers, so that broken
//! arguments, cut answers and repeated ids behave as in live answers. A turn may define
//! expectations about its request; a mismatch ends the request with
//! [`FailureKind::Script`](crate::model::FailureKind::Script).
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
//! Intentionally out of scope: branches, placeholders, random answers. One conversation per
//! [`ScriptedModel`].

mod error;
mod expectations;
mod model;
mod playback;
mod script_file;
mod script_turn;

#[cfg(test)]
mod tests;

pub use error::ScriptError;
pub use expectations::{Expect, ExpectedResult};
pub use model::{PROVIDER, ScriptedModel, is_summary_request};
pub use script_turn::{ScriptCall, ScriptFailure, ScriptStop, ScriptTurn, ScriptUsage, TurnUse};
