//! The daemon of this person: its components, and how the other commands find it.

pub(crate) mod client;
pub(crate) mod config_watcher;
mod instance;
mod logging;
mod paths;
mod serve;
mod server_host;
mod systemd_notify;
mod telemetry;

pub(crate) use paths::{DaemonPaths, tcp_url};
pub(crate) use serve::serve;
