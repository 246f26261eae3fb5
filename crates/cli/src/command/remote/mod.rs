//! Commands that are carried out by the daemon instead of here (`--daemon`), and what goes through
//! it because it runs.

mod call;
mod conversation;
mod decide;
mod exec;
mod run;
mod server_sent_events;
mod switches;

use crate::clap_args::WorkspaceArgs;
use crate::output::Failure;

pub(super) use call::run as call;
pub(super) use conversation::delete as delete_conversation;
pub(super) use decide::run as decide;
pub(super) use exec::run as exec;
pub(super) use run::{resume, run};
pub(super) use switches::{engage_kill_switch, release_kill_switch, set_switch as switch};

/// Refuses words about surroundings: the daemon has its own.
fn reject_workspace_args(world: &WorkspaceArgs) -> Result<(), Failure> {
    let given = [
        ("--root", !world.root.is_empty()),
        ("--workspace", world.workspace.is_some()),
        ("--tools", !world.tools.is_empty()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag} and --daemon exclude each other: the daemon works where it was started"
        ))),
        None => Ok(()),
    }
}
