//! One trial: rounds of adding tasks, setting clocks and killing a daemon; then the comparison.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use toolcrib_testkit::postgres_server::PostgresServer;

use super::clocks::Clocks;
use super::due_times::{DueTimes, Execution};
use crate::daemons::cluster::Cluster;
use crate::daemons::findings::{Finding, Findings};
use crate::daemons::http_client::{HttpRequest, send};
use crate::daemons::scripted_host::REPEATED_PREFIX;
use crate::daemons::test_tools;
use crate::daemons::trial_context::DATABASE;
use crate::error::Result;

/// Daemons of the trial.
const DAEMONS: u32 = 4;
/// Processes die here, and never the power: the disk need not be waited for.
const FAST: &[&str] = &["-c", "fsync=off"];
/// Minutes of the tasks that repeat: all are due in some rounds, and the conversations stay short
/// enough for a thousand rounds.
const REPEATED: [i64; 4] = [2, 3, 5, 7];
/// Tasks with a single time that each round adds.
const SINGLES: u32 = 2;
/// How far away the time of such a task is at most, in milliseconds.
const SOON_MS: i64 = 1_200;
/// What a daemon does before it is killed, and how long it stays dead, in milliseconds.
const BEFORE_KILL: std::ops::Range<u64> = 50..900;
const DOWN_TIME: std::ops::Range<u64> = 10..200;
/// How long everything may take to settle at the end: the lease of a run (15 s), a look of the
/// daemon that takes it over (5 s), and time to do it.
const PATIENCE: Duration = Duration::from_secs(90);
/// The step of a run that only computes, which may be done again (see `scripted_host`).
const PURE_STEP: &str = "/1";

/// Executions of repeated tasks.
const HISTORY: &str = "SELECT t.body::json->>'description', h->>'due_at',
        coalesce(h->>'missed', '0'), h->>'ok', coalesce(h->>'run', ''),
        translate(left(h->>'result', 200), E'\\n|', '  ')
    FROM tasks t, json_array_elements(t.body::json->'history') h
    WHERE t.body::json->>'trigger' = 'recurrence'";
/// Repeated tasks.
const REPEATED_TASKS: &str = "SELECT body::json->>'description', body::json->>'first',
        coalesce(body::json->>'due_at', '0')
    FROM tasks WHERE body::json->>'trigger' = 'recurrence'";
/// Tasks with a single time.
const SINGLE_TASKS: &str = "SELECT body::json->>'description', body::json->>'status',
        json_array_length(body::json->'history'), coalesce(body::json->'history'->0->>'ok', '')
    FROM tasks WHERE body::json->>'trigger' = 'time'";
/// Tasks that run, or that should have.
const UNSETTLED: &str = "SELECT count(*) FROM tasks
    WHERE body::json->>'status' = 'RUNNING'
        OR body::json->>'status' = 'PENDING' AND (body::json->>'due_at')::bigint < NOW";
/// Runs that schedulers started.
const RUNS: &str = "SELECT count(*) FROM runs WHERE context::json->>'device' = 'scheduler'";

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchedulePlan {
    /// Kills, each with a change of clocks.
    pub(crate) rounds: u32,
    /// What the choices follow from, but not who is faster.
    pub(crate) seed: u64,
}

struct Trial {
    server: PostgresServer,
    fleet: Cluster,
    clocks: Clocks,
    ledger: PathBuf,
    tally: Findings,
    repeated: HashMap<String, DueTimes>,
    /// Single tasks that were acknowledged, and those whose request has an unknown result.
    singles: u32,
    unanswered: u32,
    rng: Rng,
}

/// One trial.
pub(crate) fn run(plan: SchedulePlan) -> Result<Findings> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(trial(plan))
}

async fn trial(plan: SchedulePlan) -> Result<Findings> {
    let begun = Instant::now();
    let folder = tempfile::tempdir()?;
    let server = PostgresServer::start_with(FAST);
    let ledger = folder.path().join("ledger");
    let clocks = Clocks::new(DAEMONS, folder.path())?;
    let fleet = Cluster::new(DAEMONS, folder.path(), &server.database(DATABASE), &ledger)?
        .with_variables(clocks.variables());
    let mut trial = Trial {
        server,
        fleet,
        clocks,
        ledger,
        tally: Findings::default(),
        repeated: HashMap::new(),
        singles: 0,
        unanswered: 0,
        rng: Rng::with_seed(plan.seed),
    };
    trial.fleet.start_all(&trial.tally).await?;
    for minutes in REPEATED {
        let name = format!("{REPEATED_PREFIX}{minutes}");
        if !trial.add(&name, Some(&format!("interval:{minutes}"))).await? {
            return Err("no daemon takes a task".into());
        }
    }
    for _ in 0..plan.rounds {
        trial.round().await?;
        trial.tally.count("rounds");
    }
    trial.settle().await?;
    trial.fleet.stop_all(&trial.tally).await;
    trial.verify()?;
    trial.tally.set("seconds", begun.elapsed().as_secs());
    Ok(trial.tally)
}

impl Trial {
    async fn round(&mut self) -> Result<()> {
        for _ in 0..SINGLES {
            let name = format!("task-single-{}", self.singles + self.unanswered);
            if self.add(&name, None).await? {
                self.singles += 1;
            } else {
                self.unanswered += 1;
            }
        }
        tokio::time::sleep(Duration::from_millis(self.rng.u64(BEFORE_KILL))).await;
        let changed = self.clocks.change(&mut self.rng)?;
        self.tally.count(changed);
        // Sometimes what the new time makes due has begun, sometimes not.
        tokio::time::sleep(Duration::from_millis(self.rng.u64(..60))).await;
        let node = self.rng.usize(..self.fleet.count());
        if let Some(process) = self.fleet.kill(node).await? {
            self.tally.count("kills");
            self.end_lease(process);
        }
        tokio::time::sleep(Duration::from_millis(self.rng.u64(DOWN_TIME))).await;
        self.fleet.start(node, &self.tally).await?;
        self.collect()
    }

