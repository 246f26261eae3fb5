//! 16 parallel calls of 10 ms, against the same 16 sleeps joined without the pipeline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_core::{Batch, Call, Invoker as _, Origin, ToolOutput};
use toolcrib_engine::Engine;
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::results::Results;

const NAP: Duration = Duration::from_millis(10);

pub(crate) fn run(table: &mut Results) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let (pipeline, bare) = runtime.block_on(async {
        let tool = Arc::new(ScriptedTool::new("nap").does(|_, _| {
            Box::pin(async {
                tokio::time::sleep(NAP).await;
                Ok(ToolOutput::text("ok"))
            })
        }));
        let engine = Engine::builder().build();
        engine.catalog().attach(&fixed_source("bench", &[&tool])).await.expect("a source");
        let (mut pipeline, mut bare) = (Vec::new(), Vec::new());
        for round in 0..41 {
            let begun = Instant::now();
            let mut naps = tokio::task::JoinSet::new();
            (0..16).for_each(|_| drop(naps.spawn(tokio::time::sleep(NAP))));
            naps.join_all().await;
            bare.push(begun.elapsed());
            let calls =
                (0..16).map(|n| Call::new("nap", json!({"n": n, "round": round}))).collect();
            let begun = Instant::now();
            let answers = engine.invoke(Batch::new(Origin::Model, calls)).await;
            pipeline.push(begun.elapsed());
            assert_eq!(answers.len(), 16);
        }
        (pipeline, bare)
    });
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64()
    };
    table.at_most(
        "batch: 16 parallel calls of 10 ms against 16 joined sleeps",
        median(pipeline) / median(bare),
        "x",
        1.05,
    );
}
