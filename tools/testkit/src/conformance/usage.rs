//! The usage of models and tools.

use std::sync::Arc;

use toolcrib_core::{
    CallDetails, CallStore, Context, ConversationId, Effect, RunId, ToolName, UsageBy, UsageRow,
    UsageStore, UsageTotals,
};

use super::call_fixtures::{facts, intent, settlement};

/// Sums are exact, unknown stays unknown, and the newest row of a run is found. `calls` are those
/// that the store counts.
///
/// # Panics
/// When the store does something else.
pub async fn usage(store: &dyn UsageStore, calls: &dyn CallStore) {
    the_newest_row_of_a_run_comes_back_whole(store).await;
    unknown_is_not_zero(store).await;
    sums_are_of_an_owner_and_a_time(store).await;
    no_count_is_too_large(store).await;
    calls_are_counted_by_tool_and_agent(store, calls).await;
}

fn row(owner: &str, run: RunId) -> UsageRow {
    UsageRow {
        owner: owner.into(),
        run,
        conversation: ConversationId::fresh(),
        agent: "general".into(),
        provider: "acme".into(),
        model: "small".into(),
        input: Some(100),
        output: Some(10),
        cache_read: None,
        cache_write: None,
        reasoning: None,
        cost_micros: None,
        window: None,
        at: 1_000,
    }
}

async fn the_newest_row_of_a_run_comes_back_whole(store: &dyn UsageStore) {
    let run = RunId::fresh();
    assert_eq!(store.last_usage(run).await, Ok(None));
    let full = UsageRow {
        agent: "b\u{e9}\u{0}".into(),
        provider: String::new(),
        cache_read: Some(0),
        cache_write: Some(2),
        reasoning: Some(3),
        cost_micros: Some(4),
        window: Some(200_000),
        at: -1,
        ..row("last", run)
    };
    store.add_usage(row("last", run));
    store.add_usage(full.clone());
    store.add_usage(row("last", RunId::fresh()));
    // The newest is the one that was added last, whatever the clock said.
    assert_eq!(store.last_usage(run).await, Ok(Some(full)));
}

async fn unknown_is_not_zero(store: &dyn UsageStore) {
    let run = RunId::fresh();
    let add = |row: UsageRow| store.add_usage(row);
    add(UsageRow { cost_micros: Some(5), ..row("unknown", run) });
    add(UsageRow { output: None, cache_read: Some(0), ..row("unknown", run) });
    add(UsageRow { model: "silent".into(), input: None, output: None, ..row("unknown", run) });
    let found = store.usage("unknown", UsageBy::Model, None).await.unwrap();
    let small = UsageTotals {
        name: "acme/small".into(),
        requests: 2,
        unreported: 1,
        unpriced: 1,
        input: Some(200),
        output: Some(10),
        cache_read: Some(0),
        cost_micros: Some(5),
        ..UsageTotals::default()
    };
    let silent = UsageTotals {
        name: "acme/silent".into(),
        requests: 1,
        unreported: 1,
        unpriced: 1,
        ..UsageTotals::default()
    };
    assert_eq!(found, [small, silent]);
}

async fn sums_are_of_an_owner_and_a_time(store: &dyn UsageStore) {
    let run = RunId::fresh();
    for (agent, at) in [("one", 1_000), ("two", 2_000), ("two", 3_000)] {
        store.add_usage(UsageRow { agent: agent.into(), at, ..row("window", run) });
    }
    for (since, expected) in [
        (None, [("two", 2), ("one", 1)].as_slice()),
        (Some(2_000), &[("two", 2)]),
        (Some(2_001), &[("two", 1)]),
        (Some(3_001), &[]),
    ] {
        let found = store.usage("window", UsageBy::Agent, since).await.unwrap();
        let names: Vec<_> = found.iter().map(|sum| (sum.name.as_str(), sum.requests)).collect();
        assert_eq!(names, expected, "{since:?}");
    }
    assert_eq!(store.usage("nobody", UsageBy::Model, None).await, Ok(Vec::new()));
}

