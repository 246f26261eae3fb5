//! The engine: the registry with its views, and the pipeline that every call passes.
//!
//! The fifteen stages are the files of `stage/`, in the order that `pipeline.rs` lists them:
//! receive, switch, resolve, decode, repeat, guard, assess, gates, budget, approve, admit, intent,
//! run, shape, settle. The progress of a call is a type (`stage/phase.rs`), so that no other order
//! compiles. `invoke.rs` is the entry for every batch; `resume/` continues calls after a decision
//! or an interruption.
//!
//! Invariants, each with its tests in `tests/it/invariants.rs`
//! 1. One outcome per call in every case: refused, cancelled, crashed, dropped.
//! 2. No call runs without an intent record, except calls that only read while the disk is full.
//! 3. A call runs with exactly the approved arguments.
//! 4. An error in policy denies; an error in observation never blocks.
//! 5. Calls made by a script pass the same stages with their parent's budget.
//!
//! Intentionally absent: providers, MCP, HTTP, a terminal, a database. Stores are traits of `core`;
//! this crate contains the in-memory implementations.

mod active_batches;
mod active_calls;
mod answer_without_call;
mod artifact_references;
mod artifact_streams;
mod batch;
mod batch_idempotency;
mod batch_scope;
mod budget;
mod call_state;
mod child_calls;
mod concurrency_locks;
mod dry_run;
mod engine;
mod engine_inner;
mod failpoint;
mod gate;
mod invoke;
mod late_records;
mod observers;
mod open_runs;
mod pipeline;
mod policy;
mod registered_tool;
mod registry;
mod registry_state;
mod repeat_guard;
mod result_taint;
mod resume;
mod role_access;
pub mod rules;
mod safe_text;
mod secrets;
mod settings;
mod stage;
pub mod store;
mod switch_cache;
mod switches;
mod tool_names;
mod view;

pub use active_calls::RunningCall;
pub use batch_idempotency::{SubmitError, Submitted};
pub use dry_run::{ApprovalRoute, DryRunReport};
pub use engine::Engine;
pub use engine::builder::EngineBuilder;
pub use gate::{GrantedPermissions, PermissionGate, Preset};
pub use policy::Policy;
pub use resume::record_decision::{Decisions, SecretAccess, grant_from_decision};
pub use resume::recovery_result::RecoveredWork;
pub use secrets::{Sealing, Secrets, StreamMask, TextMask};
pub use settings::{EngineSettings, ToolSettings};
pub use switch_cache::SWITCH_CACHE_TTL;
pub use switches::SwitchTarget;
