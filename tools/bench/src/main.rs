//! The benchmarks of `cargo xtask bench`: ratios against a named floor measured in the same run,
//! never a bare time as a verdict.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program for developers that prints a table and stops at the first surprise"
)]

mod agent_rounds;
mod argument_decoder;
mod code_mode;
mod code_search;
mod cold_start;
mod document_search;
mod durable_calls;
mod fake_provider;
mod first_model_request;
mod idle_daemon;
mod mcp;
mod memory_recall;
mod parallel_calls;
mod pipeline_call;
mod python_tool;
mod rest;
mod result_stream;
mod results;
mod rules;
mod sandbox;
mod sanitizer;
mod scheduler_look;
mod shell_session;
mod timing;
mod tool_registration;
mod tool_search;
mod web_services;

use results::Results;

fn main() {
    // The helper of the sandbox is this program too.
    if let Some(code) = toolcrib_app::worker_entry(std::env::args_os().skip(1)) {
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
    let mut table = Results::default();
    for (name, run) in [
        // First: the peak of memory that it looks at must not be that of another row.
        ("stream", result_stream::run as fn(&mut Results)),
        ("pipeline", pipeline_call::run),
        ("registry", tool_registration::run),
        ("durable", durable_calls::run),
        ("batch", parallel_calls::run),
        ("args", argument_decoder::run),
        ("text", sanitizer::run),
        ("loop", agent_rounds::run),
        ("binary", cold_start::run),
        ("idle", idle_daemon::run),
        ("rules", rules::run),
        ("start", first_model_request::run),
        ("rest", rest::run),
        ("sandbox", sandbox::run_all),
        ("search", code_search::run),
        ("find", tool_search::run),
        ("memory", memory_recall::run),
        ("memory", document_search::run),
        ("tasks", scheduler_look::run),
        ("web", web_services::run),
        ("python", python_tool::run),
        ("chain", code_mode::run),
        ("shell", shell_session::run),
        ("mcp", mcp::run),
    ] {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            run(&mut table);
        }
    }
    println!("{}", if json { table.json() } else { table.text() });
}
