//! Background processes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Bench, Shop, processes_with, until};

async fn start(shop: &Shop, conversation: &str, command: &str) -> String {
    let said = shop.with(conversation, json!({"command": command, "background": true})).await;
    said.str("session_id")
}

fn states(list: &Value) -> Vec<String> {
    let all = list.as_array().cloned().unwrap_or_default();
    all.iter().map(|one| one["state"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_program_runs_on_is_read_and_ended() {
    let shop = Shop::new();
    let mark = format!("86361.{}", std::process::id());
    std::fs::create_dir(shop.bench.path("ws/sub")).unwrap();
    shop.sh("a", "cd sub").await;
    let command =
        format!("pwd; echo $A; echo oops >&2; touch up; setsid sleep {mark} & sleep {mark}");
    let args = json!({"command": command, "background": true, "env": {"A": "set"}});
    let said = shop.with("a", args).await;
    let id = said.str("session_id");
    assert_eq!(said.str("state"), "running", "{said:?}");
    until("it is up", || shop.bench.path("ws/sub/up").exists()).await;
    let log = shop.process("a", json!({"action": "log", "session_id": id})).await;
    let folder = shop.bench.path("ws/sub").display().to_string();
    let mut lines = log.field("lines").as_array().unwrap().clone();
    lines.sort_by_key(ToString::to_string);
    assert_eq!(lines, [json!(folder), json!("oops"), json!("set")]);
    let second = shop
        .process("a", json!({"action": "log", "session_id": id, "offset": 1, "limit": 1}))
        .await;
    assert_eq!((second.field("offset"), second.field("next_offset")), (json!(1), json!(2)));
    let list = shop.process("a", json!({"action": "list"})).await;
    assert_eq!(states(&list.field("processes")), ["running"]);
    let early = shop.fails("manage_process", "a", json!({"action": "remove", "session_id": id}));
    assert!(early.await.message.contains("still runs"));
    let killed = shop.process("a", json!({"action": "kill", "session_id": id})).await;
    assert!(killed.text().contains("was ended"), "{killed:?}");
    assert!(processes_with(&mark).is_empty());
    shop.process("a", json!({"action": "remove", "session_id": id})).await;
    let list = shop.process("a", json!({"action": "list"})).await;
    assert!(list.text().contains("no background processes"));
}

#[tokio::test]
async fn what_ends_by_itself_says_how() {
    let shop = Shop::new();
    let said = shop.with("a", json!({"command": "echo no; exit 7", "background": true})).await;
    let id = said.str("session_id");
    until("it has ended", || !shop.bench.path(&format!("state/processes/{id}.json")).exists())
        .await;
    let list = shop.process("a", json!({"action": "list"})).await;
    until("it is noted", || true).await;
    assert_eq!(states(&list.field("processes")).len(), 1);
    let log = shop.process("a", json!({"action": "log", "session_id": id})).await;
    assert_eq!(log.field("lines"), json!(["no"]));
    assert!(
        shop.process("a", json!({"action": "kill", "session_id": id}))
            .await
            .text()
            .contains("code 7")
    );
}

#[tokio::test]
async fn programs_belong_to_their_conversation_and_end_with_it() {
    let shop = Shop::new();
    let mark = format!("86362.{}", std::process::id());
    let sleep = format!("sleep {mark}");
    let mut ids = Vec::new();
    for _ in 0..8 {
        ids.push(start(&shop, "a", &sleep).await);
    }
    let ninth =
        shop.fails("execute_shell_command", "a", json!({"command": sleep, "background": true}));
    assert!(ninth.await.message.contains("8 programs"));
    let other = start(&shop, "b", &sleep).await;
    let theirs = shop.fails("manage_process", "a", json!({"action": "kill", "session_id": other}));
    assert!(theirs.await.message.contains(&ids[0]));
    // A shell command that times out does not end background processes.
    shop.with("a", json!({"command": "sleep 60", "timeout": 1})).await;
    let list = shop.process("a", json!({"action": "list"})).await;
    assert_eq!(states(&list.field("processes")), ["running"; 8]);
    shop.shells.end("ann", "a");
    until("one is left", || processes_with(&mark).len() == 1).await;
    let list = shop.process("b", json!({"action": "list"})).await;
    assert_eq!(states(&list.field("processes")), ["running"]);
    shop.shells.end_all();
    until("none is left", || processes_with(&mark).is_empty()).await;
}

#[tokio::test]
async fn what_was_lost_with_a_process_of_ours_is_listed_as_lost() {
    let shop = Shop::new();
    let folder = shop.bench.path("state/processes");
    std::fs::create_dir_all(&folder).unwrap();
    let record = |id: &str, conversation: &str| {
        let text = json!({"id": id, "owner": "ann", "conversation": conversation, "command": "serve", "started_at": 1});
        std::fs::write(folder.join(format!("{id}.json")), text.to_string()).unwrap();
    };
    record("p1", "a");
    record("p2", "b");
    let list = shop.process("a", json!({"action": "list"})).await;
    assert_eq!(states(&list.field("processes")), ["lost"]);
    let log = shop.fails("manage_process", "a", json!({"action": "log", "session_id": "p1"}));
    assert!(log.await.message.contains("lost"));
    shop.process("a", json!({"action": "remove", "session_id": "p1"})).await;
    assert!(!folder.join("p1.json").exists() && folder.join("p2.json").exists());
}

#[tokio::test]
async fn a_program_that_closed_its_streams_is_ended_too() {
    let shop = Shop::new();
    let mark = format!("86363.{}", std::process::id());
    let id = start(&shop, "a", &format!("exec >&- 2>&-; touch up; exec sleep {mark}")).await;
    until("it is up", || shop.bench.path("ws/up").exists()).await;
    until("it sleeps", || !processes_with(&mark).is_empty()).await;
    let killed = shop.process("a", json!({"action": "kill", "session_id": id})).await;
    assert!(killed.text().contains("was ended"), "{killed:?}");
    assert!(processes_with(&mark).is_empty());
    let list = shop.process("a", json!({"action": "list"})).await;
    assert_eq!(states(&list.field("processes")), ["killed"]);
}

#[tokio::test]
async fn an_idle_program_is_ended() {
    let shop = Shop::with_idle(Bench::new(), Duration::from_millis(300));
    let mark = format!("86364.{}", std::process::id());
    let id = start(&shop, "a", &format!("touch up; exec sleep {mark}")).await;
    until("it is up", || shop.bench.path("ws/up").exists()).await;
    until("it has ended", || !shop.bench.path(&format!("state/processes/{id}.json")).exists())
        .await;
    assert!(processes_with(&mark).is_empty());
    let killed = shop.process("a", json!({"action": "kill", "session_id": id})).await;
    assert!(killed.text().contains("the shell of this conversation was idle"), "{killed:?}");
}
