//! The heartbeat and alarms of a running daemon.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Client, Events, Plan, TestDaemon};

async fn daemon(script: &str) -> TestDaemon {
    TestDaemon::with(Plan { script: script.to_owned(), ..Plan::default() }).await
}

/// Waits until the heartbeat has run `times` times, and returns it.
async fn after(client: &Client, times: usize) -> Value {
    let started = Instant::now();
    loop {
        let row = client.get("/api/v1/heartbeat").await.expect(200);
        if row["history"].as_array().is_some_and(|history| history.len() >= times) {
            return row;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "it never ran: {row}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn conversations(client: &Client) -> usize {
    let listed = client.get("/api/v1/conversations").await.expect(200);
    listed["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn without_anything_to_look_at_no_model_is_asked() {
    let daemon = daemon("turns:\n  - say: Why do you ask?\n").await;
    let client = daemon.client();
    client.post("/api/v1/heartbeat/run", &json!({})).await.expect(200);
    let ran = after(&client, 1).await;
    let first = &ran["history"][0];
    assert_eq!(first["ok"], true);
    assert!(first["result"].as_str().unwrap().starts_with("HEARTBEAT_OK"), "{first}");
    assert_eq!((conversations(&client).await, first["run"].is_null()), (0, true));
    assert!(ran["next"].is_string(), "{ran}");
    daemon.stop().await;
}

#[tokio::test]
async fn an_ok_leaves_nothing_and_a_report_is_pushed_once() {
    // The standing task is part of the heartbeat's request.
    let script = "turns:\n  - expect: {last_user_contains: \"- **Backup** (task_\"}\n    say: HEARTBEAT_OK\n";
    let quiet = daemon(script).await;
    let client = quiet.client();
    let standing =
        json!({"description": "Backup", "prompt": "Check the backup.", "on_heartbeat": true});
    let task = client.post("/api/v1/tasks", &standing).await.expect(200);
    assert_eq!((&task["status"], &task["next"]), (&json!("PENDING"), &json!([])));
    assert_eq!(task["schedule"], "At every heartbeat");
    client.post("/api/v1/heartbeat/run", &json!({})).await.expect(200);
    let ran = after(&client, 1).await;
    assert_eq!(
        (&ran["history"][0]["ok"], &ran["history"][0]["result"]),
        (&json!(true), &json!("HEARTBEAT_OK"))
    );
    assert!(ran["history"][0]["conversation"].is_null(), "{ran}");
    assert_eq!(conversations(&client).await, 0);
    let notes = client.get("/api/v1/notifications").await.expect(200);
    assert_eq!(notes["items"], json!([]));
    quiet.stop().await;

    let loud = daemon("turns:\n  - say: The backup of tonight is missing.\n").await;
    let client = loud.client();
    client.post("/api/v1/tasks", &standing).await.expect(200);
    for times in 1..=2 {
        client.post("/api/v1/heartbeat/run", &json!({})).await.expect(200);
        let ran = after(&client, times).await;
        assert_eq!(ran["history"][0]["result"], "The backup of tonight is missing.");
        assert!(ran["history"][0]["conversation"].is_string(), "{ran}");
    }
    // Each report has its conversation; the newer notification replaced the older one.
    assert_eq!(conversations(&client).await, 2);
    let notes = client.get("/api/v1/notifications").await.expect(200);
    assert_eq!(notes["items"].as_array().unwrap().len(), 1);
    assert_eq!(notes["items"][0]["tag"], "heartbeat");
    let prompt = client.get("/api/v1/heartbeat").await.expect(200)["prompt"].clone();
    assert!(prompt.as_str().unwrap().contains("## Previous Heartbeats"), "{prompt}");
    loud.stop().await;
}

#[tokio::test]
async fn a_failed_heartbeat_is_in_its_log() {
    let daemon = daemon("turns:\n  - expect: {last_user_contains: never}\n    say: x\n").await;
    let client = daemon.client();
    let standing = json!({"description": "Backup", "prompt": "Check.", "on_heartbeat": true});
    client.post("/api/v1/tasks", &standing).await.expect(200);
    client.post("/api/v1/heartbeat/run", &json!({})).await.expect(200);
    let ran = after(&client, 1).await;
    assert_eq!(ran["history"][0]["ok"], false, "{ran}");
    assert!(ran["next"].is_string(), "{ran}");
    daemon.stop().await;
}

#[tokio::test]
async fn an_alarm_rings_until_its_notification_is_dismissed() {
    let daemon = daemon("turns:\n  - say: x\n").await;
    let client = daemon.client();
    // Alarms ring even when scheduling is switched off.
    let off = client.put("/api/v1/switches/feature:scheduling", &json!({"state": "off"})).await;
    off.expect(200);
    let mut events = Events::open(&client, "/api/v1/events", None).await;
    let at = jiff::Timestamp::now() + Duration::from_millis(300);
    let alarm = json!({"description": "Pasta", "prompt": "Take the pasta out.", "alarm": true, "execute_at": at.to_string()});
    let made = client.post("/api/v1/tasks", &alarm).await.expect(200);
    let path = format!("/api/v1/tasks/{}", made["task"].as_str().unwrap());
    assert_eq!(client.post(&format!("{path}/dismiss"), &json!({})).await.problem(), "conflict");
    let event = events.until("notification").await;
    let notes = client.get("/api/v1/notifications").await.expect(200);
    let note = &notes["items"][0];
    assert_eq!(note["notification"], event.data["notification"]);
    assert_eq!(
        (&note["title"], &note["message"]),
        (&json!("Alarm"), &json!("Take the pasta out."))
    );
    let rings = client.get(&path).await.expect(200);
    assert_eq!(
        (&rings["kind"], &rings["rings"], &rings["status"]),
        (&json!("alarm"), &json!(1), &json!("PENDING"))
    );
    let late = note["created_at"].as_i64().unwrap() - at.as_millisecond();
    assert!((0..1_000).contains(&late), "{late} ms late");
    let dismiss =
        format!("/api/v1/notifications/{}/dismiss", note["notification"].as_str().unwrap());
    client.post(&dismiss, &json!({})).await.expect(200);
    let over = client.get(&path).await.expect(200);
    assert_eq!((&over["status"], &over["history"][0]["ok"]), (&json!("COMPLETED"), &json!(true)));
    daemon.stop().await;
}
