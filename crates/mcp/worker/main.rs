//! What tests start as the helper that makes sandboxes; no part of the product.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1);
    toolcrib_sandbox::worker_entry(args).map_or(ExitCode::FAILURE, ExitCode::from)
}
