//! The load: several clients at once, each sending batches in all the ways there are.

use std::time::{Duration, Instant};

use fastrand::Rng;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch::Sender;
use toolcrib_core::{
    ApprovalRequest, Batch, Call, DecisionRecord, Invoker as _, Origin, OutcomeKind,
};
use toolcrib_engine::Engine;

use super::approver::{self, DECISION_PATHS, DECISIONS};
use super::call_answer;
use super::test_tools::{CHILD, EFFECT, GUARDED, READ_ONLY};
use crate::protocol::{CallAnswer, Orders, SentBatch, SentCall, WorkerMessage, send};

/// Clients at once.
const CLIENTS: u32 = 8;
/// Most calls of a batch.
const CALLS: usize = 3;
/// Longest wait of a tool before or after its effect, in microseconds.
const WAIT: u64 = 2_000;

/// How soon a store that was full takes calls again once there is room (reliability 3, D1).
const RECOVERY: Duration = Duration::from_secs(5);
/// Time that a load takes at most.
const LONGEST: Duration = Duration::from_secs(5);

/// How a batch is sent.
#[derive(Clone, Copy)]
enum SubmitPath {
    /// Without waiting for the answers.
    Submit,
    /// Without a key.
    Invoke,
    /// Under a key.
    Once,
    /// The same key from two clients at once.
    Twice,
}

/// Sends that many batches, several at once.
pub(super) async fn run(engine: &Engine, orders: &Orders, batches: u32) {
    let clients = (0..CLIENTS).map(|client| {
        let mut rng = Rng::with_seed(orders.seed ^ (u64::from(client) << 32));
        let name = format!("{}-{client}", orders.incarnation);
        let engine = engine.clone();
        tokio::spawn(async move {
            for batch in 0..batches.div_ceil(CLIENTS) {
                one(&engine, &mut rng, &format!("{name}-{batch}")).await;
            }
        })
    });
    // Where a decision cannot be stored, its call waits on.
    let _ = tokio::time::timeout(LONGEST, join_all(clients)).await;
}

async fn one(engine: &Engine, rng: &mut Rng, name: &str) {
    let (submit_path, has_key) = match rng.u8(..10) {
        0 | 1 => (SubmitPath::Submit, false),
        2 | 3 => (SubmitPath::Submit, true),
        4..=6 => (SubmitPath::Invoke, false),
        7 | 8 => (SubmitPath::Once, true),
        _ => (SubmitPath::Twice, true),
    };
    let calls =
        (0..rng.usize(1..=CALLS)).map(|place| call(rng, &format!("{name}-{place}"))).collect();
    let sent = SentBatch { key: has_key.then(|| format!("key {name}")), calls };
    send(&WorkerMessage::Sending(sent.clone()));
    match (submit_path, &sent.key) {
        (SubmitPath::Submit, key) => submit(engine, &sent, key.as_deref()).await,
        (SubmitPath::Once, Some(key)) => once(engine, &sent, key).await,
        (SubmitPath::Twice, Some(key)) => {
            let again =
                SentBatch { calls: sent.calls.iter().map(renewed).collect(), ..sent.clone() };
            tokio::join!(once(engine, &sent, key), once(engine, &again, key));
        }
        _ => {
            for answer in engine.invoke(batch(&sent)).await {
                send(&WorkerMessage::Answered(call_answer(&answer)));
            }
        }
    }
}

/// The same call, sent again by a client that did not get the answer.
fn renewed(call: &SentCall) -> SentCall {
    SentCall { id: toolcrib_core::CallId::fresh(), ..call.clone() }
}

fn call(rng: &mut Rng, note: &str) -> SentCall {
    let tool = match rng.u8(..10) {
        0..=3 => EFFECT,
        4 => CHILD,
        5..=7 => READ_ONLY,
        _ => GUARDED,
    };
    let mut args = json!({"note": note, "before": rng.u64(..WAIT), "after": rng.u64(..WAIT)});
    if tool == GUARDED {
        args["asks"] = json!(rng.choice(DECISION_PATHS));
        args["decision"] = json!(rng.choice(DECISIONS));
        args["races"] = json!(rng.u8(..3) == 0);
    }
    SentCall { id: toolcrib_core::CallId::fresh(), tool: tool.to_owned(), args }
}

