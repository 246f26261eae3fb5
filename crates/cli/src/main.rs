//! The binary: parses the command line and returns the exit code. Everything else is in the crates
//! below it.

mod async_runtime;
mod backup;
mod bootstrap;
mod chat;
mod clap_args;
mod command;
mod completion;
mod config;
mod configured_names;
mod daemon;
mod doctor;
mod folders;
mod json_document;
mod jsonl;
mod library_folders;
mod mcp_servers_file;
mod op_context;
mod op_failure;
mod open_stores;
mod os_user;
mod output;
mod rule_layers;
mod service;
mod session;
mod shutdown_signal;
mod stage_trace;
mod surroundings;
mod terminal;
mod time_format;

use std::process::ExitCode;

fn main() -> ExitCode {
    // This must be first: this executable is also the sandbox helper, which must have only one
    // thread.
    if let Some(code) = toolcrib_app::worker_entry(std::env::args_os().skip(1)) {
        return ExitCode::from(code);
    }
    completion::answer_shell();
    let cli = clap_args::Cli::from_process_args();
    let json = cli.json;
    output::set_json_warnings(json);
    match command::run(cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::print_failure(&failure, json);
            ExitCode::from(failure.code)
        }
    }
}
