//! The REST interface against its own document: schemathesis makes requests of every shape that the
//! document allows, and of many that it does not, and looks whether a daemon answers as it says.

use std::process::Command;

use anyhow::Result;

use crate::served::{Scratch, Served};
use crate::{process, setup};

/// What must hold of every answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

/// Requests of each kind for each operation: some seconds of work for all of them.
const EXAMPLES: &str = "12";

/// The same requests in every run: what fails once, fails again.
const SEED: &str = "1";

/// Fuzzes a daemon of the built binary.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let schemathesis = setup::python("schemathesis")?;
    let binary = process::build_binary()?;
    let scratch = Scratch::new("api")?;
    let served = Served::start(
        &binary,
        &scratch.home(),
        &scratch.workspace(),
        &["--listen", "127.0.0.1:0"],
    )?;
    let mut command = Command::new(schemathesis);
    command
        .args(["run", &format!("{}/openapi.json", served.url)])
        .args(["--header", &format!("Authorization: Bearer {}", served.token)])
        .args(["--checks", CHECKS, "--max-examples", EXAMPLES, "--seed", SEED])
        .args(["--phases", "examples,coverage,fuzzing", "--workers", "2", "--no-shrink"])
        .args(["--suppress-health-check", "all", "--request-timeout", "30", "--warnings", "off"])
        // Streams have no end, and a page that was stopped is not to be stopped again.
        .args(["--exclude-path-regex", "/events$"])
        .args(args)
        .current_dir(&scratch.path);
    process::run(&mut command)
}
