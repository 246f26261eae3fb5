//! Drafts over HTTP and on the stream of everything.

use serde_json::json;

use crate::support::{Events, TestDaemon};

#[tokio::test]
async fn every_change_of_a_draft_is_an_event() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let mut events = Events::open(&client, "/api/v1/events", None).await;
    // Wait for the first read of the daemon.
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    let new = json!({"kind": "webhook", "to": ["https://hook.example/x"], "body": "one"});
    let made = client.post("/api/v1/drafts", &new).await.expect(200);
    let event = events.until("drafts.changed").await;
    assert_eq!((&event.data["draft"], &event.data["status"]), (&made["draft"], &json!("draft")));
    assert_eq!(event.data["version"], made["version"]);
    assert!(!event.data.to_string().contains("one"), "{}", event.data);
    let path = format!("/api/v1/drafts/{}", made["draft"].as_str().unwrap());
    let edit = json!({"version": made["version"], "body": "two"});
    let edited = client.put(&path, &edit).await.expect(200);
    assert_eq!(events.until("drafts.changed").await.data["version"], edited["version"]);
    let seen = client.get(&format!("{path}?since={}", made["version"])).await.expect(200);
    assert_eq!(seen["changed"], json!([{"part": "text", "diff": "-one\n+two"}]));
    let history = client.get(&format!("{path}/history")).await.expect(200);
    assert_eq!(history["items"].as_array().unwrap().len(), 2, "{history}");
    client.delete(&path).await.expect(200);
    assert_eq!(events.until("drafts.changed").await.data["status"], "discarded");
    let mail = json!({"kind": "mail", "to": ["a@example.org"], "body": "x"});
    assert_eq!(client.post("/api/v1/drafts", &mail).await.problem(), "not_found");
    let kind = json!({"kind": "fax", "to": ["1"], "body": "x"});
    assert_eq!(client.post("/api/v1/drafts", &kind).await.problem(), "invalid");
    daemon.stop().await;
}
