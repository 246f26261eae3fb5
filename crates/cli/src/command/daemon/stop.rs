//! `toolcrib stop`: the daemon of this person ends.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::cli::StopDaemon;
use crate::config::Env;
use crate::daemon::client::{Client, URL, unreachable};
use crate::daemon::{Place, is_alive};
use crate::output::{self, Failure};
use crate::world;

/// Time between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run(command: &StopDaemon, json: bool) -> Result<u8, Failure> {
    if Env::of_process().text(URL)?.is_some() {
        return Err(Failure::usage(format!(
            "{URL} names a daemon elsewhere, which is stopped on its own machine; unset it"
        )));
    }
    world::block_on(async {
        let none = || unreachable("no daemon runs");
        let address = Place::own()?.address()?.ok_or_else(none)?;
        // What answers there is the one that the file is about: its number may be another process's by now.
        let answers = Client::find().await;
        let is_there = match &answers {
            Ok(found) => found.is_some(),
            // One of another version can be stopped too.
            Err(_) => is_alive(&address),
        };
        if !is_there {
            return Err(none());
        }
        let pid = i32::try_from(address.pid).ok().and_then(Pid::from_raw).ok_or_else(none)?;
        kill_process(pid, Signal::TERM).map_err(|error| {
            Failure::run(format!("process {} cannot be told: {error}", address.pid))
        })?;
        let begun = Instant::now();
        while is_alive(&address) {
            if begun.elapsed() >= command.timeout {
                return Err(Failure::run(format!(
                    "process {} was told to stop and works still; `kill -9 {}` ends it at once, and what it did is taken up again",
                    address.pid, address.pid
                )));
            }
            tokio::time::sleep(LOOK).await;
        }
        if json {
            output::document(&json!({"stopped": true, "pid": address.pid}), true)?;
        } else {
            output::note("toolcrib: the daemon has stopped");
        }
        Ok(0)
    })
}
