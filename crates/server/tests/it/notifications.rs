//! Notifications over HTTP and on the stream of everything.

use serde_json::json;

use crate::support::{Events, TestDaemon};

#[tokio::test]
async fn a_notification_is_an_event_until_it_is_dismissed() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let mut events = Events::open(&client, "/api/v1/events", None).await;
    let call = json!({"tool": "send_notification", "arguments": {"message": "The oven is hot."}});
    client.post("/api/v1/calls", &call).await.expect(200);
    let event = events.until("notification").await;
    let listed = client.get("/api/v1/notifications?open=true").await.expect(200);
    let row = &listed["items"][0];
    assert_eq!(row["notification"], event.data["notification"]);
    assert_eq!((&row["title"], &row["message"]), (&json!("Toolcrib"), &json!("The oven is hot.")));
    let path = format!("/api/v1/notifications/{}/dismiss", row["notification"].as_str().unwrap());
    let dismissed = client.post(&path, &json!({})).await.expect(200);
    assert!(dismissed["dismissed_at"].is_i64());
    let event = events.until("notification").await;
    assert_eq!(event.data["dismissed_at"], dismissed["dismissed_at"]);
    let listed = client.get("/api/v1/notifications?open=true").await.expect(200);
    assert_eq!(listed["items"], json!([]));
    assert_eq!(
        client.post("/api/v1/notifications/x/dismiss", &json!({})).await.problem(),
        "not_found"
    );
    let empty = client.post("/api/v1/notifications", &json!({"message": " "})).await;
    assert_eq!(empty.problem(), "invalid");
    daemon.stop().await;
}