    /// Makes a task that is due soon, by the clock of the daemon that is asked; `false` = there was
    /// no answer, as from a daemon that a busy machine does not let run.
    async fn add(&mut self, name: &str, recurrence: Option<&str>) -> Result<bool> {
        let node = self.rng.usize(..self.fleet.count());
        let daemon = self.fleet.daemon(node).ok_or("a daemon was never there")?;
        let soon = SignedDuration::from_millis(self.rng.i64(0..SOON_MS));
        let at: Timestamp = self.clocks.now(node).checked_add(soon)?;
        let mut body = json!({
            "description": name, "prompt": format!("work on {name}"), "execute_at": at.to_string(),
        });
        if let Some(recurrence) = recurrence {
            body["recurrence"] = recurrence.into();
        }
        let Ok(reply) = send(&daemon, HttpRequest::post("/tasks", &body)).await else {
            self.tally.count("requests_without_answer");
            return Ok(false);
        };
        if reply.status != 200 {
            return Err(format!("{name} was not made: {} {}", reply.status, reply.json).into());
        }
        Ok(true)
    }

    /// The lease of a process that is dead, ended by hand: it would hold for 15 s.
    fn end_lease(&self, process: u32) {
        self.sql(&format!(
            "UPDATE workers SET expires_at = now() - interval '1 hour', suspected_at = now() - interval '1 minute' WHERE who = 'process {process}' AND state = 'working'"
        ));
    }

    fn sql(&self, sql: &str) -> Vec<Vec<String>> {
        let text = tokio::task::block_in_place(|| self.server.sql(DATABASE, sql));
        text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
    }

    /// Notes what the histories of repeated tasks have now.
    fn collect(&mut self) -> Result<()> {
        for row in self.sql(HISTORY) {
            let [name, due_at, missed, ok, run, result] = row.as_slice() else {
                return Err(format!("not a row of a history: {row:?}").into());
            };
            let is_ok = ok == "true";
            let execution = Execution {
                missed: missed.parse()?,
                is_ok,
                run: run.clone(),
                result: result.clone(),
            };
            let times = self.repeated.entry(name.clone()).or_default();
            times.note(name, due_at.parse()?, execution, &self.tally);
        }
        Ok(())
    }

    /// Waits until nothing runs and nothing is due.
    async fn settle(&mut self) -> Result<()> {
        self.clocks.end_claims()?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let now = self.clocks.now(0).as_millisecond();
            let open = self.sql(&UNSETTLED.replace("NOW", &now.to_string()));
            if open.first().is_some_and(|row| *row == ["0"]) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
            self.collect()?;
        }
        self.tally.longest("settled_after_ms", begun.elapsed());
        self.collect()
    }

    fn verify(&self) -> Result<()> {
        let singles = self.sql(SINGLE_TASKS);
        let (least, most) = (self.singles as usize, (self.singles + self.unanswered) as usize);
        if !(least..=most).contains(&singles.len()) {
            let words = format!("{} of {least} to {most} single tasks are there", singles.len());
            self.tally.add_finding(Finding::Lost, &words);
        }
        for row in &singles {
            self.tally.count("single_tasks");
            match row.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                [_, "COMPLETED", "1", "true"] => {}
                [_, "COMPLETED", ..] => {
                    self.tally.add_finding(Finding::Contradiction, &format!("{row:?}"));
                }
                _ => self.tally.add_finding(Finding::Stuck, &format!("{row:?}")),
            }
        }
        let repeated = self.sql(REPEATED_TASKS);
        if repeated.len() != REPEATED.len() {
            self.tally.add_finding(Finding::Lost, "a repeated task is gone");
        }
        let none = DueTimes::default();
        let mut executions = singles.len();
        for row in &repeated {
            let [name, first, due_at] = row.as_slice() else {
                return Err(format!("not a row of a task: {row:?}").into());
            };
            let minutes = name.strip_prefix(REPEATED_PREFIX).unwrap_or_default().parse::<i64>()?;
            let times = self.repeated.get(name).unwrap_or(&none);
            let span = (first.parse()?, minutes * 60_000, due_at.parse()?);
            times.verify(name, span, &self.tally);
            executions += times.len();
        }
        let runs: Option<usize> = self.sql(RUNS).first().and_then(|row| row.first()?.parse().ok());
        if runs != Some(executions) {
            let words = format!("{executions} due times became {runs:?} runs");
            self.tally.add_finding(Finding::Doubled, &words);
        }
        self.verify_effects()
    }

    /// No tool that changes something ran twice for one call, or for one time of a task.
    fn verify_effects(&self) -> Result<()> {
        let mut by_note: BTreeMap<String, usize> = BTreeMap::new();
        for (call, executions) in test_tools::read(&self.ledger)? {
            let Some(note) = executions.first().map(|one| one.note.clone()) else { continue };
            if note.ends_with(PURE_STEP) {
                continue;
            }
            self.tally.count("effects");
            if executions.len() > 1 {
                let words = format!("{call} of {note} ran {} times", executions.len());
                self.tally.add_finding(Finding::Doubled, &words);
            }
            *by_note.entry(note).or_default() += 1;
        }
        let of_singles = by_note.iter().filter(|(note, _)| note.contains("task-single-"));
        for (note, count) in of_singles.filter(|(_, count)| **count > 1) {
            self.tally.add_finding(Finding::Doubled, &format!("{note} was done {count} times"));
        }
        Ok(())
    }
}
