//! The binary: words of the command line in, exit code out. Everything else is in the crates under it.

mod backup;
mod chat;
mod cli;
mod command;
mod config;
mod daemon;
mod doctor;
mod interrupt;
mod lines;
mod output;
mod person;
mod rules;
mod service;
mod session;
mod terminal;
mod trace;
mod when;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: the sandbox helper is this executable too, and has to have one thread.
    if let Some(code) = toolcrib_app::worker_entry(std::env::args_os().skip(1)) {
        return ExitCode::from(code);
    }
    // And so is the interpreter of code.
    if let Some(code) = toolcrib_app::python::worker_entry(std::env::args_os().skip(1)) {
        return ExitCode::from(code);
    }
    let cli = cli::Cli::read();
    let json = cli.json;
    output::for_machines(json);
    match command::run(cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::failure(&failure, json);
            ExitCode::from(failure.code)
        }
    }
}
