//! Test executable: sandbox helper and interpreter worker.

fn main() {
    let args: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let code = toolcrib_sandbox::helper_entry(args.iter().cloned())
        .or_else(|| toolcrib_code_mode::worker_entry(args));
    std::process::exit(code.map_or(2, i32::from));
}
