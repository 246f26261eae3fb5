//! Operations: everything that a person or a program can request from Toolcrib besides running
//! calls, implemented once for all surfaces.
//!
//! Each operation is one file with a typed request, a typed reply and one async function. The REST
//! routes (`server`) and the command line (`cli`) parse, call the operation, and render the reply;
//! README.md explains how to add one.
//!
//! Invariants
//! - A reply contains no payload (arguments, results, texts that may repeat them) unless
//!   [`StoreContext::shows_payloads`] is set.
//! - Rows of another owner are reported exactly like rows that do not exist.
//!
//! Deliberately absent: HTTP, the command line, configuration files, text for people other than
//! errors.

pub mod administration;
pub mod advice;
pub mod agents;
pub mod approvals;
pub mod apps;
pub mod artifacts;
pub mod audit;
pub mod calls;
pub mod chains;
pub mod changes;
pub mod channels;
mod context;
pub mod conversations;
pub mod custom_instructions;
pub mod documents;
pub mod drafts;
mod error;
mod expected_version;
pub mod goals;
pub mod grants;
pub mod heartbeat;
pub mod id_prefix;
pub mod kill_switch;
pub mod kits;
pub mod library;
pub mod lists;
pub mod mail;
pub mod mcp_servers;
pub mod memories;
pub mod notifications;
pub mod person;
pub mod role;
pub mod rules;
pub mod runs;
pub mod secrets;
pub mod settings;
pub mod skills;
pub mod sms;
pub mod status;
pub mod switches;
pub mod tasks;
pub mod tokens;
pub mod tools;
pub mod usage;
pub mod userland;

pub use context::{AcceptedCall, ActiveCalls, NoActiveCalls, OpContext, StoreContext};
pub use error::{ErrorClass, OpError, Resource};
pub use expected_version::ExpectedVersion;
