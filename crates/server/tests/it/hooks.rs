//! Webhooks, changes of files and links of a running daemon.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolcrib_assistant::signature::sign;
use toolcrib_store::vault::{Secret, Vault};

use crate::support::{Answer, Client, Events, Plan, TestDaemon};

const KEY: &str = "a key of sixteen letters or more";

/// Starts a daemon with a vault that contains the secret of the hook `deploy`.
async fn daemon(script: &str) -> TestDaemon {
    let plan = Plan {
        script: script.to_owned(),
        toolcrib: Box::new(|settings| {
            let vault = Vault::in_folder(settings.state.join("vault"));
            let secret = Secret::new(KEY).ok().unwrap();
            vault.set(&"hook-deploy".parse().unwrap(), &secret, 1).unwrap();
            settings.vault = Some(vault);
            settings.links_to_clients = true;
        }),
        ..Plan::default()
    };
    TestDaemon::with(plan).await
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

/// Sends a signed request without a token.
async fn call(daemon: &TestDaemon, hook: &str, key: &str, seconds: i64, body: &Value) -> Answer {
    let text = body.to_string();
    let client = daemon
        .anybody()
        .with("x-toolcrib-timestamp", &seconds.to_string())
        .with("x-toolcrib-signature", &sign(key.as_bytes(), seconds, text.as_bytes()));
    client.post(&format!("/api/v1/hooks/{hook}"), body).await
}

async fn after(client: &Client, task: &str, times: usize) -> Value {
    let started = Instant::now();
    loop {
        let row = client.get(&format!("/api/v1/tasks/{task}")).await.expect(200);
        if row["history"].as_array().is_some_and(|history| history.len() >= times) {
            return row;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "it never ran: {row}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn add(client: &Client, new: Value) -> String {
    let made = client.post("/api/v1/tasks", &new).await.expect(200);
    made["task"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_signed_request_runs_its_task_once_and_untrusted() {
    // The body is fenced, and its run is untrusted: a tool that sends data asks for an approval.
    let script = "turns:\n  - expect: {last_user_contains: \"> {\\\"version\\\":\\\"1.2\\\"}\"}\n    calls: [{tool: http_request, args: {url: \"https://example.com/\", method: POST}}]\n  - say: Deployed.\n";
    let daemon = daemon(script).await;
    let client = daemon.client();
    let new = json!({"description": "Deploy", "prompt": "Check the deployment.", "hook": "deploy"});
    let task = add(&client, new).await;
    let body = json!({"version": "1.2"});
    let seconds = now();
    let taken = call(&daemon, "deploy", KEY, seconds, &body).await.expect(200);
    assert_eq!(taken, json!({"tasks": [task], "repeated": []}));
    // A repeated request starts no task.
    let again = call(&daemon, "deploy", KEY, seconds, &body).await.expect(200);
    assert_eq!(again, json!({"tasks": [], "repeated": [task]}));
    let ran = after(&client, &task, 1).await;
    assert_eq!(ran["history"][0]["ok"], true, "{ran}");
    assert_eq!((&ran["status"], &ran["waiting_events"]), (&json!("PENDING"), &json!(0)));
    let run = ran["history"][0]["run"].as_str().unwrap();
    let labels =
        toolcrib_app::runner::labels_of_run(&*daemon.toolcrib.stores().runs, run.parse().unwrap());
    let labels = labels.await.unwrap();
    assert_eq!(labels.untrusted.unwrap().tool, "message");
    daemon.stop().await;
}

#[tokio::test]
async fn a_request_that_is_not_signed_right_starts_nothing() {
    let daemon = daemon("turns:\n  - say: x\n").await;
    let client = daemon.client();
    let task = add(&client, json!({"description": "D", "prompt": "p", "hook": "deploy"})).await;
    add(&client, json!({"description": "D", "prompt": "p", "hook": "bare"})).await;
    let body = json!({"a": 1});
    // An unknown hook, a hook without a secret and a wrong key get the same answer.
    let mut texts = Vec::new();
    for (hook, key) in [("none", KEY), ("bare", KEY), ("bare", ""), ("deploy", "wrong")] {
        let answer = call(&daemon, hook, key, now(), &body).await;
        assert_eq!(answer.problem(), "unauthorized", "{hook}");
        texts.push(answer.json()["detail"].clone());
    }
    assert!(texts.windows(2).all(|pair| pair[0] == pair[1]), "{texts:?}");
    for seconds in [now() - 301, now() + 301, i64::MAX] {
        let late = call(&daemon, "deploy", KEY, seconds, &body).await;
        assert_eq!(late.problem(), "unauthorized", "{seconds}");
    }
    let unsigned = daemon.anybody().post("/api/v1/hooks/deploy", &body).await;
    assert_eq!(unsigned.problem(), "bad_request");
    let large = json!("x".repeat(65 * 1024));
    assert_eq!(call(&daemon, "deploy", KEY, now(), &large).await.problem(), "too_large");
    let row = client.get(&format!("/api/v1/tasks/{task}")).await.expect(200);
    assert_eq!((&row["history"], &row["waiting_events"]), (&json!([]), &json!(0)));
    for hook in ["a b", "a/b", "ä"] {
        let new = json!({"description": "D", "prompt": "p", "hook": hook});
        assert_eq!(client.post("/api/v1/tasks", &new).await.problem(), "invalid", "{hook}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_hook_takes_so_many_requests_a_minute() {
    let daemon = daemon("turns:\n  - say: x\n").await;
    let client = daemon.client();
    let task = add(&client, json!({"description": "D", "prompt": "p", "hook": "deploy"})).await;
    let mut limited = 0;
    for at in 0..35 {
        let answer = call(&daemon, "deploy", KEY, now(), &json!({"at": at})).await;
        if answer.status.as_u16() == 429 {
            assert!(answer.headers.contains_key("retry-after"));
            limited += 1;
        }
    }
    assert!((3..=5).contains(&limited), "{limited}");
    client.delete(&format!("/api/v1/tasks/{task}")).await.expect(200);
    daemon.stop().await;
}

#[tokio::test]
async fn a_changed_file_starts_its_task_with_the_names() {
    let script =
        "turns:\n  - expect: {last_user_contains: \"> src/deep/new.rs\"}\n    say: Seen.\n";
    let daemon = daemon(script).await;
    let client = daemon.client();
    std::fs::create_dir_all(daemon.workspace().join("src/deep")).unwrap();
    let new = json!({"description": "Lint", "prompt": "Look at them.", "on_change": "src/**/*.rs"});
    let task = add(&client, new).await;
    // The watcher starts within the interval of its reads.
    let started = Instant::now();
    loop {
        std::fs::write(daemon.workspace().join("src/deep/new.rs"), format!("{started:?}")).unwrap();
        std::fs::write(daemon.workspace().join("src/other.txt"), "x").unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let row = client.get(&format!("/api/v1/tasks/{task}")).await.expect(200);
        if row["history"].as_array().is_some_and(|history| !history.is_empty()) {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "it never ran: {row}");
    }
    let ran = after(&client, &task, 1).await;
    assert_eq!(ran["history"][0]["result"], "Seen.", "{ran}");
    // Further changes wait for the rest of the minute.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let row = client.get(&format!("/api/v1/tasks/{task}")).await.expect(200);
    assert_eq!(row["history"].as_array().unwrap().len(), 1);
    daemon.stop().await;
}

#[tokio::test]
async fn a_link_is_shown_to_the_page() {
    let daemon = daemon("turns:\n  - say: x\n").await;
    let client = daemon.client();
    let mut events = Events::open(&client, "/api/v1/events", None).await;
    let open = |url: &str| json!({"tool": "open_url", "arguments": {"url": url}});
    let opened = client.post("/api/v1/calls", &open("https://example.com/a?b=1")).await.expect(200);
    assert!(opened["result"].to_string().contains("returns nothing of its content"), "{opened}");
    events.until("notification").await;
    let listed = client.get("/api/v1/notifications").await.expect(200);
    assert_eq!(listed["items"][0]["link"], "https://example.com/a?b=1");
    for (url, part) in [
        ("javascript:alert(1)", "only web addresses and files"),
        ("https://a:b@example.com/", "user name or a password"),
    ] {
        let refused = client.post("/api/v1/calls", &open(url)).await;
        assert!(refused.text.contains(part), "{url}: {}", refused.text);
    }
    daemon.stop().await;
}
