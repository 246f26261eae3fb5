//! Sandboxed processes: runs programs with isolation and limits.
//!
//! [`process`] runs one program to its end with a clean environment, its own session, a timeout,
//! and output that is always drained and captured up to a limit. It isolates nothing, and reports
//! that.
//!
//! A [`Backend`] runs a [`Job`] under a [`Policy`]: the paths that it may access, the hosts that it
//! may connect to, the resources that it may use. [`Local`] is the sandbox of this host,
//! [`Bubblewrap`] uses another program, and a remote runner can be a third. Every result states its
//! [`Level`]; below the policy's minimum nothing is started. docs/sandbox.md lists what each level
//! enforces, case by case. [`userland`] is a Linux system for programs, Alpine Linux in a folder.
//!
//! Invariants
//! - No process that a program starts outlives the call: all are killed after the program ended, on
//!   a timeout, on a stop, and when the future or the [`Process`] is dropped; nor does one outlive
//!   this process, even if this process is killed. Where only process *groups* are available
//!   (systems other than Linux, and executables that are not a [helper](helper_entry)), a process
//!   that left its group can only be disconnected, not killed.
//! - Every program is [marked](process::is_tool_process) as one that runs for a tool (Linux).
//! - A child never blocks on its output and never delays the caller: the streams are drained
//!   together, bounded in memory, and closed shortly after the leader ended.
//! - A group is signaled only while its leader has not been reaped, so that a reused process id is
//!   never killed.
//! - A sandbox is never silently weaker than requested: a restriction that a level cannot enforce
//!   is an error before anything runs.
//! - A path that must not be read cannot be read at any level that runs.
//!
//! Out of scope: our own vocabulary (calls, results, tools), shells and command lines.
#![deny(
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc,
    clippy::multiple_unsafe_ops_per_block,
    clippy::unnecessary_safety_doc
)]

mod backend;
mod backend_kind;
mod code_pages;
mod dropped_programs;
mod egress;
mod error;
mod file_transfer;
mod host_rules;
mod isolation_level;
mod job;
#[cfg(target_os = "linux")]
mod linux;
mod policy;
mod probe_report;
pub mod process;
mod rootfs;
mod seatbelt;
#[cfg(not(target_os = "linux"))]
mod unsupported;
pub mod userland;

pub use backend::{Backend, Duplex, Input, KillChildrenResult, Killer, Output, Process, run};
pub use backend_kind::BackendKind;
pub use code_pages::release_code_pages;
pub use dropped_programs::wait_for_dropped;
pub use egress::{Egress, RefusedHost};
pub use error::SandboxError;
pub use host_rules::{HostRule, HostRuleError, HostRules};
pub use isolation_level::{Level, UnknownLevel};
pub use job::{Job, JobResult, LimitHit, Status, Stdin};
pub use policy::{
    DEFAULT_DISK, DEFAULT_MEMORY, DEFAULT_PROCESSES, Network, Policy, Resources, SYSTEM_FOLDERS,
};
pub use probe_report::{Case, Feature, Probe};
pub use rootfs::{ROOTFS_HOME, Rootfs};

#[cfg(target_os = "linux")]
pub use linux::{Bubblewrap, Gvisor, Local, helper_entry, run_in_process};
pub use seatbelt::Seatbelt;
#[cfg(target_os = "macos")]
pub use seatbelt::Seatbelt as Local;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub use unsupported::{Bubblewrap, Gvisor, Local, helper_entry, run_in_process};
#[cfg(target_os = "macos")]
pub use unsupported::{Local as Bubblewrap, Local as Gvisor, helper_entry, run_in_process};
