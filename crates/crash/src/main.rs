//! Evidence for the crash rule (reliability 3, K1 to K9, P1, D1, D2): a worker that runs calls on a real store and dies, and a parent that
//! starts it again and compares three accounts of what happened: the store's, the tools' own, and what callers were told.
//!
//! Development only: it is not shipped, and it is the one program that is built with the failpoints.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for the terminal: printing is what it does"
)]

mod args;
mod cut;
mod database;
mod judge;
mod lane;
mod lanes;
mod ledger;
mod point;
mod power;
mod process;
mod report;
mod said;
mod shim;
mod truth;
mod worker;

use std::process::ExitCode;

use args::{Command, Options};

/// What went wrong, in words: whoever starts this reads it.
type Fault = Box<dyn std::error::Error + Send + Sync>;
/// A result whose error is for people.
type Result<T> = std::result::Result<T, Fault>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("worker", orders)) = words.first().map(String::as_str).zip(words.get(1)) {
        return worker::main(orders);
    }
    let done = Options::parse(&words).and_then(|options| {
        let report = match options.command {
            Command::Kills => lane::kills(&options)?,
            Command::PowerCuts(cuts) => power::cuts(&options, cuts)?,
            Command::Anomalies => power::anomalies(&options)?,
        };
        if options.json {
            println!("{}", report.json());
        } else {
            print!("{}", report.table());
        }
        Ok(report.is_clean())
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("crash: {error}");
            ExitCode::from(2)
        }
    }
}
