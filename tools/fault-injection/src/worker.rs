//! A worker: a whole Toolcrib on a real store, which deals with what others left and then does as
//! it is told.

mod approver;
mod resume;
mod test_tools;
mod workload;

use std::process::ExitCode;
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch::Sender;
use toolcrib_app::{EngineSettings, Settings, Stores, Toolcrib};
use toolcrib_core::{Answer, ApprovalRequest};
use toolcrib_engine::Engine;

pub(crate) use approver::{races, word};
pub(crate) use test_tools::{CHILD, GUARDED, READ_ONLY, changes_something};

use crate::effect_log::EffectWriter;
use crate::error::Result;
use crate::kill_point;
use crate::protocol::{CallAnswer, Orders, WorkerMessage, WorkerTask, send};

/// Threads that a worker runs its calls on.
const THREADS: usize = 2;

/// Does as the orders say.
pub(crate) fn main(orders: &str) -> ExitCode {
    let done = serde_json::from_str(orders).map_err(Into::into).and_then(|orders| run(&orders));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("worker: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(orders: &Orders) -> Result<()> {
    if let Some(death) = orders.die {
        kill_point::arm(death)?;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    runtime.block_on(work(orders))
}

async fn work(orders: &Orders) -> Result<()> {
    let stores = match Stores::open(Some(&orders.database)) {
        Ok(stores) => stores,
        Err(error) => {
            send(&WorkerMessage::NotOpened { error: error.to_string() });
            return Ok(());
        }
    };
    let open = Sender::new(0);
    let (toolcrib, elsewhere) = toolcrib(orders, stores, &open).await?;
    let engine = toolcrib.engine();
    engine.claim().await?;
    send(&WorkerMessage::Ready);
    tokio::spawn(workload::decide_elsewhere(engine.clone(), elsewhere, open.clone()));
    recover(engine).await?;
    match &orders.then {
        WorkerTask::Load { batches, room } => {
            workload::run(engine, orders, *batches).await;
            send(&WorkerMessage::Drained);
            workload::submit_probe(engine, false).await;
            if let Some(room) = room {
                std::fs::write(room, "")?;
                workload::submit_probe(engine, true).await;
            }
            kill_point::die();
        }
        WorkerTask::Settle { resend } => resume::run(&toolcrib, orders, resend).await?,
    }
    // Nothing runs any more when the claim is given back.
    open.subscribe().wait_for(|open| *open == 0).await?;
    engine.release().await?;
    send(&WorkerMessage::Ended);
    Ok(())
}

async fn toolcrib(
    orders: &Orders,
    stores: Stores,
    open: &Sender<usize>,
) -> Result<(Toolcrib, UnboundedReceiver<ApprovalRequest>)> {
    let state = orders.truth.with_file_name("state");
    let settings = Settings {
        roots: Vec::new(),
        // The desk stands for the person of every channel.
        engine: EngineSettings {
            approval_timeout: None,
            ask_everywhere: true,
            ..EngineSettings::default()
        },
        ..Settings::new(&state, &state)
    };
    let pen = Arc::new(EffectWriter::new(&orders.truth, orders.incarnation)?);
    let (elsewhere, asked) = unbounded_channel();
    let toolcrib = Toolcrib::builder(settings)
        .stores(stores)
        .approver(Arc::new(approver::ScriptedApprover { elsewhere, open: open.clone() }))
        .source(test_tools::source(&pen))
        .build()
        .await?;
    Ok((toolcrib, asked))
}

/// Deals with what the dead left, and finishes their batches, all at once.
async fn recover(engine: &Engine) -> Result<()> {
    let found = engine.recover().await?;
    send(&WorkerMessage::Recovered {
        unknown: found.unknown.len(),
        interrupted: found.interrupted.len(),
        batches: found.batches.len(),
    });
    let batches = found.batches.into_iter().map(|batch| async move {
        for answer in engine.finish(batch).await {
            send(&WorkerMessage::Answered(call_answer(&answer)));
        }
    });
    futures_util::future::join_all(batches).await;
    Ok(())
}

/// An answer as the caller reads it.
fn call_answer(answer: &Answer) -> CallAnswer {
    match answer {
        // The pipeline could not say yet what became of it: no outcome.
        Answer::Done(outcome) if outcome.tool.is_none() && outcome.report.stages.is_empty() => {
            CallAnswer { call: outcome.call, kind: None, text: outcome.to_wire().to_string() }
        }
        Answer::Done(outcome) => CallAnswer {
            call: outcome.call,
            kind: Some(outcome.kind),
            text: outcome.to_wire().to_string(),
        },
        Answer::Suspended(request) => {
            CallAnswer { call: request.call, kind: None, text: request.id.to_string() }
        }
    }
}
