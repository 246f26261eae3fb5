//! The document that describes the interface, and the routes that it is made from.

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

/// Role times route: whoever lacks the role is refused before anything else is looked at.
#[tokio::test]
async fn a_route_that_is_not_open_needs_a_token() {
    let daemon = TestDaemon::start().await;
    let anybody = daemon.anybody();
    for operation in operations() {
        let path = operation.full_path().replace(['{', '}', '*'], "");
        let answer = anybody.send(operation.method.clone(), &path, None).await;
        match operation.access {
            Access::Anybody => assert!(answer.status.is_success(), "{path}"),
            Access::Role(_) => assert_eq!(answer.problem(), "unauthorized", "{path}"),
        }
    }
    assert!(operations().iter().any(|one| one.access == Access::Role(Role::Viewer)));
    daemon.stop().await;
}