/// The batch as the pipeline takes it.
pub(super) fn batch(sent: &SentBatch) -> Batch {
    let call = |call: &SentCall| Call {
        id: call.id,
        name: call.tool.clone(),
        args: Value::clone(&call.args).into(),
    };
    Batch::new(Origin::Rest, sent.calls.iter().map(call).collect())
}

async fn submit(engine: &Engine, sent: &SentBatch, key: Option<&str>) {
    match engine.submit(batch(sent), key).await {
        Ok(submitted) => send(&WorkerMessage::Accepted { calls: submitted.calls }),
        Err(error) => send(&WorkerMessage::Refused { error: error.to_string() }),
    }
}

async fn once(engine: &Engine, sent: &SentBatch, key: &str) {
    match engine.invoke_once(batch(sent), key).await {
        Ok(answers) => {
            answers.iter().for_each(|answer| send(&WorkerMessage::Answered(call_answer(answer))));
        }
        Err(error) => send(&WorkerMessage::Refused { error: error.to_string() }),
    }
}

/// The person who decides elsewhere, through the pipeline.
pub(super) async fn decide_elsewhere(
    engine: Engine,
    mut asked: UnboundedReceiver<ApprovalRequest>,
    open: Sender<usize>,
) {
    while let Some(request) = asked.recv().await {
        let (engine, open) = (engine.clone(), open.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            decide(&engine, &request).await;
            open.send_modify(|open| *open -= 1);
        });
    }
}

/// Decides as the arguments say, and goes on with the call. A second person may decide the contrary
/// at the same moment.
pub(super) async fn decide(engine: &Engine, request: &ApprovalRequest) {
    let asked = (approver::word(&request.args, "decision"), approver::record(&request.args));
    if !approver::races(&request.args) {
        decide_so(engine, request, asked).await;
        return;
    }
    let contrary = approver::contrary(&request.args);
    let taken =
        tokio::join!(decide_so(engine, request, asked), decide_so(engine, request, contrary));
    let taken = u32::from(taken.0) + u32::from(taken.1);
    send(&WorkerMessage::Raced { approval: request.id, taken });
}

/// Takes this decision; whether it counts.
async fn decide_so(
    engine: &Engine,
    request: &ApprovalRequest,
    (word, record): (&str, DecisionRecord),
) -> bool {
    match engine.decide(request.id, record).await {
        Ok(answer) => {
            let (approval, call, word) = (request.id, request.call, word.to_owned());
            send(&WorkerMessage::Decided { approval, call, word });
            if let Some(answer) = answer {
                send(&WorkerMessage::Answered(call_answer(&answer)));
            }
            true
        }
        Err(error) => {
            send(&WorkerMessage::Refused { error: error.to_string() });
            false
        }
    }
}

/// One more call that changes something: after a fault of the disk it must be refused, and run when
/// there is room again.
pub(super) async fn submit_probe(engine: &Engine, has_room: bool) {
    let start = Instant::now();
    loop {
        let given = one_more(engine).await;
        let (kind, text) = (given.kind, given.text.clone());
        send(&WorkerMessage::Answered(given));
        let ran = kind == Some(OutcomeKind::Succeeded);
        if ran || !has_room || start.elapsed() > RECOVERY {
            return send(&WorkerMessage::Probe { kind, text, has_room });
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn one_more(engine: &Engine) -> CallAnswer {
    let args = json!({"note": "probe", "before": 0, "after": 0});
    let id = toolcrib_core::CallId::fresh();
    let sent = SentBatch { key: None, calls: vec![SentCall { id, tool: EFFECT.to_owned(), args }] };
    send(&WorkerMessage::Sending(sent.clone()));
    let answer = engine.invoke(batch(&sent)).await.pop();
    answer
        .as_ref()
        .map_or_else(|| CallAnswer { call: id, kind: None, text: String::new() }, call_answer)
}
