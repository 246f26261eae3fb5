//! Finishes the work that a crash left: continues decided calls, decides open questions, and
//! repeats every request that has an idempotency key.

use std::path::Path;

use fastrand::Rng;
use futures_util::future::join_all;
use toolcrib_app::Toolcrib;
use toolcrib_core::Invoker as _;

use super::{call_answer, workload};
use crate::error::Result;
use crate::protocol::{Orders, SentBatch, WorkerMessage, send};

/// Questions that are looked through.
const QUESTIONS: usize = 100_000;

pub(super) async fn run(toolcrib: &Toolcrib, orders: &Orders, resend: &Path) -> Result<()> {
    let mut rng = Rng::with_seed(orders.seed);
    go_on(toolcrib).await?;
    let open = toolcrib.approvals().pending().await?;
    // Some wait on, through the next crash too.
    let decided: Vec<_> = open.into_iter().filter(|_| rng.u8(..10) < 7).collect();
    join_all(decided.iter().map(|request| workload::decide(toolcrib.engine(), request))).await;
    for line in std::fs::read_to_string(resend)?.lines() {
        again(toolcrib, &serde_json::from_str(line)?).await;
    }
    Ok(())
}

/// Calls that were decided about, and whose process died before they ran.
async fn go_on(toolcrib: &Toolcrib) -> Result<()> {
    for (waiting, decision) in toolcrib.approvals().list("", QUESTIONS).await? {
        let request = waiting.request;
        if decision.is_none() {
            continue;
        }
        let stored = toolcrib.stores().calls.call(request.call).await?;
        if stored.is_some_and(|stored| stored.row.end.is_some()) {
            continue;
        }
        match toolcrib.engine().resume(request.id).await {
            Ok(Some(answer)) => send(&WorkerMessage::Answered(call_answer(&answer))),
            Ok(None) => {}
            Err(error) => send(&WorkerMessage::Refused { error: error.to_string() }),
        }
    }
    Ok(())
}

/// Asks twice for what was asked for before.
async fn again(toolcrib: &Toolcrib, sent: &SentBatch) {
    let Some(key) = &sent.key else { return };
    let mut answers = Vec::new();
    for _ in 0..2 {
        match toolcrib.engine().invoke_once(workload::batch(sent), key).await {
            Ok(given_now) => answers.push(given_now.iter().map(call_answer).collect()),
            Err(error) => return send(&WorkerMessage::Refused { error: error.to_string() }),
        }
    }
    if let (Some(second), Some(first)) = (answers.pop(), answers.pop()) {
        send(&WorkerMessage::Again { key: key.clone(), first, second });
    }
}
