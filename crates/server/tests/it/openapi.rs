//! The OpenAPI document, and the routes that it is generated from.

use toolcrib_server::{Access, Role, operations};

use crate::support::TestDaemon;

#[tokio::test]
async fn the_document_names_every_route() {
    let daemon = TestDaemon::start().await;
    let document = daemon.anybody().get("/openapi.json").await.expect(200);
    assert_eq!(document["openapi"], "3.1.0");
    for operation in operations() {
        let method = operation.method.as_str().to_lowercase();
        let described = &document["paths"][operation.full_path()][&method];
        assert!(described["responses"].is_object(), "{method} {}", operation.path);
    }
    daemon.stop().await;
}

/// Every role at every route: a client without the role is refused before any other check.
#[tokio::test]
async fn a_route_that_is_not_open_needs_a_token() {
    let daemon = TestDaemon::start().await;
    let anybody = daemon.anybody();
    for operation in operations() {
        let path = operation.full_path().replace(['{', '}', '*'], "");
        let answer = anybody.send(operation.method.clone(), &path, None).await;
        match operation.access {
            // Without a body or an existing file the request may fail, but not because of a missing
            // token.
            Access::Public => {
                assert!(![401, 403].contains(&answer.status.as_u16()), "{path}: {}", answer.text);
            }
            Access::Role(_) => assert_eq!(answer.problem(), "unauthorized", "{path}"),
        }
    }
    assert!(operations().iter().any(|one| one.access == Access::Role(Role::Viewer)));
    daemon.stop().await;
}

/// Every list, and every document without a variable part, documents its status 304; and every
/// operation that documents it answers 304.
#[tokio::test]
async fn what_is_not_sent_again_is_documented() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let document = client.get("/openapi.json").await.expect(200);
    let mut tagged = 0;
    for operation in operations() {
        let path = operation.full_path();
        let described = &document["paths"][&path]["get"];
        let is_stream = described.pointer("/responses/200/content/text~1event-stream").is_some();
        if operation.method != "GET" || path.contains('{') || is_stream {
            continue;
        }
        let parameters = described["parameters"].as_array().unwrap();
        let says = described["responses"]["304"].is_object();
        assert_eq!(says, parameters.iter().any(|one| one["name"] == "if-none-match"), "{path}");
        let first = client.get(&path).await;
        if !first.status.is_success() {
            // The list is unavailable, such as secrets without a vault.
            assert_ne!(first.problem(), "internal", "{path}");
            continue;
        }
        let tag = first.headers.get("etag").and_then(|tag| tag.to_str().ok()).unwrap_or("\"-\"");
        let again = client.clone().with("if-none-match", tag).get(&path).await;
        assert_eq!(again.status == 304, says, "{path}");
        if says {
            assert!(again.text.is_empty() && again.headers["etag"] == tag, "{path}");
            tagged += 1;
        }
    }
    assert!(tagged > 10, "{tagged}");
    daemon.stop().await;
}

/// The document contains streamed bodies and responses as well as the JSON ones.
#[tokio::test]
async fn streams_are_documented() {
    let daemon = TestDaemon::start().await;
    let document = daemon.client().get("/openapi.json").await.expect(200);
    let kinds = |pointer: &str| -> Vec<String> {
        document.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect()
    };
    let both = ["application/json", "text/event-stream"];
    assert_eq!(kinds("/paths/~1api~1v1~1exec/post/requestBody/content"), both);
    assert_eq!(kinds("/paths/~1api~1v1~1runs/post/responses/200/content"), both);
    daemon.stop().await;
}
