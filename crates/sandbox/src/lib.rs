//! Processes with bounds: the boundary that a tool of somebody else runs in.
//!
//! [`process`] runs one program to its end: nothing of our environment, a process group of its own, a time limit, output that is read
//! whatever happens and kept up to a limit. It isolates nothing, and says so.
//!
//! A [`Backend`] runs a [`Job`] within a [`Policy`]: the paths it may touch, the hosts it may reach, the amounts it may use. [`Local`] is
//! the sandbox of this host, [`Bubblewrap`] that of another program, and a remote runner can be a third. Every result carries its
//! [`Level`]; below the policy's minimum nothing is started. docs/sandbox.md says what each level holds, case by case. [`userland`] is a
//! system of its own for programs, Alpine Linux in a folder.
//!
//! Invariants
//! - Nothing of a group or a sandbox outlives the call: it is killed after its program ended, on a timeout, on a stop, and when the
//!   future or the [`Process`] is dropped. A process that left a *group* by itself can only be cut off, not killed; from a sandbox there
//!   is no way out.
//! - A leader does not outlive this process, even one that is killed (Linux); of a sandbox nothing does.
//! - A child never blocks on its output, and never makes us wait for it: streams are drained together, bounded in memory, and given up
//!   shortly after the leader is gone.
//! - A group is signalled only while its leader is not reaped, so a number that the system gave to somebody else is never killed.
//! - A sandbox is never silently weaker than asked for: what a level cannot keep is an error before anything runs.
//! - What may not be read may not be read at any level that runs at all.
//!
//! Absent on purpose: our own vocabulary (calls, results, tools), shells and command lines.

mod backend;
mod egress;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
mod files;
mod hosts;
mod job;
mod level;
#[cfg(target_os = "linux")]
mod linux;
mod maker;
mod own_code;
mod policy;
pub mod process;
mod report;
mod root;
mod seatbelt;
pub mod userland;

pub use backend::{Backend, Duplex, Input, Output, Process, Swept, run};
pub use egress::{Egress, Refused};
pub use error::SandboxError;
pub use hosts::{HostRule, HostRuleError, HostRules};
pub use job::{Ended, Job, Status, Stdin, Stop};
pub use level::{Level, UnknownLevel};
pub use maker::Maker;
pub use own_code::let_go_of_code;
pub use policy::{DEFAULT_DISK, DEFAULT_MEMORY, DEFAULT_PROCESSES, Network, Policy, Resources};
pub use report::{Case, Feature, Probe};
pub use root::{ROOT_HOME, Root};

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub use elsewhere::{Bubblewrap, Gvisor, Local, run_here, worker_entry};
#[cfg(target_os = "macos")]
pub use elsewhere::{Local as Bubblewrap, Local as Gvisor, run_here, worker_entry};
#[cfg(target_os = "linux")]
pub use linux::{Bubblewrap, Gvisor, Local, run_here, worker_entry};
pub use seatbelt::Seatbelt;
#[cfg(target_os = "macos")]
pub use seatbelt::Seatbelt as Local;
