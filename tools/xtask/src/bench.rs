//! `cargo xtask bench`: the benchmarks, in a profile without link-time optimisation so that they
//! build in minutes.

use anyhow::Result;

use crate::process;

/// Builds and runs the benchmark program with the arguments as they are.
pub(crate) fn run(args: &[String]) -> Result<()> {
    // The binary too: some figures are those of its start.
    let binary = [
        "build",
        "--profile",
        "bench-fast",
        "--package",
        "toolcrib",
        "--package",
        "toolcrib-bench",
    ];
    process::run(&mut process::cargo(&binary))?;
    let mut command =
        process::cargo(&["run", "--profile", "bench-fast", "--package", "toolcrib-bench", "--"]);
    process::run(command.args(args))
}
