//! A 10 GB result stream: how much the process grows.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{Batch, Call, Invoker as _, Origin, ToolOutput};
use toolcrib_engine::Engine;
use toolcrib_store::{ArtifactLimits, Artifacts, SqliteStore};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::results::Results;

const TOTAL: u64 = 10_000_000_000;

pub(crate) fn run(table: &mut Results) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let before = resident_mb("VmRSS:");
    let outcome = runtime.block_on(async {
        let tool = Arc::new(
            ScriptedTool::new("pour")
                .spec(|s| s.timeout = std::time::Duration::from_secs(600))
                .does(|ctx, _| {
                    let mut stream = ctx.stream("text/plain");
                    Box::pin(async move {
                        let chunk = vec![b'x'; 1 << 20];
                        let mut left = TOTAL;
                        while left > 0 {
                            let take = left.min(chunk.len() as u64);
                            stream.write(&chunk[..take as usize]);
                            left -= take;
                        }
                        Ok(ToolOutput::from_blocks(vec![stream.finish()]))
                    })
                }),
        );
        let store = SqliteStore::open(&folder.path().join("bench.db")).expect("a store");
        let files = folder.path().join("artifacts");
        let artifacts = Arc::new(Artifacts::new(store, files, ArtifactLimits::default()));
        let engine = Engine::builder().artifacts(artifacts).build();
        engine.catalog().attach(&fixed_source("bench", &[&tool])).await.expect("a source");
        engine.invoke(Batch::new(Origin::Model, vec![Call::new("pour", json!({}))])).await
    });
    let result = outcome[0].outcome().and_then(|o| o.result.as_ref().ok()).expect("a result");
    assert!(result.result.to_string().contains("10000000000"), "exact count");
    table.at_most(
        "stream: growth of the peak memory by a 10 GB result",
        resident_mb("VmHWM:") - before,
        "MB",
        64.0,
    );
}

pub(crate) fn resident_mb(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok())
        .unwrap_or(f64::NAN)
        / 1024.0
}
