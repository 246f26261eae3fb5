//! Cost of scripts that call tools: a waiting worker, a call over the bridge compared with the same
//! call through the pipeline alone, a script that is suspended and resumed, and the time until a
//! hostile script is gone after its limit. The floor of a bridged call is a message to another
//! process and back.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Runtime;
use toolcrib_app::{Preset, PythonSettings, Settings, ToolSettings, Toolcrib};
use toolcrib_core::{Answer, Batch, Call, Decision, DecisionRecord, Invoker as _, Origin, RawArgs};

use crate::results::Results;

/// Scripts of each kind; the median counts.
const SCRIPTS: usize = 31;

/// Calls of the script that makes calls.
const CALLS: u32 = 50;

/// Long enough for the next worker to be there.
const PAUSE: Duration = Duration::from_millis(60);

/// Scripts that do not end by themselves: between steps of the interpreter, within one, with
/// memory, with recursion, with output, with a pattern.
const HOSTILE: [&str; 8] = [
    "while True: pass",
    "x = 7\nwhile True: x = x * x",
    "2 ** 10 ** 8",
    "int('1' * 10 ** 8, 2)",
    "x = 'a'\nwhile True: x = x + x",
    "def f(): f()\nwhile True:\n    try: f()\n    except RecursionError: pass",
    "while True: print('x' * 1000)",
    "import re\nwhile True: re.search('(a|a)+$', 'a' * 100000 + 'b')",
];

pub(crate) fn run(table: &mut Results) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let tools = runtime.block_on(toolcrib(folder.path()));
    let script = |code: &str| {
        std::thread::sleep(PAUSE);
        ms(&runtime, &tools, "tool_chain", &json!({"code": code}))
    };
    script("1");
    let empty = median((0..SCRIPTS).map(|_| script("1")));
    table.at_most("chain: a script without calls, its worker waits", empty, "ms", 1.0);
    let rested = median((0..SCRIPTS).map(|_| {
        std::thread::sleep(PAUSE);
        ms(&runtime, &tools, "get_current_time", &json!({}))
    }));
    table.figure("chain: any call through the pipeline after the same pause", rested, "ms");
    let code = format!("for i in range({CALLS}): await get_current_time()\n1");
    let full = median((0..SCRIPTS).map(|_| script(&code)));
    let pipeline = median((0..SCRIPTS).map(|_| {
        let begun = Instant::now();
        for _ in 0..CALLS {
            ms(&runtime, &tools, "get_current_time", &json!({}));
        }
        begun.elapsed().as_secs_f64() * 1000.0 / f64::from(CALLS)
    }));
    let bridged = (full - empty) / f64::from(CALLS) - pipeline;
    table.figure("chain: a message to another process and back", ping(&runtime) * 1000.0, "µs");
    table.figure("chain: the same call through the pipeline alone", pipeline * 1000.0, "µs");
    table.at_most("chain: a bridged call, over the pipeline", bridged * 1000.0, "µs", 30.0);
    let gathered = format!(
        "import asyncio\nrs = await asyncio.gather(*[get_current_time() for i in range({CALLS})])\n1"
    );
    let gathered = median((0..SCRIPTS).map(|_| script(&gathered)));
    table.figure("chain: fifty calls, gathered", gathered, "ms");
    put_aside(table, &runtime, &tools, folder.path());
    let late = HOSTILE.iter().map(|code| {
        std::thread::sleep(PAUSE);
        let args = json!({"code": code, "timeout": 1});
        let late = ms(&runtime, &tools, "tool_chain", &args) - 1000.0;
        table.figure(format!("chain: beyond its limit: {}", code.replace('\n', "; ")), late, "ms");
        late
    });
    let late: Vec<f64> = late.collect();
    table.at_most(
        "chain: hostile scripts, beyond their limit",
        late.into_iter().fold(0.0, f64::max),
        "ms",
        100.0,
    );
}

