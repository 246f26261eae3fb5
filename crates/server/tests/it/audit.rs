//! The audit over HTTP.

use std::io::Cursor;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_audit::{
    AuditKey, BundleEvidence, Evidence, TrustedKeys, verify_bundle, verify_export,
};
use toolcrib_core::{AuditEvent, AuditKind};

use crate::support::{Plan, TestDaemon};

async fn with_calls(calls: usize) -> TestDaemon {
    let daemon = TestDaemon::with(Plan { durable: true, ..Plan::default() }).await;
    for _ in 0..calls {
        let call = json!({"tool": "get_current_time", "arguments": {}});
        daemon.client().post("/api/v1/calls", &call).await.expect(200);
    }
    daemon
}

#[tokio::test]
async fn records_come_newest_first_in_pages() {
    let daemon = with_calls(5).await;
    let client = daemon.client();
    let mut path = "/api/v1/audit?limit=2&kind=settled".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = client.get(&path).await.expect(200);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        seen.extend(items.iter().map(|row| row["seq"].as_u64().unwrap()));
        match page["next"].as_str() {
            Some(next) => path = format!("/api/v1/audit?limit=2&kind=settled&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(seen.windows(2).all(|pair| pair[0] > pair[1]), "{seen:?}");
    let newest = client.get("/api/v1/audit?limit=1").await.expect(200);
    let record = &newest["items"][0]["record"];
    assert_eq!((&record["kind"], &record["tool"]), (&json!("settled"), &json!("get_current_time")));
    let call = record["call"].as_str().unwrap();
    let of_call = client.get(&format!("/api/v1/audit?call={call}")).await.expect(200);
    assert_eq!(of_call["items"].as_array().unwrap().len(), 1);
    for nothing in ["tool=other", "outcome=failed", "until=1", "by=nobody", "agent=x"] {
        let found = client.get(&format!("/api/v1/audit?{nothing}")).await.expect(200);
        assert_eq!(found["items"], json!([]), "{nothing}");
    }
    for (wrong, code) in [
        ("limit=0", "invalid"),
        ("limit=501", "invalid"),
        ("call=x", "invalid"),
        ("cursor=x", "bad_cursor"),
        ("since=soon", "bad_request"),
        ("order=oldest", "bad_request"),
    ] {
        assert_eq!(client.get(&format!("/api/v1/audit?{wrong}")).await.problem(), code, "{wrong}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn it_is_signed_and_verified() {
    let daemon = with_calls(3).await;
    let client = daemon.client();
    let signed = client.post("/api/v1/audit/checkpoint", &json!({})).await.expect(200);
    assert_eq!(signed["checkpoint"]["seq"], 3);
    let found = client.post("/api/v1/audit/verify", &json!({"rows": true})).await.expect(200);
    assert_eq!(found["sound"], true, "{found}");
    assert_eq!((&found["chains"][0]["records"], &found["calls"]["calls"]), (&json!(3), &json!(3)));
    daemon.stop().await;
}

#[tokio::test]
async fn keys_of_other_machines_are_named_in_a_request_or_a_file() {
    let daemon = with_calls(3).await;
    let client = daemon.client();
    client.post("/api/v1/audit/checkpoint", &json!({})).await.expect(200);
    let folder = daemon.folder().join("state/audit");
    let own = std::fs::read_to_string(folder.join(toolcrib_audit::PUBLIC_KEY_FILE)).unwrap();
    // The checkpoints now seem to come from another machine.
    let published = folder.join(toolcrib_audit::PUBLIC_KEY_FILE);
    std::fs::write(&published, "0a".repeat(32)).unwrap();
    let verify = async |body: serde_json::Value| {
        client.post("/api/v1/audit/verify", &body).await.expect(200)["sound"].clone()
    };
    assert_eq!(verify(json!({})).await, false);
    assert_eq!(verify(json!({"keys": [own.trim()]})).await, true);
    let refused = client.post("/api/v1/audit/verify", &json!({"keys": ["no key"]})).await;
    assert_eq!(refused.problem(), "invalid");
    std::fs::write(folder.join(toolcrib_audit::OTHER_KEYS_FILE), &own).unwrap();
    assert_eq!(verify(json!({})).await, true);
    daemon.stop().await;
}

#[tokio::test]
async fn an_export_is_verified_elsewhere() {
    let daemon = with_calls(3).await;
    let client = daemon.client();
    client.post("/api/v1/audit/checkpoint", &json!({})).await.expect(200);
    let export = client.get("/api/v1/audit/export").await;
    assert_eq!(export.status, 200);
    let folder = daemon.folder().join("state/audit");
    let key = std::fs::read_to_string(folder.join(toolcrib_audit::PUBLIC_KEY_FILE)).unwrap();
    let evidence = Evidence { keys: TrustedKeys::parse(&key).unwrap(), ..Evidence::default() };
    let check =
        |text: &str| verify_export(text.as_bytes(), &evidence).map(|reports| reports[0].is_sound());
    // Three calls and the record of the export.
    assert_eq!(export.text.matches("\"type\":\"record\"").count(), 4);
    assert!(check(&export.text).unwrap());
    let forged = export.text.replacen("get_current_time", "get_currant_time", 1);
    assert!(!check(&forged).unwrap());
    let later = client.get("/api/v1/audit/export?from=4").await;
    let first: Value = serde_json::from_str(later.text.lines().next().unwrap()).unwrap();
    assert_eq!(first["after"], 3);
    assert_eq!(client.get("/api/v1/audit/export?from=1&since=1").await.problem(), "invalid");
    AuditKey::open(&folder).unwrap();
    daemon.stop().await;
}

#[tokio::test]
async fn a_bundle_is_verified_elsewhere() {
    let daemon = with_calls(3).await;
    let bundle = daemon.client().get("/api/v1/audit/bundle").await;
    assert_eq!(
        (bundle.status.as_u16(), &bundle.headers["content-type"]),
        (200, &"application/x-tar".parse().unwrap())
    );
    let folder = daemon.folder().join("state/audit");
    let key = std::fs::read_to_string(folder.join(toolcrib_audit::PUBLIC_KEY_FILE)).unwrap();
    let verify = |text: &str| {
        let evidence =
            BundleEvidence { keys: Some(TrustedKeys::parse(&key).unwrap()), anchors: None };
        verify_bundle(Cursor::new(text.as_bytes()), evidence).unwrap()
    };
    let found = verify(&bundle.text);
    assert!(found.is_sound(), "{found:?}");
    // Three calls and the record of the bundle.
    assert_eq!((found.chains[0].records, found.chains[0].signed), (4, 4));
    assert!(!verify(&bundle.text.replacen("get_current_time", "get_currant_time", 1)).is_sound());
    let made = daemon
        .client()
        .post("/api/v1/tokens", &json!({"name": "a", "roles": ["operator"]}))
        .await
        .expect(201);
    let operator = daemon.anybody().with_token(made["token"].as_str().unwrap());
    assert_eq!(operator.get("/api/v1/audit/bundle").await.status.as_u16(), 403);
    daemon.stop().await;
}

/// A viewer sees calls and decisions, but not the texts that may repeat arguments.
#[tokio::test]
async fn a_viewer_sees_no_words_of_calls() {
    let daemon = TestDaemon::start().await;
    let mut event = AuditEvent::new(AuditKind::Asked, 1, Arc::default());
    event.tool = Some("shell".to_owned());
    event.policy = Some("ask Bash(git push:*)".to_owned());
    event.reasons = vec!["it runs git push".to_owned()];
    daemon.toolcrib.stores().audit.append(event).await.unwrap();
    let grant = json!({"name": "eyes", "roles": ["viewer"]});
    let made = daemon.client().post("/api/v1/tokens", &grant).await.expect(201);
    let viewer = daemon.anybody().with_token(made["token"].as_str().unwrap());
    let of = async |client: &crate::support::Client| {
        client.get("/api/v1/audit?kind=asked").await.expect(200)["items"][0]["record"].clone()
    };
    let (owner, seen) = (of(&daemon.client()).await, of(&viewer).await);
    assert!(owner["policy"].is_string() && owner["reasons"].is_array(), "{owner}");
    assert_eq!(seen["tool"], "shell");
    assert!(seen["policy"].is_null() && seen["reasons"].is_null(), "{seen}");
    assert_eq!(viewer.get("/api/v1/audit/export").await.problem(), "forbidden");
    assert_eq!(viewer.get("/api/v1/secrets").await.problem(), "forbidden");
    assert_eq!(viewer.get("/metrics").await.status, 200);
    daemon.stop().await;
}
