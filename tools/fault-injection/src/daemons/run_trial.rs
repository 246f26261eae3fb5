//! One trial from its beginning to the comparison of the accounts.

use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tempfile::TempDir;
use tokio::sync::Notify;
use toolcrib_testkit::postgres_server::PostgresServer;

use super::client_log::ClientLog;
use super::cluster::Cluster;
use super::findings::Findings;
use super::trial_context::{DATABASE, Plan, TrialContext};
use super::{approvers, await_outcomes, faults, tasks, verify, workload};
use crate::error::Result;

/// Processes die here, and never the power: the disk need not be waited for.
const FAST: &[&str] = &["-c", "fsync=off"];
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
    tasks::add_all(&world).await?;
    let follower = tokio::spawn(await_outcomes::poll_until_settled(Arc::clone(&world)));
    let people = tokio::spawn(approvers::decide_all(Arc::clone(&world)));
    let havoc = tokio::spawn(faults::inject_faults(Arc::clone(&world)));
    workload::send_all(&world).await;
    havoc.await??;
    await_outcomes::wait_all_settled(&world).await;
    follower.await?;
    people.await?;
    tasks::wait_all_done(&world).await;
    world.fleet.stop_all(&world.tally).await;
    verify::verify(&world).await?;
    let world = Arc::into_inner(world).ok_or("a task of the trial goes on")?;
    world.tally.set("seconds", begun.elapsed().as_secs());
    Ok(world.tally)
}
