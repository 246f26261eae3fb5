//! Sandbox helper and document worker for the tests of this crate. In the product, the `toolcrib`
//! binary takes these roles itself.

fn main() {
    let args = || std::env::args_os().skip(1);
    let code = toolcrib_sandbox::helper_entry(args())
        .or_else(|| toolcrib_builtins::document::worker_entry(args()));
    std::process::exit(code.map_or(2, i32::from));
}
