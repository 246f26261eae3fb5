//! Calls under an idempotency key: repeated by any sender, they run once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolcrib_app::{ExecError, ExecRequest, Stores, SubmitError, Toolcrib};
use toolcrib_core::{
    Context, Effect, ErrorType, Origin, OutcomeKind, RawArgs, RunLimits, ToolOutput, ViewRequest,
};
use toolcrib_testkit::ScriptedTool;

use crate::fixture::{Fixture, FixtureBuilder, answer_json};

/// Number of pairs of the same call that race.
const PAIRS: usize = 1_000;
/// Number of pairs that race at the same time.
const AT_ONCE: usize = 50;

/// Returns a tool that changes something, so that a second run would be detected.
fn counter() -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new("count").spec(|spec| spec.effect = Effect::SideEffect))
}

async fn world(stores: &Stores, tool: &Arc<ScriptedTool>) -> Fixture {
    let stores = stores.clone();
    // Without a workspace: two fixtures have different workspaces, and the key would then identify
    // different requests.
    let start = FixtureBuilder::new().tool(tool).settings(|settings| settings.roots.clear());
    start.with(move |builder| builder.stores(stores)).open().await
}

/// Returns the result for the caller, as text.
async fn once(toolcrib: &Toolcrib, args: Value, key: &str) -> Result<String, SubmitError> {
    let answer = toolcrib.call_with_key("count", RawArgs::Value(args), Origin::Cli, key).await?;
    Ok(answer_json(&answer.unwrap()).to_string())
}

