//! `cargo xtask eval-find`: how good `find_tools` is, over labelled queries, and with `--speed` how
//! fast.

use anyhow::Result;

use crate::process;

/// Builds and runs the evaluation program with the arguments as they are; relative paths in them
/// are seen from the root of the workspace.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut command = process::cargo(&[
        "run",
        "--quiet",
        "--profile",
        "bench-fast",
        "--package",
        "toolcrib-tool-search",
        "--example",
        "eval_find",
        "--",
    ]);
    process::run(command.args(args))
}
