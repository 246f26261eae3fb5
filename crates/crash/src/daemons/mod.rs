//! Several daemons on one database (reliability 3, L2, A2, A3, A5, R1): real processes on a real Postgres that are killed, stopped, paused
//! beyond their leases and started again, while clients send calls and runs to any of them and people decide through any of them. At the end
//! four accounts are compared: the database's, the tools' own, what callers were told, and what those who decided were told.

mod desk;
mod fleet;
mod havoc;
mod host;
mod http;
mod judge;
mod known;
mod load;
mod node;
mod settle;
mod tally;
mod tools;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::Notify;
use toolcrib_testkit::postgres::Server;

use crate::Result;
use fleet::Fleet;
use known::Known;

pub(crate) use node::main as node;
pub(crate) use tally::Tally;

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
    /// Whether leases of those that were killed or paused are ended by hand, which saves the time that they take to run out.
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

    /// How long anything may take once nothing is killed any more: a lease, a look of whoever takes over, and time to do it.
    fn patience(&self) -> Duration {
        let lease = if self.hurry { Duration::ZERO } else { LEASE };
        lease + RECOVER + Duration::from_secs(25)
    }
}

/// Everything that the tasks of one trial share.
struct World {
    plan: Plan,
    server: Server,
    fleet: Fleet,
    ledger: PathBuf,
    known: Known,
    tally: Tally,
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

impl World {
    fn pulled(&self, from: u128, until: u128) {
        self.pulls.lock().unwrap_or_else(PoisonError::into_inner).push((from, until));
    }

    fn pulls(&self) -> Vec<(u128, u128)> {
        self.pulls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One trial.
pub(crate) fn run(plan: Plan) -> Result<Tally> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(trial(plan))
}

async fn trial(plan: Plan) -> Result<Tally> {
    let begun = Instant::now();
    let folder: TempDir = tempfile::tempdir()?;
    let server = Server::start_with(FAST);
    let url = server.database(DATABASE);
    let ledger = folder.path().join("ledger");
    let fleet = Fleet::new(plan.daemons, folder.path(), &url, &ledger)?;
    let world = Arc::new(World {
        plan,
        server,
        fleet,
        ledger,
        known: Known::new(plan.calls, plan.runs()),
        tally: Tally::default(),
        sent: AtomicU32::new(0),
        pulls: Mutex::default(),
        unpaused: AtomicBool::new(false),
        moved: Notify::new(),
        calm: AtomicBool::new(false),
        over: AtomicBool::new(false),
    });
    world.fleet.start_all(&world.tally).await?;
    let follower = tokio::spawn(settle::follow(Arc::clone(&world)));
    let people = tokio::spawn(desk::decide_all(Arc::clone(&world)));
    let havoc = tokio::spawn(havoc::wreak(Arc::clone(&world)));
    load::send_all(&world).await;
    havoc.await??;
    settle::all(&world).await;
    follower.await?;
    people.await?;
    world.fleet.stop_all(&world.tally).await;
    judge::judge(&world).await?;
    let world = Arc::into_inner(world).ok_or("a task of the trial goes on")?;
    world.tally.set("seconds", begun.elapsed().as_secs());
    Ok(world.tally)
}
