//! `cargo xtask check`: whether everything compiles, with this toolchain and on this platform.

use anyhow::Result;

use crate::flags::flags;
use crate::process::{self, FEATURES};

/// Compiles all targets of the workspace without building programs.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [] = flags(args, [])?;
    process::run(
        process::cargo(&["check", "--workspace", "--all-targets", "--locked"]).args(FEATURES),
    )
}
