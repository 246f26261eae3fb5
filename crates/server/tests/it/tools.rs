//! Tools over HTTP.

use crate::support::TestDaemon;

#[tokio::test]
async fn all_tools_are_listed_with_their_state() {
    let daemon = TestDaemon::start().await;
    let answer = daemon.client().get("/api/v1/tools").await;
    let tools = answer.expect(200);
    let names: Vec<&str> =
        tools["items"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"read_file"), "{names:?}");
    let tag = answer.headers["etag"].to_str().unwrap();
    let again = daemon.client().with("if-none-match", tag).get("/api/v1/tools").await;
    assert_eq!(again.status, 304);
    daemon.stop().await;
}
