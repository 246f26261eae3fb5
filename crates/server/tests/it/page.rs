//! The files of the page, as served to a browser.

use serde_json::json;

use crate::support::TestDaemon;

#[tokio::test]
async fn the_page_is_served_compressed_under_a_strict_policy() {
    let daemon = TestDaemon::start().await;
    let page = daemon.anybody().get("/").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("<div id=\"app\">"), "{}", page.text);
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self';",
        "style-src 'self';",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let tag = page.headers["etag"].to_str().unwrap();
    assert_eq!(daemon.anybody().with("if-none-match", tag).get("/").await.status, 304);
    let script = page.text.split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert!(script.starts_with("/assets/"), "{script}");
    let plain = daemon.anybody().get(script).await;
    let packed = daemon.anybody().with("accept-encoding", "br").get(script).await;
    assert_eq!(packed.headers["content-encoding"], "br");
    let length: usize = packed.headers["content-length"].to_str().unwrap().parse().unwrap();
    assert!(length * 2 < plain.text.len(), "it is compressed");
    assert!(packed.headers["cache-control"].to_str().unwrap().contains("immutable"));
    for missing in ["/assets/none.js", "/assets/..%2findex.html"] {
        assert_eq!(daemon.anybody().get(missing).await.problem(), "not_found", "{missing}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_code_signs_a_browser_in_once() {
    let daemon = TestDaemon::start().await;
    let made = daemon.client().post("/api/v1/session/code", &json!({})).await.expect(201);
    assert_eq!(made["seconds"], 60);
    let browser = daemon.anybody().with("origin", &format!("http://{}", daemon.address));
    let body = json!({"code": made["code"]});
    // A page of another origin cannot use the session.
    let foreign = daemon.anybody().with("origin", "http://evil.example");
    assert_eq!(foreign.post("/api/v1/session/sign-in", &body).await.problem(), "misdirected");
    let answer = browser.post("/api/v1/session/sign-in", &body).await;
    let word = answer.expect(201)["word"].as_str().unwrap().to_owned();
    let cookie = answer.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let again = browser.post("/api/v1/session/sign-in", &body).await;
    assert_eq!(again.problem(), "unauthorized");
    let page = browser.clone().with("cookie", cookie).with("x-toolcrib-session", &word);
    let off = json!({"state": "off"});
    page.put("/api/v1/switches/tool:read_file", &off).await.expect(200);
    // A session cannot create other sessions.
    assert_eq!(page.post("/api/v1/session/code", &json!({})).await.problem(), "forbidden");
    assert_eq!(
        daemon.anybody().post("/api/v1/session/code", &json!({})).await.problem(),
        "unauthorized"
    );
    daemon.stop().await;
}
