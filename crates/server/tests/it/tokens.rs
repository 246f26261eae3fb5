//! Tokens over HTTP: the permissions of each role, and the end of a token's validity.

use std::time::{Duration, Instant};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use toolcrib_core::{ApiToken, TokenHash, TokenId};
use toolcrib_server::{Access, Operation, Role, Roles, operations};

use crate::raw_http::PATIENCE;
use crate::support::{Client, Plan, TestDaemon};

/// Creates a token with these roles; returns it and its id.
pub(crate) async fn made(daemon: &TestDaemon, body: Value) -> (String, String) {
    let answer = daemon.client().post("/api/v1/tokens", &body).await.expect(201);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&answer["token"]), text(&answer["row"]["id"]))
}

async fn client_of(daemon: &TestDaemon, role: Role) -> Client {
    let (token, _) = made(daemon, json!({"name": role.as_str(), "roles": [role.as_str()]})).await;
    daemon.anybody().with_token(&token)
}

/// Every role at every route: exactly the principals without the role are refused. The test sends a
/// body that no route accepts, so that no operation has an effect.
#[tokio::test]
async fn every_route_is_for_its_role_and_those_above() {
    let daemon = TestDaemon::start().await;
    let mut tried = 0;
    for role in Role::ALL {
        let client = client_of(&daemon, role).await;
        for operation in operations() {
            check_access(&client, role, &operation).await;
            tried += 1;
        }
    }
    assert!(tried > 5 * 40, "{tried}");
    daemon.stop().await;
}

async fn check_access(client: &Client, role: Role, operation: &Operation) {
    let path = operation.full_path().replace(['{', '}', '*'], "");
    let body = json!([]);
    let body = (operation.method != Method::GET).then_some(&body);
    let (method, words) = (operation.method.clone(), format!("{role} {} {path}", operation.method));
    let answered = tokio::time::timeout(PATIENCE, client.open(method, &path, body)).await;
    let Ok(answer) = answered else { panic!("{words}: no answer") };
    let may = match operation.access {
        Access::Public => true,
        Access::Role(needed) => Roles::from_roles(&[role]).allows(needed),
    };
    let status = answer.status();
    assert_ne!(status, StatusCode::UNAUTHORIZED, "{words}");
    if may {
        assert!(status != StatusCode::FORBIDDEN, "{words}");
    } else {
        assert_eq!(status, StatusCode::FORBIDDEN, "{words}");
    }
}

/// Regression, found in review: two tokens had the same name, and the limited one controlled the
/// runs of the other.
#[tokio::test]
async fn a_name_belongs_to_one_valid_token_and_records_tell_tokens_apart() {
    let daemon = TestDaemon::with(Plan { durable: true, ..Plan::default() }).await;
    let wanted = json!({"name": "ci", "roles": ["caller"]});
    let (first, id) = made(&daemon, wanted.clone()).await;
    assert_eq!(daemon.client().post("/api/v1/tokens", &wanted).await.problem(), "conflict");
    let first = daemon.anybody().with_token(&first);
    let run = first.post("/api/v1/runs", &json!({"text": "go", "wait": true})).await.expect(200);
    daemon.client().delete(&format!("/api/v1/tokens/{id}")).await;
    // The name is free again, but the runs of the first token do not belong to the second.
    let limited = json!({"name": "ci", "roles": ["caller"], "tools": ["read_file"]});
    let (second, _) = made(&daemon, limited).await;
    let second = daemon.anybody().with_token(&second);
    let path = format!("/api/v1/runs/{}", run["run"].as_str().unwrap());
    assert_eq!(second.get(&path).await.problem(), "forbidden");
    assert_eq!(second.post(&format!("{path}/stop"), &json!({})).await.problem(), "forbidden");
    daemon.stop().await;
}

