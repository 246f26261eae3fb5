//! The corpus of hostile servers: each row of `hostile_servers.json` is a server that does one bad
//! thing, with the required result. In all rows the call must end in time, memory must stay
//! bounded, and no process may be left.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcrib_mcp::client::{McpSource, ServerConfig};

use crate::test_backend::{World, world_of};

const ROWS: &str = include_str!("fixture/hostile_servers.json");
/// Minimum number of rows, so that no row gets lost.
const LEAST: usize = 40;
/// Time limit of a row, with two starts of the server.
const TIME: Duration = Duration::from_secs(45);
/// Maximum growth of this process, in MB.
const MEMORY: u64 = 150;

/// One server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    server: String,
    /// How the server starts.
    #[serde(default)]
    start: Map<String, Value>,
    /// The called tool with its arguments; if there is none, the test only connects.
    call: Option<(String, Value)>,
    /// Longest time of the call, in milliseconds.
    timeout_ms: Option<u64>,
    /// The required outcome of the call.
    outcome: Option<String>,
    /// Texts that the response of the call, the state of the connection, and the log must contain.
    #[serde(default)]
    answer: Vec<String>,
    #[serde(default)]
    state: Vec<String>,
    #[serde(default)]
    log: Vec<String>,
    /// Texts that none of them may contain.
    #[serde(default)]
    never: Vec<String>,
    /// Number of offered tools.
    tools: Option<usize>,
    /// Maximum characters of the response.
    most_chars: Option<usize>,
    /// Number of questions that reach a person.
    #[serde(default)]
    asked: usize,
}

fn rows() -> Vec<Row> {
    serde_json::from_str(ROWS).unwrap()
}

fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// Counts the processes with this folder in their command line.
fn processes(folder: &str) -> usize {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = pids.filter_map(|pid| std::fs::read(pid.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(folder)).count()
}

/// Lists the failures of a row.
async fn failures(row: &Row, listener: &TcpListener) -> Option<Vec<String>> {
    let port = listener.local_addr().unwrap().port();
    let mut start = row.start.clone();
    start.insert("port".to_owned(), json!(port));
    let start = Value::Object(start).to_string();
    let (begin, before) = (Instant::now(), resident_mb());
    let change = |config: &mut ServerConfig| {
        if let Some(time) = row.timeout_ms {
            config.timeout = Duration::from_millis(time);
        }
    };
    let world = world_of(&row.server, &[("hostile.json", &start)], change).await?;
    let mut wrong = Vec::new();
    let answer = call(row, &world, &mut wrong).await;
    let offered = world.connection.offered().await;
    let count = offered.as_ref().map_or(0, |offered| offered.tools.len());
    if row.tools.is_some_and(|tools| tools != count) {
        wrong.push(format!("{count} tools"));
    }
    let (state, log) = (world.connection.state().to_string(), world.connection.errors());
    for (what, parts, text) in
        [("answer", &row.answer, &answer), ("state", &row.state, &state), ("log", &row.log, &log)]
    {
        for part in parts.iter().filter(|part| !text.contains(*part)) {
            let text: String = text.chars().take(600).collect();
            wrong.push(format!("the {what} has no {part:?}: {text}"));
        }
    }
    for part in &row.never {
        for (what, text) in [("answer", &answer), ("state", &state)] {
            if text.contains(part) {
                wrong.push(format!("the {what} has {part:?}"));
            }
        }
    }
    let asked = world.host.asked.lock().unwrap().len();
    if asked != row.asked {
        wrong.push(format!("{asked} questions"));
    }
    if !world.host.progress.lock().unwrap().is_empty() && row.name.contains("another call") {
        wrong.push("progress of another call was told".to_owned());
    }
    if let Ok((_, from)) = listener.accept() {
        wrong.push(format!("it reached the network from {from}"));
    }
    let folder = world.folder.path().display().to_string();
    world.connection.retire().await;
    let ended = Instant::now();
    while processes(&folder) > 0 && ended.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    if processes(&folder) > 0 {
        wrong.push("a process is left".to_owned());
    }
    let grown = resident_mb().saturating_sub(before);
    if grown > MEMORY {
        wrong.push(format!("{grown} MB"));
    }
    if begin.elapsed() > TIME {
        wrong.push(format!("{:?}", begin.elapsed()));
    }
    Some(wrong)
}

/// Makes the call of a row; returns its response as a model reads it.
async fn call(row: &Row, world: &World, wrong: &mut Vec<String>) -> String {
    let Some((tool, args)) = &row.call else { return String::new() };
    let source = McpSource::new(world.connection.clone());
    if let Err(error) = world.engine.catalog().attach(&source).await {
        wrong.push(format!("its tools are not offered: {error}"));
    }
    let outcome = world.call(tool, args.clone()).await;
    let kind = json!(outcome.kind);
    if kind.as_str() != row.outcome.as_deref() {
        wrong.push(format!("it ended as {kind}"));
    }
    let text = outcome.to_text();
    if row.most_chars.is_some_and(|most| text.len() > most) {
        wrong.push(format!("the answer has {} characters", text.len()));
    }
    text
}

/// Parts of the corpus, which run at the same time.
const PARTS: usize = 8;

/// Checks every row of a part.
async fn check(part: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let (mut held, mut wrong) = (0, Vec::new());
    for row in rows().iter().skip(part).step_by(PARTS) {
        let begin = Instant::now();
        let Some(failures) = failures(row, &listener).await else { return };
        eprintln!("{:>6} ms  {}", begin.elapsed().as_millis(), row.name);
        if failures.is_empty() {
            held += 1;
        } else {
            wrong.push(format!("{}: {}", row.name, failures.join("; ")));
        }
    }
    eprintln!("hostile servers {held} of {}", held + wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_corpus_of_hostile_servers_is_whole() {
    let mut names: Vec<String> = rows().into_iter().map(|row| row.name).collect();
    names.sort();
    names.dedup();
    assert!(names.len() >= LEAST && names.len() == rows().len(), "{}", names.len());
}

#[tokio::test]
async fn hostile_servers_of_the_corpus_come_to_nothing_1() {
    check(0).await;
}

#[tokio::test]
async fn hostile_servers_of_the_corpus_come_to_nothing_2() {
    check(1).await;
}

#[tokio::test]
async fn hostile_servers_of_the_corpus_come_to_nothing_3() {
    check(2).await;
}

#[tokio::test]
async fn hostile_servers_of_the_corpus_come_to_nothing_4() {
    check(3).await;
}

#[tokio::test]
async fn hostile_servers_of_the_corpus_come_to_nothing_5() {
    check(4).await;
}

#[tokio::test]
async fn hostile_servers_of_the_corpus_come_to_nothing_6() {
    check(5).await;
}

#[tokio::test]
async fn hostile_servers_of_the_corpus_come_to_nothing_7() {
    check(6).await;
}

#[tokio::test]
async fn hostile_servers_of_the_corpus_come_to_nothing_8() {
    check(7).await;
}