async fn race(stores: Stores) {
    let tool = counter();
    let toolcrib = world(&stores, &tool).await.toolcrib;
    for chunk in 0..PAIRS / AT_ONCE {
        let pairs = (chunk * AT_ONCE..(chunk + 1) * AT_ONCE).map(|n| {
            let send = || {
                let toolcrib = toolcrib.clone();
                tokio::spawn(
                    async move { once(&toolcrib, json!({"n": n}), &format!("key {n}")).await },
                )
            };
            (send(), send())
        });
        for (one, other) in pairs.collect::<Vec<_>>() {
            let (one, other) = (one.await.unwrap().unwrap(), other.await.unwrap().unwrap());
            assert_eq!(one, other, "both get the same answer, byte for byte");
            assert!(one.contains("\"outcome\":\"succeeded\""), "{one}");
        }
    }
    assert_eq!(tool.runs(), PAIRS, "each ran once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_pairs_race_in_memory() {
    race(Stores::memory()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_pairs_race_in_a_database() {
    let dir = tempfile::tempdir().unwrap();
    race(Stores::open(Some(&dir.path().join("toolcrib.db"))).unwrap()).await;
}

#[tokio::test]
async fn a_key_is_for_one_thing() {
    let (stores, tool) = (Stores::memory(), counter());
    let world = world(&stores, &tool).await;
    let first = once(&world.toolcrib, json!({"a": 1, "b": 2}), "k").await.unwrap();
    // The order of members, and text instead of a value, make no difference.
    let text = RawArgs::Text("{ \"b\": 2, \"a\": 1 }".to_owned());
    let again =
        world.toolcrib.call_with_key("count", text, Origin::Cli, "k").await.unwrap().unwrap();
    assert_eq!(answer_json(&again).to_string(), first);
    let other = once(&world.toolcrib, json!({"a": 2}), "k").await.unwrap_err();
    assert_eq!(other, SubmitError::KeyReused("k".to_owned()));
    assert!(other.to_string().contains("used before for other calls"), "{other}");
    for key in ["", "  ", &"x".repeat(201)] {
        assert_eq!(once(&world.toolcrib, json!({}), key).await, Err(SubmitError::BadKey));
    }
    assert_eq!(tool.runs(), 1);
    once(&world.toolcrib, json!({}), &"ä".repeat(200)).await.unwrap();
    assert_eq!(tool.runs(), 2);
}

/// Returns a tool that reports its start and ends when it is released.
fn gated(effect: Effect, gate: &Arc<Semaphore>, running: &Arc<Semaphore>) -> Arc<ScriptedTool> {
    let (gate, running) = (Arc::clone(gate), Arc::clone(running));
    let tool = ScriptedTool::new("count").spec(|spec| spec.effect = effect);
    Arc::new(tool.does(move |_, _| {
        let (gate, running) = (Arc::clone(&gate), Arc::clone(&running));
        Box::pin(async move {
            running.add_permits(1);
            gate.acquire().await.unwrap().forget();
            Ok(ToolOutput::text("done"))
        })
    }))
}

#[tokio::test(start_paused = true)]
async fn the_same_call_waits_while_another_process_runs_it() {
    let stores = Stores::memory();
    let (gate, running) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let tool = gated(Effect::SideEffect, &gate, &running);
    let (one, other) = (world(&stores, &tool).await, world(&stores, &tool).await);
    let first = one.toolcrib.clone();
    let first = tokio::spawn(async move { once(&first, json!({}), "k").await.unwrap() });
    running.acquire().await.unwrap().forget();
    let second = other.toolcrib.clone();
    let second = tokio::spawn(async move { once(&second, json!({}), "k").await.unwrap() });
    // The clock of the test continues while both wait, so the second one has polled many times by
    // then.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!second.is_finished());
    gate.add_permits(1);
    assert_eq!(first.await.unwrap(), second.await.unwrap());
    assert_eq!(tool.runs(), 1);
}

/// A process dies during a call; the next process that sends the same call takes over.
async fn after_a_crash(effect: Effect) -> (Value, usize) {
    let stores = Stores::memory();
    let (gate, running) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let tool = gated(effect, &gate, &running);
    let (one, other) = (world(&stores, &tool).await, world(&stores, &tool).await);
    let epoch = one.engine().claim().await.unwrap();
    let first = one.toolcrib.clone();
    let dead = tokio::spawn(async move { once(&first, json!({}), "k").await });
    running.acquire().await.unwrap().forget();
    // Release the claim, as the end of the process would.
    stores.calls.release(epoch).await.unwrap();
    gate.add_permits(if effect.is_repeatable() { 2 } else { 0 });
    let text = once(&other.toolcrib, json!({}), "k").await.unwrap();
    let again = once(&other.toolcrib, json!({}), "k").await.unwrap();
    assert_eq!(text, again);
    dead.abort();
    (serde_json::from_str(&text).unwrap(), tool.runs())
}

#[tokio::test]
async fn after_a_crash_a_side_effect_is_unknown_and_not_run_again() {
    let (outcome, runs) = after_a_crash(Effect::SideEffect).await;
    assert_eq!(outcome["outcome"], json!(OutcomeKind::Unknown));
    assert_eq!(runs, 1);
}

#[tokio::test]
async fn after_a_crash_what_changes_nothing_runs_again() {
    let (outcome, runs) = after_a_crash(Effect::Read).await;
    assert_eq!(outcome["outcome"], json!(OutcomeKind::Succeeded));
    assert_eq!(runs, 2);
}

fn anthropic(calls: &[i64], stop: &str) -> String {
    let call = |n: &i64| json!({"type": "tool_use", "id": format!("id_{n}"), "name": "count", "input": {"n": n}});
    let content: Vec<Value> = calls.iter().map(call).collect();
    json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": stop, "content": content})
        .to_string()
}

async fn exec(world: &Fixture, body: &str, key: &str, most: u64) -> Result<Value, ExecError> {
    let request = ExecRequest {
        body: body.as_bytes(),
        format: None,
        origin: Origin::Cli,
        context: Arc::new(Context::default()),
        view: ViewRequest::default(),
        limits: RunLimits { calls: Some(most), ..RunLimits::default() },
        key: Some(key.to_owned()),
    };
    world.toolcrib.exec(request).await.map(|reply| json!(reply.messages))
}

#[tokio::test]
async fn a_response_under_a_key() {
    let (stores, tool) = (Stores::memory(), counter());
    let world = world(&stores, &tool).await;
    // The response was cut off in its only call, so no call can run; the complete response may be
    // sent under the same key.
    let cut = exec(&world, &anthropic(&[1], "max_tokens"), "k", 500).await.unwrap();
    assert_eq!(tool.runs(), 0, "{cut}");
    let body = anthropic(&[1, 2], "tool_use");
    let first = exec(&world, &body, "k", 500).await.unwrap();
    assert_eq!(first, exec(&world, &body, "k", 500).await.unwrap());
    assert_eq!(tool.runs(), 2);
    // Another process starts after this one has ended.
    world.engine().release().await.unwrap();
    let later = self::world(&stores, &tool).await;
    assert_eq!(first, exec(&later, &body, "k", 500).await.unwrap());
    assert_eq!(tool.runs(), 2);
    let other = exec(&later, &anthropic(&[1, 3], "tool_use"), "k", 500).await.unwrap_err();
    assert!(matches!(other, ExecError::Key(SubmitError::KeyReused(_))), "{other}");
    let many = exec(&later, &anthropic(&[1, 2, 3], "tool_use"), "m", 2).await.unwrap_err();
    let ExecError::Run(error) = many else { panic!("{many}") };
    assert_eq!(error.error_type, ErrorType::BudgetExceeded);
    assert_eq!(tool.runs(), 2);
    // A response without calls does not use up its key.
    exec(&later, &anthropic(&[], "end_turn"), "n", 500).await.unwrap();
    exec(&later, &body, "n", 500).await.unwrap();
    assert_eq!(tool.runs(), 4);
}
