//! The commands that ask a daemon.

mod healthcheck;
mod open;
mod reload;
mod service;
mod status;
mod stop;
mod token;

use crate::clap_args::DaemonCommand;
use crate::output::Failure;

pub(super) use open::run as open;
pub(super) use status::run as status;
pub(super) use stop::run as stop;
pub(super) use token::run as token;

/// `toolcrib daemon`.
pub(super) fn run(command: &DaemonCommand, json: bool) -> Result<u8, Failure> {
    match command {
        DaemonCommand::Reload => reload::run(json),
        DaemonCommand::Healthcheck => healthcheck::run(json),
        DaemonCommand::Service(command) => service::run(command, json),
    }
}
