//! Evidence for the crash rule (reliability 3, K1 to K9, P1, D1, D2): a worker that runs calls on a
//! real store and dies, and a parent that starts it again and compares three accounts of what
//! happened: the store's, the tools' own, and what callers were told. And the same for several
//! daemons on one database (`daemons`).
//!
//! Development only: it is not shipped, and it is the one program that is built with the
//! failpoints.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for the terminal: printing is what it does"
)]

mod args;
mod caller_log;
mod daemons;
mod database_checks;
mod disk_faults;
mod disk_shim;
mod effect_log;
mod error;
mod kill_point;
mod parallel_trials;
mod power_cut;
mod preload_library;
mod protocol;
mod report;
mod trial;
mod verify;
mod worker;
mod worker_process;

use std::process::ExitCode;

use args::{Command, Options};
use daemons::schedule::SchedulePlan;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("worker", orders)) = words.first().map(String::as_str).zip(words.get(1)) {
        return worker::main(orders);
    }
    if let Some(("node", orders)) = words.first().map(String::as_str).zip(words.get(1)) {
        return daemons::node(orders);
    }
    let done = Options::parse(&words).and_then(|options| {
        let (json, table, is_clean) = match options.command {
            Command::Kills => report(&trial::run_kill_trials(&options)?),
            Command::PowerCuts(cuts) => report(&disk_faults::cuts(&options, cuts)?),
            Command::CreationCuts(changes) => {
                report(&disk_faults::creation_cuts(&options, changes)?)
            }
            Command::Anomalies => report(&disk_faults::anomalies(&options)?),
            Command::Daemons(daemons) => findings(&daemons::run(options.plan(daemons))?),
            Command::Schedule(rounds) => {
                let seed = options.seed;
                findings(&daemons::schedule::run(SchedulePlan { rounds, seed })?)
            }
        };
        if options.json {
            println!("{json}");
        } else {
            print!("{table}");
        }
        Ok(is_clean)
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

fn findings(tally: &daemons::Findings) -> (serde_json::Value, String, bool) {
    (tally.json(), tally.table(), tally.is_clean())
}

fn report(tally: &report::Tally) -> (serde_json::Value, String, bool) {
    (tally.json(), tally.table(), tally.is_clean())
}
