//! The helper that makes sandboxes for the tests of this crate: the binary of the product does it itself.

fn main() {
    match toolcrib_sandbox::worker_entry(std::env::args_os().skip(1)) {
        Some(code) => std::process::exit(code.into()),
        None => std::process::exit(2),
    }
}
