//! Chooses the command of `toolcrib daemon`.

use super::{healthcheck, reload, service};
use crate::clap_args::DaemonCommand;
use crate::output::Failure;

pub(in crate::command) fn run(command: &DaemonCommand, json: bool) -> Result<u8, Failure> {
    match command {
        DaemonCommand::Reload => reload::run(json),
        DaemonCommand::Healthcheck => healthcheck::run(json),
        DaemonCommand::Service(command) => service::run(command, json),
    }
}
