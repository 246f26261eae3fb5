//! The executable that tests use as sandbox helper and as interpreter.

fn main() {
    let args: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let code = toolcrib_sandbox::worker_entry(args.iter().cloned())
        .or_else(|| toolcrib_chain::worker_entry(args));
    std::process::exit(code.map_or(2, i32::from));
}