#[tokio::test]
async fn a_token_is_shown_once_and_kept_as_its_hash() {
    let daemon = TestDaemon::with(Plan { durable: true, ..Plan::default() }).await;
    let body = json!({"name": "ci", "roles": ["caller", "viewer"], "tools": ["read_file"], "expires_in_seconds": 3600});
    let (token, id) = made(&daemon, body).await;
    assert!(token.starts_with("tcb_") && token.len() == 53, "{token}");
    let shown = daemon.client().get(&format!("/api/v1/tokens/{id}")).await;
    let row = shown.expect(200);
    assert_eq!(row["roles"], json!(["viewer", "caller"]));
    assert_eq!(
        (&row["name"], &row["holds"], &row["tools"]),
        (&json!("ci"), &json!(true), &json!(["read_file"]))
    );
    let lives = row["expires_at"].as_i64().unwrap() - row["created_at"].as_i64().unwrap();
    assert_eq!(lives, 3_600_000);
    let who = daemon.anybody().with_token(&token).get("/api/v1/session").await.expect(200);
    assert_eq!(who["name"], json!(format!("token ci ({id})")));
    assert_eq!(who["roles"], json!(["viewer", "caller"]));
    let (owner, state) = (daemon.token(), daemon.folder().join("state"));
    let _folder = daemon.stop().await;
    let mut looked = 0;
    for file in std::fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(bytes) = std::fs::read(&file) else { continue };
        for secret in [&token, &owner] {
            let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!found, "a token is in {}", file.display());
        }
        looked += 1;
    }
    assert!(looked > 0);
}

#[tokio::test]
async fn what_makes_no_sense_or_goes_too_far_is_refused() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.client();
    for (body, code) in [
        (json!({"roles": ["caller"]}), "bad_request"),
        (json!({"name": "x", "roles": ["root"]}), "bad_request"),
        (json!({"name": "x", "roles": ["caller"], "role": "owner"}), "bad_request"),
        (json!({"name": "x", "roles": []}), "invalid"),
        (json!({"name": "\u{0}", "roles": ["caller"]}), "invalid"),
        (json!({"name": "x", "roles": ["caller"], "expires_in_seconds": -1}), "bad_request"),
    ] {
        assert_eq!(owner.post("/api/v1/tokens", &body).await.problem(), code, "{body}");
    }
    let narrow =
        json!({"name": "n", "roles": ["owner"], "tools": ["read_file"], "expires_in_seconds": 60});
    let (narrow, _) = made(&daemon, narrow).await;
    let narrow = daemon.anybody().with_token(&narrow);
    let wide = json!({"name": "w", "roles": ["caller"]});
    assert_eq!(narrow.post("/api/v1/tokens", &wide).await.problem(), "forbidden");
    for id in [TokenId::fresh().to_string(), "token_1".into(), "x".into()] {
        for method in [Method::GET, Method::DELETE] {
            let answer = owner.send(method, &format!("/api/v1/tokens/{id}"), None).await;
            assert_eq!(answer.problem(), "not_found", "{id}");
        }
    }
    daemon.stop().await;
}

