//! Many concurrent calls, and results of any size: no result is lost, no call runs twice, memory
//! stays bounded.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_core::{
    Batch, Call, CallFilter, CallHistory as _, CallStore as _, Invoker as _, Origin, Outcome,
    ToolOutput,
};
use toolcrib_engine::Engine;
use toolcrib_engine::store::MemoryCalls;
use toolcrib_testkit::ScriptedTool;

use crate::support::{call, engine, with};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_calls_at_once_are_neither_lost_nor_run_twice() {
    for store in [MemoryCalls::light(), MemoryCalls::default()] {
        let store = Arc::new(store);
        let tool = Arc::new(ScriptedTool::new("work").does(|_, args| {
            let slow = args["n"].as_u64().unwrap() % 5 == 0;
            Box::pin(async move {
                if slow {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Ok(ToolOutput::text("ok"))
            })
        }));
        let engine = engine(Engine::builder().calls(Arc::clone(&store) as _), &[&tool]).await;
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..5000 {
            let engine = engine.clone();
            let call = Call::new("work", json!({"n": n}));
            tasks.spawn(async move { engine.invoke(Batch::new(Origin::Model, vec![call])).await });
        }
        let answers = tasks.join_all().await;
        assert!(answers.iter().all(|a| a.len() == 1 && a[0].outcome().is_some()));
        assert_eq!(tool.runs(), 5000);
        let filter = CallFilter { limit: usize::MAX, ..CallFilter::default() };
        let rows = store.calls(filter).await.unwrap();
        assert_eq!(rows.len(), 5000);
        assert!(rows.iter().all(|row| row.end.is_some()));
        assert!(store.open_calls().await.unwrap().is_empty());
        for answer in answers.iter().filter(|_| store.keeps_details()) {
            let outcome = answer[0].outcome().unwrap();
            let stored = store.call(outcome.call).await.unwrap().unwrap();
            assert_eq!(stored.outcome.as_ref().map(Outcome::to_wire), Some(outcome.to_wire()));
        }
    }
}

/// The 10 GB figure is measured by the bench command; here a smaller stream shows that the size
/// does not matter.
#[tokio::test]
async fn a_stream_is_kept_at_both_ends_and_counted() {
    let (engine, _) = with(ScriptedTool::new("pour").does(|ctx, _| {
        let mut stream = ctx.stream("text/plain");
        Box::pin(async move {
            stream.write(b"first\n");
            for _ in 0..1000 {
                stream.write(&[b'.'; 1000]);
            }
            stream.write(b"\nlast");
            Ok(ToolOutput::from_blocks(vec![stream.finish()]))
        })
    }))
    .await;
    let outcome = call(&engine, "pour", json!({})).await;
    let shown = crate::support::text(&outcome);
    assert!(shown.chars().count() <= 20_000);
    assert!(shown.contains("first\n") && shown.contains("\nlast"), "{}", &shown[..200]);
    assert!(shown.contains("1000011 bytes in all"), "{}", &shown[shown.len() - 200..]);
    let artifact = outcome.result.unwrap().artifact.unwrap();
    assert_eq!(engine.artifacts().meta(&artifact, "").unwrap().unwrap().bytes, 1_000_011);
}
