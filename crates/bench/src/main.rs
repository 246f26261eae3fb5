//! The benchmarks of `cargo xtask bench`: ratios against a named floor measured in the same run, never a bare time as a verdict.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program for developers that prints a table and stops at the first surprise"
)]

mod args;
mod batch;
mod binary;
mod canned;
mod chain;
mod clock;
mod door;
mod durable;
mod find;
mod mcp;
mod python;
mod registry;
mod rest;
mod rounds;
mod rules;
mod sandbox;
mod search;
mod shell;
mod start;
mod stream;
mod table;
mod text;

use table::Table;

fn main() {
    // The helper of the sandbox is this program too.
    if let Some(code) = toolcrib_app::worker_entry(std::env::args_os().skip(1)) {
        std::process::exit(code.into());
    }
    if let Some(code) = toolcrib_app::python::worker_entry(std::env::args_os().skip(1)) {
        std::process::exit(code.into());
    }
    if std::env::args().nth(1).as_deref() == Some(rest::ROLE) {
        return rest::serve();
    }
    if mcp::serve(&std::env::args().skip(1).collect::<Vec<_>>()) {
        return;
    }
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let json = std::env::args().any(|word| word == "--json");
    let mut table = Table::default();
    for (name, run) in [
        // First: the peak of memory that it looks at must not be somebody else's.
        ("stream", stream::run as fn(&mut Table)),
        ("door", door::run),
        ("registry", registry::run),
        ("durable", durable::run),
        ("batch", batch::run),
        ("args", args::run),
        ("text", text::run),
        ("loop", rounds::run),
        ("binary", binary::run),
        ("rules", rules::run),
        ("start", start::run),
        ("rest", rest::run),
        ("sandbox", sandbox::run_all),
        ("search", search::run),
        ("find", find::run),
        ("python", python::run),
        ("chain", chain::run),
        ("shell", shell::run),
        ("mcp", mcp::run),
    ] {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            run(&mut table);
        }
    }
    println!("{}", if json { table.json() } else { table.text() });
}
