//! `cargo xtask crash`: workers and daemons that die, disks that fail, and what is left of what was
//! promised (see `tools/fault-injection`).

use anyhow::Result;

use crate::process;

/// Builds and runs the program with the arguments as they are. In the dev profile: a round mostly
/// waits, so building faster code takes longer than it saves.
pub(crate) fn run(args: &[String]) -> Result<()> {
    process::run(&mut process::cargo(&["build", "--package", "toolcrib-fault-injection"]))?;
    let mut command =
        process::cargo(&["run", "--quiet", "--package", "toolcrib-fault-injection", "--"]);
    process::run(command.args(args))
}