/// A token that names tools can call exactly those, and none of the other tools in view.
#[tokio::test]
async fn a_token_calls_the_tools_that_it_names() {
    let daemon = TestDaemon::start().await;
    for (tools, reads, lists) in [
        (json!(["read_file"]), true, false),
        (json!(["read_*"]), true, false),
        (json!(["list_dir", "read_file"]), true, true),
        (json!(["no_such_tool"]), false, false),
        (json!([]), false, false),
        (json!(null), true, true),
    ] {
        let body = json!({"name": tools.to_string(), "roles": ["caller"], "tools": tools});
        let client = daemon.anybody().with_token(&made(&daemon, body).await.0);
        for (tool, may) in [("read_file", reads), ("list_dir", lists)] {
            let call = json!({"tool": tool, "arguments": {"path": "."}});
            let text = client.post("/api/v1/calls", &call).await.text;
            let is_refused = text.contains("is not available");
            assert_eq!(!is_refused, may, "{tools} {tool}: {text}");
        }
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_list_of_tokens_comes_in_pages() {
    let daemon = TestDaemon::start().await;
    for n in 0..5 {
        made(&daemon, json!({"name": format!("t{n}"), "roles": ["viewer"]})).await;
    }
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let page =
            daemon.client().get(&format!("/api/v1/tokens?limit=2{cursor}")).await.expect(200);
        let items = page["items"].as_array().unwrap();
        names.extend(items.iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(names, ["t0", "t1", "t2", "t3", "t4"]);
    daemon.stop().await;
}

/// An invented token, a token of another daemon and a revoked token are indistinguishable, wherever
/// the token was revoked.
#[tokio::test]
async fn an_invalid_identity_is_anonymous() {
    let plan = Plan {
        daemon: Box::new(|settings| settings.failed_logins_per_minute = 1_000),
        ..Plan::default()
    };
    let (daemon, other) = (TestDaemon::with(plan).await, TestDaemon::start().await);
    let (foreign, _) = made(&other, json!({"name": "x", "roles": ["owner"]})).await;
    let (revoked, id) = made(&daemon, json!({"name": "x", "roles": ["caller"]})).await;
    let client = daemon.anybody().with_token(&revoked);
    assert_eq!(client.get("/api/v1/tools").await.status, 200);
    for _ in 0..2 {
        let answer = daemon.client().delete(&format!("/api/v1/tokens/{id}")).await;
        assert_eq!(answer.status, 204);
        assert_eq!(client.get("/api/v1/tools").await.problem(), "unauthorized");
    }
    let (ended, _) = made(&daemon, json!({"name": "x", "roles": ["caller"]})).await;
    ended_elsewhere(&daemon, &ended).await;
    for token in
        [&foreign, &revoked, &ended, &other.token(), "", "tcb_", &ended[..52], &"x".repeat(20_000)]
    {
        let answer = daemon.anybody().with_token(token).get("/api/v1/tools").await;
        assert_eq!(answer.problem(), "unauthorized", "{token}");
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
        assert!(answer.text.contains("is not valid"), "{}", answer.text);
    }
    daemon.stop().await;
    other.stop().await;
}

/// Revokes a token in the store, as another program would.
async fn ended_elsewhere(daemon: &TestDaemon, token: &str) {
    let store = &daemon.toolcrib.stores().tokens;
    let row = store.token_by_hash(&TokenHash::from_token(token)).await.unwrap().unwrap();
    assert!(store.revoke_token(row.id, "test", 1).await.unwrap());
}

#[tokio::test]
async fn a_token_ends_by_itself() {
    let daemon = TestDaemon::start().await;
    let (fresh, _) =
        made(&daemon, json!({"name": "x", "roles": ["caller"], "expires_in_seconds": 1})).await;
    let store = &daemon.toolcrib.stores().tokens;
    let row: ApiToken = store.token_by_hash(&TokenHash::from_token(&fresh)).await.unwrap().unwrap();
    assert!(row.is_valid_at(row.created_at) && !row.is_valid_at(row.created_at + 1_000));
    let client = daemon.anybody().with_token(&fresh);
    let until = Instant::now() + PATIENCE;
    while client.get("/api/v1/tools").await.status == 200 {
        assert!(Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(jiff::Timestamp::now().as_millisecond() >= row.created_at + 1_000);
    daemon.stop().await;
}

/// A token that one daemon revokes is valid on the other for less than a second; tokens and the
/// token of the machine survive a restart.
#[tokio::test]
async fn daemons_of_one_store_know_the_same_tokens() {
    let durable = || Plan { durable: true, ..Plan::default() };
    let first = TestDaemon::with(durable()).await;
    let machine = first.token();
    let (token, id) = made(&first, json!({"name": "x", "roles": ["caller"]})).await;
    let folder = first.stop().await;
    let first = TestDaemon::in_folder(folder.clone(), durable()).await;
    assert_eq!(first.token(), machine);
    let second = TestDaemon::in_folder(folder, durable()).await;
    let clients = [&first, &second].map(|daemon| daemon.anybody().with_token(&token));
    for client in &clients {
        assert_eq!(client.get("/api/v1/tools").await.status, 200);
    }
    let mut stream = second_stream(&clients[1]).await;
    assert_eq!(first.client().delete(&format!("/api/v1/tokens/{id}")).await.status, 204);
    assert_eq!(clients[0].get("/api/v1/tools").await.status, 401);
    let until = Instant::now() + PATIENCE;
    while clients[1].get("/api/v1/tools").await.status == 200 {
        assert!(Instant::now() < until, "the token still holds elsewhere");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // An open stream ends, too.
    let ended = tokio::time::timeout(PATIENCE, async {
        use http_body_util::BodyExt as _;
        while stream.body_mut().frame().await.is_some() {}
    });
    assert!(ended.await.is_ok(), "the stream goes on");
    let listed = second.client().get("/api/v1/tokens").await.expect(200);
    assert!(listed["items"][0]["last_used_at"].is_i64(), "{listed}");
    assert_eq!(listed["items"][0]["revoked_by"], "owner");
    second.stop().await;
    first.stop().await;
}

async fn second_stream(client: &Client) -> hyper::Response<hyper::body::Incoming> {
    let stream = client.open(Method::GET, "/api/v1/events", None).await;
    assert_eq!(stream.status(), 200);
    stream
}
