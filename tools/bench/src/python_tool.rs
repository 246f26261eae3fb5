//! Cost of a model's code through the whole pipeline: at the level `expression` with a waiting
//! worker and with one that has to start, in a kernel that exists and in one that does not; and the
//! time until hostile code is gone after its limit.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;
use toolcrib_app::{Preset, PythonSettings, Settings, ToolSettings, Toolcrib};
use toolcrib_core::{Origin, RawArgs};

use crate::results::Results;

/// Calls of each kind; the median counts.
const CALLS: usize = 51;

/// Long enough for the next worker to be there.
const PAUSE: Duration = Duration::from_millis(60);

/// Code that does not end by itself: between steps of the interpreter, within one of them, with
/// memory, with output.
const HOSTILE: [&str; 5] = [
    "while True: pass",
    "x = 7\nwhile True: x = x * x",
    "int('1' * 10 ** 8, 2)",
    "sum(x for x in range(10 ** 12))",
    "while True: print('x' * 1000)",
];

pub(crate) fn run(table: &mut Results) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let new = || runtime.block_on(toolcrib(folder.path()));
    let cold = (0..11).map(|_| ms(&runtime, &new(), &json!({"code": "1", "level": "expression"})));
    table.figure("python: first expression, its helper and worker started", median(cold), "ms");
    let tools = new();
    let expression = json!({"code": "1", "level": "expression"});
    let warm = (0..CALLS).map(|_| {
        std::thread::sleep(PAUSE);
        ms(&runtime, &tools, &expression)
    });
    table.at_most("python: an expression, its worker waits", median(warm), "ms", 1.0);
    let late = HOSTILE.iter().map(|code| {
        let args = json!({"code": code, "level": "expression", "timeout": 1});
        ms(&runtime, &tools, &args) - 1000.0
    });
    let latest = late.fold(0.0, f64::max);
    table.at_most("python: hostile expressions, beyond their limit", latest, "ms", 100.0);
    let full = json!({"code": "1", "level": "full"});
    let kernel = (0..11).map(|_| ms(&runtime, &tools, &full));
    table.figure("python: a call of its own kernel", median(kernel), "ms");
}

async fn toolcrib(folder: &std::path::Path) -> Toolcrib {
    let mut settings = Settings::new(folder, folder.join("state"));
    settings.engine.preset = Preset::Auto;
    let on = ToolSettings { enabled: Some(true), ..ToolSettings::default() };
    settings.engine.tools.insert("code_exec".to_owned(), on);
    settings.python = Some(PythonSettings {
        worker: std::env::current_exe().expect("this executable"),
        full: true,
        program: None,
        env: std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "HOME").collect(),
    });
    Toolcrib::builder(settings).build().await.expect("a Toolcrib")
}

/// A call in a task of the runtime, as in the daemon: the waiting caller has a thread of its own.
fn ms(runtime: &Runtime, tools: &Toolcrib, args: &serde_json::Value) -> f64 {
    let (tools, args) = (tools.clone(), RawArgs::from(args.clone()));
    let call = async move {
        let begun = Instant::now();
        drop(tools.call("code_exec", args, Origin::Cli).await);
        begun.elapsed().as_secs_f64() * 1000.0
    };
    runtime.block_on(runtime.spawn(call)).expect("a call")
}

fn median(took: impl Iterator<Item = f64>) -> f64 {
    let mut took: Vec<f64> = took.collect();
    took.sort_by(f64::total_cmp);
    took.get(took.len() / 2).copied().unwrap_or(f64::NAN)
}
