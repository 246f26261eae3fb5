//! Several daemons on one database (reliability 3, L2, A2, A3, A5, R1): real processes on a real
//! Postgres that are killed, stopped, paused beyond their leases and started again, while clients
//! send calls and runs to any of them and people decide through any of them. At the end four
//! accounts are compared: the database's, the tools' own, what callers were told, and what those
//! who decided were told.

mod approvers;
mod await_outcomes;
mod client_log;
mod cluster;
mod daemon_process;
mod faults;
mod findings;
mod http_client;
mod scripted_host;
mod test_tools;
mod verify;
mod workload;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::Notify;
use toolcrib_testkit::postgres_server::PostgresServer;

use crate::error::Result;
use client_log::ClientLog;
use cluster::Cluster;

pub(crate) use daemon_process::main as node;
pub(crate) use findings::Findings;

/// Name of the database.
const DATABASE: &str = "crash";
/// Processes die here, and never the power: the disk need not be waited for.
const FAST: &[&str] = &["-c", "fsync=off"];
/// How long a claim holds that is not renewed (`crates/store`, Postgres).
const LEASE: Duration = Duration::from_secs(15);
/// Between two looks of a daemon at what others left.
const RECOVER: Duration = Duration::from_secs(5);

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Daemons.
    pub(crate) daemons: u32,
    /// Calls that are sent; there is one run for fifty of them, at least four.
    pub(crate) calls: u32,
    /// Whether leases of those that were killed or paused are ended by hand, which saves the time
    /// that they take to run out.
    pub(crate) hurry: bool,
    /// What the choices follow from, but not who is faster.
    pub(crate) seed: u64,
}

impl Plan {
    fn runs(&self) -> u32 {
        (self.calls / 50).max(4)
    }

    /// Time between two calls: in a hurry they last as long as everything that happens meanwhile.
    fn pace(&self) -> Duration {
        if self.hurry {
            Duration::from_secs(12) / self.calls.max(1)
        } else {
            Duration::from_millis(5)
        }
    }

    /// How long a daemon is paused: others have dealt with what it left by then.
    fn pause(&self) -> Duration {
        let looked = RECOVER + Duration::from_secs(2);
        if self.hurry { looked } else { LEASE + looked }
    }

    /// How long anything may take once nothing is killed any more: a lease, a look of whoever takes
    /// over, and time to do it.
    fn patience(&self) -> Duration {
        let lease = if self.hurry { Duration::ZERO } else { LEASE };
        lease + RECOVER + Duration::from_secs(25)
    }
}

/// Everything that the tasks of one trial share.
struct TrialContext {
    plan: Plan,
    server: PostgresServer,
    fleet: Cluster,
    ledger: PathBuf,
    known: ClientLog,
    tally: Findings,
    /// Calls that were sent.
    sent: AtomicU32,
    /// When the kill switch was acknowledged and when it was let go, in microseconds since 1970.
    pulls: Mutex<Vec<(u128, u128)>>,
    /// The pause is over, so that the kill switch can be pulled.
    unpaused: AtomicBool,
    /// Told when something of the above has changed.
    moved: Notify,
    /// Nothing is to be killed any more.
    calm: AtomicBool,
    /// Everything is settled.
    over: AtomicBool,
}

impl TrialContext {
    fn record_kill_switch(&self, from: u128, until: u128) {
        self.pulls.lock().unwrap_or_else(PoisonError::into_inner).push((from, until));
    }

    fn kill_switch_spans(&self) -> Vec<(u128, u128)> {
        self.pulls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One trial.
pub(crate) fn run(plan: Plan) -> Result<Findings> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(trial(plan))
}

async fn trial(plan: Plan) -> Result<Findings> {
    let begun = Instant::now();
    let folder: TempDir = tempfile::tempdir()?;
    let server = PostgresServer::start_with(FAST);
    let url = server.database(DATABASE);
    let ledger = folder.path().join("ledger");
    let fleet = Cluster::new(plan.daemons, folder.path(), &url, &ledger)?;
    let world = Arc::new(TrialContext {
        plan,
        server,
        fleet,
        ledger,
        known: ClientLog::new(plan.calls, plan.runs()),
        tally: Findings::default(),
        sent: AtomicU32::new(0),
        pulls: Mutex::default(),
        unpaused: AtomicBool::new(false),
        moved: Notify::new(),
        calm: AtomicBool::new(false),
        over: AtomicBool::new(false),
    });
    world.fleet.start_all(&world.tally).await?;
    let follower = tokio::spawn(await_outcomes::poll_until_settled(Arc::clone(&world)));
    let people = tokio::spawn(approvers::decide_all(Arc::clone(&world)));
    let havoc = tokio::spawn(faults::inject_faults(Arc::clone(&world)));
    workload::send_all(&world).await;
    havoc.await??;
    await_outcomes::wait_all_settled(&world).await;
    follower.await?;
    people.await?;
    world.fleet.stop_all(&world.tally).await;
    verify::verify(&world).await?;
    let world = Arc::into_inner(world).ok_or("a task of the trial goes on")?;
    world.tally.set("seconds", begun.elapsed().as_secs());
    Ok(world.tally)
}