/// A script that waits for a person: the size of what is kept, and the time from the decision to
/// the end.
fn put_aside(table: &mut Results, runtime: &Runtime, tools: &Toolcrib, folder: &Path) {
    let code = "rows = []\nfor i in range(100): rows.append({'id': i, 'name': 'row ' + str(i)})\nt = await list_dir()\nlen(rows)";
    let (mut bytes, mut took) = (0, Vec::new());
    for _ in 0..SCRIPTS {
        let batch =
            tools.manual_batch(vec![Call::new("tool_chain", json!({"code": code}))], Origin::Rest);
        let batch = Batch { run: None, ..batch };
        let answer = runtime.block_on(tools.engine().invoke(batch)).pop().expect("an answer");
        let suspended = match answer {
            Answer::Suspended(request) => Some(request),
            Answer::Done(_) => None,
        };
        let request = suspended.expect("a script that waits");
        bytes = bytes.max(largest(&folder.join("state/python/suspended")));
        std::thread::sleep(PAUSE);
        let record = DecisionRecord {
            decision: Decision::approve(),
            decided_by: "ann".into(),
            decided_at: 0,
        };
        let begun = Instant::now();
        let ended = runtime.block_on(tools.engine().decide(request.id, record));
        took.push(begun.elapsed().as_secs_f64() * 1000.0);
        ended.expect("a decision").expect("its end");
    }
    table.at_most(
        "chain: what is kept of a script with 100 rows",
        bytes as f64 / 1024.0,
        "KiB",
        64.0,
    );
    table.at_most(
        "chain: from a decision to the end of the script",
        median(took.into_iter()),
        "ms",
        5.0,
    );
}

fn largest(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| Some(file.metadata().ok()?.len())).max().unwrap_or(0)
}

async fn toolcrib(folder: &Path) -> Toolcrib {
    let mut settings = Settings::new(folder, folder.join("state"));
    settings.engine.preset = Preset::Auto;
    settings.engine.inbox = true;
    let asks = ToolSettings { ask: Some(true), ..ToolSettings::default() };
    settings.engine.tools.insert("list_dir".to_owned(), asks);
    settings.python = Some(PythonSettings {
        worker: std::env::current_exe().expect("this executable"),
        full: false,
        program: None,
        env: Vec::new(),
    });
    Toolcrib::builder(settings).build().await.expect("a Toolcrib")
}

/// A call in a task of the runtime, as in the daemon: the waiting caller has a thread of its own.
fn ms(runtime: &Runtime, tools: &Toolcrib, tool: &'static str, args: &Value) -> f64 {
    let (tools, args) = (tools.clone(), RawArgs::from(args.clone()));
    let call = async move {
        let begun = Instant::now();
        drop(tools.call(tool, args, Origin::Cli).await);
        begun.elapsed().as_secs_f64() * 1000.0
    };
    runtime.block_on(runtime.spawn(call)).expect("a call")
}

/// The least that a bridged call may take: bytes through a pipe to a process that sends them back.
fn ping(runtime: &Runtime) -> f64 {
    let pings = async {
        let mut cat = tokio::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("cat");
        let mut to = cat.stdin.take().expect("its input");
        let mut from = cat.stdout.take().expect("its output");
        let mut message = [7; 200];
        let mut took = Vec::new();
        for _ in 0..2000 {
            let begun = Instant::now();
            to.write_all(&message).await.expect("there");
            from.read_exact(&mut message).await.expect("back");
            took.push(begun.elapsed().as_secs_f64() * 1000.0);
        }
        drop(to);
        cat.wait().await.expect("its end");
        median(took.into_iter())
    };
    runtime.block_on(runtime.spawn(pings)).expect("pings")
}

fn median(took: impl Iterator<Item = f64>) -> f64 {
    let mut took: Vec<f64> = took.collect();
    took.sort_by(f64::total_cmp);
    took.get(took.len() / 2).copied().unwrap_or(f64::NAN)
}
