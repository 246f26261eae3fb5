//! The executable that tests use as sandbox helper and as document worker, as the product's own is.

fn main() {
    let args = || std::env::args_os().skip(1);
    let code = toolcrib_sandbox::worker_entry(args())
        .or_else(|| toolcrib_builtins::document::worker_entry(args()));
    std::process::exit(code.map_or(2, i32::from));
}
