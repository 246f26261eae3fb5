//! The configuration over HTTP.

use serde_json::json;

use crate::support::TestDaemon;

#[tokio::test]
async fn a_key_is_set_kept_and_taken_away() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let path = "/api/v1/settings/agent";
    let set = client.put(path, &json!({"value": "coder"})).await.expect(200);
    assert_eq!(set["setting"]["value"], "coder");
    // The mask of a secret does not replace it.
    let kept = client.put(path, &json!({"value": "***"})).await.expect(200);
    assert_eq!(kept["setting"]["value"], "coder");
    client.put("/api/v1/settings/batch_concurrency", &json!({"value": 4})).await.expect(200);
    let list = client.get("/api/v1/settings").await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    assert!(client.delete(path).await.expect(200)["setting"].is_null());
    for wrong in [json!({"value": null}), json!({"value": {"a": 1}})] {
        assert_eq!(client.put(path, &wrong).await.problem(), "invalid", "{wrong}");
    }
    assert_eq!(client.put(path, &json!({})).await.problem(), "bad_request");
    let acts = client.get("/api/v1/audit?kind=administered&by=owner").await.expect(200);
    let acts: Vec<_> = acts["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            format!(
                "{} {}",
                row["record"]["operation"].as_str().unwrap(),
                row["record"]["about"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(acts, ["setting.unset agent", "setting.set batch_concurrency", "setting.set agent"]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_broken_file_is_said_when_everything_is_read_again() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    client.post("/api/v1/settings/reload", &json!({})).await.expect(200);
    std::fs::create_dir_all(daemon.folder().join("config")).unwrap();
    std::fs::write(daemon.folder().join("config/rules.toml"), "[[rules]]\neffect = \"no\"\n")
        .unwrap();
    let answer = client.post("/api/v1/settings/reload", &json!({})).await;
    assert_eq!(answer.problem(), "invalid");
    assert!(answer.text.contains("rules.toml:"), "{}", answer.text);
    daemon.stop().await;
}
