//! Stopping a run ends the processes of its tools.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

const SAFE: &str = "description = \"A tool for tests.\"\nrisk = \"safe\"\neffect = \"pure\"\n";

async fn until(what: &str, so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn pid(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.strip_suffix('\n')?.to_owned())
}

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X'])
}

#[tokio::test]
async fn a_stopped_run_takes_its_processes_with_it() {
    let home = Home::new();
    home.tool("stays", SAFE, "(sleep 600) & echo $! >child; echo $$ >leader; sleep 600");
    let process = home.open().await;
    let model = Watched::new([ScriptTurn::say("I wait.")
        .and_call("stays", json!({}))
        .and_call("get_current_time", json!({}))]);
    let stop = async {
        until("it runs", || pid(&home.at("tools/stays/leader")).is_some()).await;
        process.control.stop();
        Instant::now()
    };
    let (finished, stopped) = tokio::join!(process.run(&model), stop);
    assert!(stopped.elapsed() < Duration::from_secs(3), "{:?}", stopped.elapsed());
    assert_eq!((ended(&finished), finished.text.as_str()), ("stopped", "I wait."));
    for name in ["leader", "child"] {
        let pid = pid(&home.at("tools/stays").join(name)).unwrap();
        until("it is gone", || !is_alive(&pid)).await;
    }
    let answers = answers(&process.stored(finished.conversation).await.unwrap());
    assert_eq!(answers[0]["error_type"], "cancelled");
    assert_eq!(answers.len(), 2);
}
