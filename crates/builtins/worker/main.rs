//! The helper that makes sandboxes for the tests of this crate, and the worker that reads documents: the binary of the product does it itself.

fn main() {
    let args = || std::env::args_os().skip(1);
    let code = toolcrib_sandbox::worker_entry(args())
        .or_else(|| toolcrib_builtins::document::worker_entry(args()));
    std::process::exit(code.map_or(2, i32::from));
}