async fn no_count_is_too_large(store: &dyn UsageStore) {
    let run = RunId::fresh();
    for _ in 0..3 {
        store.add_usage(UsageRow { input: Some(u64::MAX), ..row("large", run) });
    }
    let found = store.usage("large", UsageBy::Model, None).await.unwrap();
    assert!(found[0].input.is_some_and(|input| input >= i64::MAX.unsigned_abs()));
    assert_eq!(found[0].output, Some(30));
}

async fn calls_are_counted_by_tool_and_agent(store: &dyn UsageStore, calls: &dyn CallStore) {
    let epoch = calls.claim().await.unwrap();
    let call = |tool: Option<&str>, agent: &str, received_at| CallDetails {
        tool: tool.map(|name| ToolName::local(name).unwrap()),
        context: Arc::new(Context {
            owner: "calls".into(),
            agent: agent.into(),
            ..Context::default()
        }),
        received_at,
        ..facts("")
    };
    for (tool, agent, at) in [
        (Some("read_file"), "baker", 1_000),
        (Some("read_file"), "general", 2_000),
        (Some("write_file"), "general", 3_000),
        (None, "general", 3_000),
    ] {
        // 500,000 ns each.
        calls.settle(settlement(call(tool, agent, at), Some(at), epoch)).await.unwrap();
    }
    // One that has not ended is not counted, and one that did not run took no time.
    let open = call(Some("read_file"), "baker", 4_000);
    calls
        .begin(toolcrib_core::Intent { facts: open, ..intent(Effect::Destructive, epoch) })
        .await
        .unwrap();
    store.add_usage(UsageRow { agent: "baker".into(), ..row("calls", RunId::fresh()) });
    store.add_usage(UsageRow { agent: "thinker".into(), ..row("calls", RunId::fresh()) });
    store.add_usage(UsageRow { agent: "thinker".into(), ..row("calls", RunId::fresh()) });

    let tools = store.usage("calls", UsageBy::Tool, None).await.unwrap();
    let of_tool =
        |name: &str, calls, run_nanos| UsageTotals::from_calls(name.into(), calls, run_nanos);
    assert_eq!(tools, [of_tool("read_file", 2, 1_000_000), of_tool("write_file", 1, 500_000)]);
    let tools = store.usage("calls", UsageBy::Tool, Some(2_000)).await.unwrap();
    let names: Vec<_> = tools.iter().map(|sum| (sum.name.as_str(), sum.calls)).collect();
    assert_eq!(names, [("read_file", Some(1)), ("write_file", Some(1))]);

    let agents = store.usage("calls", UsageBy::Agent, None).await.unwrap();
    let said: Vec<_> = agents
        .iter()
        .map(|sum| (sum.name.as_str(), sum.requests, sum.input, sum.calls, sum.run_nanos))
        .collect();
    assert_eq!(
        said,
        [
            ("thinker", 2, Some(200), Some(0), Some(0)),
            ("baker", 1, Some(100), Some(1), Some(500_000)),
            ("general", 0, None, Some(3), Some(1_500_000)),
        ]
    );
    let quarters = store.usage("calls", UsageBy::QuarterHour, None).await.unwrap();
    let requests: u64 = quarters.iter().map(|sum| sum.requests).sum();
    let calls: u64 = quarters.iter().filter_map(|sum| sum.calls).sum();
    assert_eq!((requests, calls), (3, 4));
    let first = quarters.iter().find(|sum| sum.name == "0").unwrap();
    assert_eq!(first.calls, Some(4), "the calls began within the first seconds of 1970");
    let models = store.usage("calls", UsageBy::Model, None).await.unwrap();
    assert_eq!((models[0].requests, models[0].calls, models[0].run_nanos), (3, None, None));
}
