//! The other side of the protocol: this machine is paired as an app of a daemon on another machine,
//! and offers its own tools.
//!
//! - `pairing`: uses a code at the daemon, and keeps the keys.
//! - `requests`: accepts requests of the paired daemon, and signs the answers.

mod pairing;
mod requests;

pub use pairing::{NodeClaim, NodePairing};
pub use requests::NodeRequests;
