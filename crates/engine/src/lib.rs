//! The engine: the registry with its views, and the pipeline that every call passes (DESIGN 4).
//!
//! The fifteen stages are the files of `stage/`, in the order that `pipeline.rs` lists them: receive, switch, resolve, decode, repeat,
//! guard, assess, gates, budget, approve, admit, intent, run, shape, settle.
//!
//! Invariants, each with its tests in `tests/invariants.rs`
//! 1. One outcome per call, whatever happens to it: refused, cancelled, crashed, dropped.
//! 2. Nothing runs without an intent record.
//! 3. The arguments that were approved are the arguments that run.
//! 4. An error in policy denies; an error in observation never blocks.
//! 5. Calls made inside a chain pass the same stages with their parent's budget.
//!
//! Absent on purpose: providers, MCP, HTTP, a terminal, a database. Stores are traits of `core`; the in-memory forms are here.

mod again;
pub mod args;
pub mod audit;
mod batch;
mod budget;
mod deciding;
mod engine;
mod failpoint;
mod flight;
mod forecast;
mod gate;
mod keyed;
mod locks;
mod nest;
mod observers;
mod pipeline;
mod policy;
mod reading;
mod references;
mod registry;
mod repeat;
mod role;
pub mod rules;
mod run;
mod running;
mod secrets;
mod settings;
mod stage;
pub mod store;
mod stored_switches;
mod streams;
mod switches;
pub mod text;
mod view;
mod waiting;

pub use deciding::{Decisions, grant_of};
pub use engine::Engine;
pub use engine::builder::EngineBuilder;
pub use forecast::{Asking, Forecast};
pub use gate::{GrantedPermissions, PermissionGate, Preset};
pub use keyed::{SubmitError, Submitted};
pub use policy::Policy;
pub use running::RunningCall;
pub use secrets::{Sealing, Secrets, StreamMask, TextMask};
pub use settings::{EngineSettings, ToolSettings};
pub use stored_switches::SWITCHES_AGE;
pub use switches::Switched;
