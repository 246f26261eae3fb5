//! Several daemons on one database (reliability 3, L2, A2, A3, A5, R1): real processes on a real
//! Postgres that are killed, stopped, paused beyond their leases and started again, while clients
//! send calls and runs to any of them and people decide through any of them. At the end four
//! accounts are compared: the database's, the tools' own, what callers were told, and what those
//! who decided were told.

mod approvers;
mod await_outcomes;
mod client_log;
mod cluster;
mod daemon_process;
mod faults;
mod findings;
mod http_client;
mod run_trial;
pub(crate) mod schedule;
mod scripted_host;
mod tasks;
mod test_tools;
mod trial_context;
mod verify;
mod workload;

pub(crate) use daemon_process::main as node;
pub(crate) use findings::Findings;
pub(crate) use run_trial::run;
pub(crate) use trial_context::Plan;
