//! Sandbox helper for the tests of this crate; not part of the product.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1);
    toolcrib_sandbox::helper_entry(args).map_or(ExitCode::FAILURE, ExitCode::from)
}
