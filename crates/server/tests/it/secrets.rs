//! Secrets over HTTP: they can be written and never read.

use serde_json::json;
use toolcrib_store::vault::Vault;

use crate::support::{Plan, TestDaemon};

const VALUE: &str = "hunter2-hunter2";

async fn daemon() -> TestDaemon {
    let toolcrib = Box::new(|settings: &mut toolcrib_app::Settings| {
        settings.vault = Some(Vault::in_folder(settings.state.join("vault")));
    });
    TestDaemon::with(Plan { toolcrib, ..Plan::default() }).await
}

#[tokio::test]
async fn a_secret_goes_in_and_never_comes_out() {
    let daemon = daemon().await;
    let client = daemon.client();
    let path = "/api/v1/secrets/openai";
    let kept = client.put(path, &json!({"value": VALUE})).await;
    assert_eq!(kept.expect(200)["replaced"], false);
    let listed = client.get("/api/v1/secrets").await;
    assert_eq!(listed.expect(200)["items"][0]["value"], "***");
    let unchanged = client.put(path, &json!({"value": "***"})).await.expect(200);
    assert_eq!(unchanged["unchanged"], true);
    // From now on, the value is masked in the output of every tool.
    std::fs::write(daemon.workspace().join("a.txt"), format!("key: {VALUE}")).unwrap();
    let call = json!({"tool": "read_file", "arguments": {"path": "a.txt"}});
    let read = client.post("/api/v1/calls", &call).await;
    assert!(read.text.contains("key: ") && !read.text.contains("hunter2"), "{}", read.text);
    let audit = client.get("/api/v1/audit?kind=administered").await;
    assert!(audit.text.contains("secret.set") && !audit.text.contains("hunter2"), "{}", audit.text);
    assert_eq!(client.delete(path).await.status, 204);
    assert_eq!(client.delete(path).await.problem(), "not_found");
    daemon.stop().await;
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused() {
    let daemon = daemon().await;
    let client = daemon.client();
    let put = async |name: &str, value: &str| {
        client.put(&format!("/api/v1/secrets/{name}"), &json!({"value": value})).await.problem()
    };
    assert_eq!(put("openai", "short").await, "invalid");
    assert_eq!(put("a%20b", VALUE).await, "invalid");
    assert_eq!(put("openai", "***").await, "not_found");
    client.put("/api/v1/secrets/openai", &json!({"value": VALUE})).await.expect(200);
    assert_eq!(put("OpenAI", VALUE).await, "conflict");
    daemon.stop().await;
    let without = TestDaemon::start().await;
    assert_eq!(without.client().get("/api/v1/secrets").await.problem(), "conflict");
    without.stop().await;
}
