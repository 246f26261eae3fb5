//! Files of the workspace, changes in it, and stored results.

use std::sync::Arc;

use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::{HeaderMap, Method, Request, StatusCode};
use serde_json::{Value, json};
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{CallId, ToolOutput, Trust};
use toolcrib_testkit::ScriptedTool;

use crate::calls::with_tools;
use crate::support::TestDaemon;

/// Sends a request with bytes as its body.
async fn bytes(
    daemon: &TestDaemon,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> (StatusCode, HeaderMap, Vec<u8>) {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", daemon.address.to_string())
        .header("authorization", format!("Bearer {}", daemon.token()))
        .header("content-type", "application/octet-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let stream = tokio::net::TcpStream::connect(daemon.address).await.unwrap();
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(request.body(body.into()).unwrap()).await.unwrap();
    let (head, body) = response.into_parts();
    (head.status, head.headers, body.collect().await.unwrap().to_bytes().to_vec())
}

fn code(body: &[u8]) -> String {
    let problem: Value = serde_json::from_slice(body).unwrap();
    problem["code"].as_str().unwrap_or_else(|| panic!("{problem}")).to_owned()
}

#[tokio::test]
async fn a_file_is_written_read_and_only_replaced_by_who_has_read_it() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let put = async |headers: &[(&str, &str)], text: &str| {
        bytes(&daemon, Method::PUT, "/api/v1/files?path=notes.md", headers, text.to_owned()).await
    };
    let (status, _, body) = put(&[("if-none-match", "*")], "one\n").await;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    let (_, _, body) = put(&[("if-none-match", "*")], "two\n").await;
    assert_eq!(code(&body), "stale");
    let (_, _, body) = put(&[], "two\n").await;
    assert_eq!(code(&body), "needs_match");
    let read = client.get("/api/v1/files?path=notes.md").await;
    assert_eq!(read.expect(200)["text"], "one\n");
    let tag = read.headers["etag"].to_str().unwrap();
    let (status, headers, _) = put(&[("if-match", tag)], "two\n").await;
    assert_eq!(status, 200);
    let (_, _, body) = put(&[("if-match", tag)], "three\n").await;
    assert_eq!(code(&body), "stale");
    let read = client.get("/api/v1/files?path=notes.md").await;
    assert_eq!(read.headers["etag"], headers["etag"], "what was written is what is read");
    let (status, _, _) = put(&[("if-match", "*")], "four\n").await;
    assert_eq!(status, 200);
    assert_eq!(std::fs::read_to_string(daemon.workspace().join("notes.md")).unwrap(), "four\n");
    let listed = client.get("/api/v1/files/list").await.expect(200);
    assert_eq!(listed["structured"]["entries"][0]["name"], "notes.md");
    // Each operation was an ordinary call.
    let calls = client.get("/api/v1/calls?tool=write_file").await.expect(200);
    assert_eq!(calls["items"].as_array().unwrap().len(), 3);
    daemon.stop().await;
}

/// A file that exceeds the limit for models is still read whole, and its tag is valid.
#[tokio::test]
async fn a_long_file_is_read_whole() {
    let daemon = TestDaemon::start().await;
    let text: String = (0..9_000).map(|line| format!("line {line}\n")).collect();
    std::fs::write(daemon.workspace().join("long.txt"), &text).unwrap();
    let read = daemon.client().get("/api/v1/files?path=long.txt").await;
    assert!(read.expect(200)["text"].as_str().unwrap() == text);
    let tag = read.headers["etag"].to_str().unwrap();
    let (status, _, _) =
        bytes(&daemon, Method::PUT, "/api/v1/files?path=long.txt", &[("if-match", tag)], "short")
            .await;
    assert_eq!(status, 200);
    daemon.stop().await;
}

/// The bytes of an image are never given out under a type that a browser would render on the
/// daemon's origin.
#[tokio::test]
async fn an_image_is_given_out_as_bytes_without_its_type() {
    let daemon = TestDaemon::start().await;
    let image = [&b"\x89PNG\r\n\x1a\n"[..], &[0; 40]].concat();
    std::fs::write(daemon.workspace().join("photo.png"), &image).unwrap();
    std::fs::write(daemon.workspace().join("page.png"), "<script>1</script>").unwrap();
    let content = async |name: &str| {
        let path = format!("/api/v1/files/image?path={name}");
        bytes(&daemon, Method::GET, &path, &[], Body::empty()).await
    };
    let (status, headers, body) = content("photo.png").await;
    assert_eq!((status, body), (StatusCode::OK, image));
    assert_eq!(headers["content-type"], "application/octet-stream");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    let (status, _, body) = content("page.png").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(String::from_utf8_lossy(&body).contains("is not a PNG"));
    // A call of a model sees the image.
    let call = json!({"tool": "read_file", "arguments": {"path": "photo.png", "image": true}});
    let answer = daemon.client().post("/api/v1/calls", &call).await.expect(200);
    assert_eq!(answer["blocks"][0]["media_type"], "image/png", "{answer}");

    let large = std::fs::File::options().write(true).open(daemon.workspace().join("photo.png"));
    large.unwrap().set_len(5 * 1024 * 1024 + 1).unwrap();
    let (status, _, body) = content("photo.png").await;
    let problem: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(problem["error_type"], "file_too_large", "{status}: {problem}");
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_out_of_reach_of_tools_is_out_of_reach_here() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let check = async |path: &str, status: u16, why: &str| {
        let answer = client.get(path).await.expect(status);
        assert_eq!(answer["error_type"], why, "{path}");
    };
    check("/api/v1/files?path=gone.txt", 404, "file_not_found").await;
    check("/api/v1/files?path=../state/daemon/token", 403, "path_not_allowed").await;
    check("/api/v1/files?path=/etc/passwd", 403, "path_not_allowed").await;
    assert_eq!(client.get("/api/v1/files").await.problem(), "bad_request");
    let (_, _, body) =
        bytes(&daemon, Method::PUT, "/api/v1/files?path=a.bin", &[], vec![0xff, 0xfe, 0x00]).await;
    assert_eq!(code(&body), "invalid");
    client.put("/api/v1/switches/tool:read_file", &json!({"state": "off"})).await.expect(200);
    check("/api/v1/files?path=notes.md", 403, "tool_disabled").await;
    daemon.stop().await;
}

#[tokio::test]
async fn changes_are_listed_and_taken_back() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    for text in ["one", "two"] {
        let (status, _, _) =
            bytes(&daemon, Method::PUT, "/api/v1/files?path=a.txt", &[("if-match", "*")], text)
                .await;
        assert_eq!(status, 200);
    }
    let changes = client.get("/api/v1/changes").await.expect(200);
    let newest = changes["items"][0]["id"].as_u64().unwrap();
    assert_eq!(changes["items"].as_array().unwrap().len(), 2);
    let undo = async |body: Value| client.post("/api/v1/changes/undo", &body).await;
    assert_eq!(undo(json!({"newest": newest - 1})).await.problem(), "stale");
    assert_eq!(undo(json!({"newest": newest, "count": 51})).await.problem(), "invalid");
    let undone = undo(json!({"newest": newest})).await.expect(200);
    assert_eq!(undone["undone"].as_array().unwrap().len(), 1);
    let file = daemon.workspace().join("a.txt");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
    let listed = client.get("/api/v1/changes?undone=true").await.expect(200);
    assert_eq!(listed["items"][0]["id"], json!(newest));
    let body = json!({"direction": "redo", "changes": [newest]});
    let preview = client.post("/api/v1/changes/preview", &body).await.expect(200);
    assert_eq!(preview["files"][0]["act"], "change");
    assert!(preview["files"][0]["diff"].as_str().unwrap().contains("-one"), "{preview}");
    let redo = async |body: Value| client.post("/api/v1/changes/redo", &body).await;
    let redone = redo(json!({"changes": [newest]})).await.expect(200);
    let again = redone["redone"][0]["change"]["id"].as_u64().unwrap();
    assert!(again > newest, "a number is given once");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
    assert_eq!(redo(json!({"changes": [newest]})).await.problem(), "stale");
    assert_eq!(redo(json!({"changes": []})).await.problem(), "invalid");
    assert_eq!(undo(json!({"changes": [newest]})).await.problem(), "stale");
    assert_eq!(undo(json!({"changes": [again], "newest": again})).await.problem(), "invalid");
    undo(json!({"changes": [again]})).await.expect(200);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
    let call = undone["undone"][0]["change"]["call"].as_str().unwrap();
    let row = client.get(&format!("/api/v1/calls/{call}/explain")).await.expect(200);
    assert!(row["facts"]["undone_at"].is_i64(), "{row}");
    std::fs::write(&file, "somebody else's").unwrap();
    let newest = client.get("/api/v1/changes").await.expect(200)["items"][0]["id"].clone();
    let refused = undo(json!({"newest": newest})).await;
    assert_eq!(refused.problem(), "conflict");
    assert!(refused.json()["about"]["refused"]["why"].is_string());
    undo(json!({"newest": newest, "force": true})).await.expect(200);
    assert!(!file.exists());
    daemon.stop().await;
}

#[tokio::test]
async fn a_stored_result_is_read_in_parts_and_never_shown_as_a_page() {
    let text: String = (0..5_000).map(|line| format!("line <b>{line}</b>\n")).collect();
    let long = Arc::new(ScriptedTool::new("long").returns(ToolOutput::text(text.clone())));
    let daemon = TestDaemon::with(with_tools(&[&long])).await;
    let client = daemon.client();
    let done = client.post("/api/v1/calls", &json!({"tool": "long"})).await.expect(200);
    let name = done["artifact"].as_str().unwrap();
    let place = format!("/api/v1/artifacts/{name}");
    let meta = client.get(&place).await.expect(200);
    assert_eq!((&meta["artifact"], &meta["call"]), (&json!(name), &done["call"]));
    let bytes_of = meta["bytes"].as_u64().unwrap();
    assert_eq!(client.get("/api/v1/artifacts").await.expect(200)["items"][0], meta);

    let content = format!("{place}/content");
    let (status, headers, body) = bytes(&daemon, Method::GET, &content, &[], "").await;
    assert_eq!((status, body.len() as u64), (StatusCode::OK, bytes_of));
    assert!(body == text.as_bytes());
    assert_eq!(headers["content-type"], "application/octet-stream");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert!(headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
    let (status, headers, body) =
        bytes(&daemon, Method::GET, &content, &[("range", "bytes=10-19")], "").await;
    assert_eq!((status, body.as_slice()), (StatusCode::PARTIAL_CONTENT, &text.as_bytes()[10..20]));
    assert_eq!(headers["content-range"], format!("bytes 10-19/{bytes_of}"));
    let (status, headers, _) =
        bytes(&daemon, Method::GET, &content, &[("range", "bytes=999999999-")], "").await;
    assert_eq!(status, StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(headers["content-range"], format!("bytes */{bytes_of}"));
    let changed = [("range", "bytes=10-19"), ("if-range", "\"other\"")];
    assert_eq!(bytes(&daemon, Method::GET, &content, &changed, "").await.0, 200);

    let page = client.get(&format!("{place}/page?offset=100&limit=50")).await.expect(200);
    assert_eq!(page["tool"], "read_artifact");
    assert!(page["result"].as_str().unwrap().contains("Bytes 100"));
    let wrong = client.get(&format!("{place}/page?pattern=(")).await.expect(422);
    assert_eq!(wrong["error_type"], "validation_error");
    assert_eq!(client.get("/api/v1/artifacts/../../etc/content").await.problem(), "not_found");
    let unknown = format!("/api/v1/artifacts/art_{}", "0".repeat(32));
    assert_eq!(client.get(&unknown).await.problem(), "not_found");
    assert_eq!(client.delete(&place).await.status, 204);
    assert_eq!(client.get(&content).await.problem(), "not_found");
    daemon.stop().await;
}

/// A slow reader does not continue with a revoked token, and the client cannot mistake the received
/// part for the whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_breaks_off_with_its_token() {
    const BYTES: usize = 48 * 1024 * 1024;
    let daemon = TestDaemon::start().await;
    let mut writer = daemon.toolcrib.stores().artifacts.create(large()).unwrap();
    for _ in 0..BYTES / (1024 * 1024) {
        writer.write(&[b'x'; 1024 * 1024]).unwrap();
    }
    let meta = writer.finish().unwrap();
    assert_eq!(meta.bytes, BYTES as u64);
    let (token, id) =
        crate::tokens::made(&daemon, json!({"name": "x", "roles": ["viewer", "caller"]})).await;
    let line = format!("GET /api/v1/artifacts/{}/content", meta.artifact);
    let headers = format!("Authorization: Bearer {token}\r\n");
    let mut stream = tokio::net::TcpStream::connect(daemon.address).await.unwrap();
    let sent = crate::raw_http::request(daemon.address, &line, &headers);
    tokio::io::AsyncWriteExt::write_all(&mut stream, sent.as_bytes()).await.unwrap();
    let begin = crate::raw_http::until(&mut stream, "\r\n\r\n").await;
    assert!(begin.starts_with("HTTP/1.1 200"), "{begin:.200}");
    assert_eq!(daemon.client().delete(&format!("/api/v1/tokens/{id}")).await.status, 204);
    let (mut came, mut piece) = (begin.len(), vec![0; 64 * 1024]);
    while let Ok(read @ 1..) = tokio::io::AsyncReadExt::read(&mut stream, &mut piece).await {
        came += read;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(came < BYTES, "all of it came");
    daemon.stop().await;
}

fn large() -> NewArtifact {
    NewArtifact {
        owner: String::new(),
        media_type: "text/plain".to_owned(),
        trust: Trust::Workspace,
        source: None,
        call: CallId::fresh(),
        run: None,
        conversation: String::new(),
    }
}

/// A secret that is shown as `***` stays unchanged: the mask cannot be written over it.
#[tokio::test]
async fn a_secret_in_a_file_is_not_replaced_by_its_mask() {
    let daemon = TestDaemon::start().await;
    daemon.toolcrib.engine().sealing().secrets.add(["s3cr3t-value-9"]);
    let file = daemon.workspace().join("env");
    let held = "key = s3cr3t-value-9\nname = a\n";
    std::fs::write(&file, held).unwrap();
    let read = daemon.client().get("/api/v1/files?path=env").await;
    let text = read.expect(200)["text"].as_str().unwrap().to_owned();
    assert_eq!(text, "key = ***\nname = a\n");
    let tag = read.headers["etag"].to_str().unwrap();
    let put = async |path: &str, tag: &str, text: &str| {
        let path = format!("/api/v1/files?path={path}");
        bytes(&daemon, Method::PUT, &path, &[("if-match", tag)], text.to_owned()).await
    };
    for tag in [tag, "*"] {
        let (status, _, body) = put("env", tag, &text.replace("name = a", "name = b")).await;
        assert_eq!((status.as_u16(), &*code(&body)), (409, "conflict"));
        assert!(String::from_utf8_lossy(&body).contains("edit_file"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), held);
    }
    // A text without a mask is written as it is, and its tag belongs to the masked form of the new
    // text.
    let (status, headers, _) = put("env", tag, "key = s3cr3t-value-9\n").await;
    assert_eq!(status, 200);
    let read = daemon.client().get("/api/v1/files?path=env").await;
    assert_eq!(
        (&read.headers["etag"], read.expect(200)["text"].as_str()),
        (&headers["etag"], Some("key = ***\n"))
    );
    assert_eq!(put("env", headers["etag"].to_str().unwrap(), "key = none\n").await.0, 200);
    // Asterisks of the file itself do not count as a mask.
    assert_eq!(put("rule.md", "*", "a\n\n***\n\nb\n").await.0, 200);
    assert_eq!(put("rule.md", "*", "a\n\n***\n\nc\n").await.0, 200);
    daemon.stop().await;
}

/// Writing back a sanitized text does not destroy the original content.
#[tokio::test]
async fn what_was_made_harmless_is_only_replaced_on_purpose() {
    let daemon = TestDaemon::start().await;
    let file = daemon.workspace().join("a.txt");
    std::fs::write(&file, "a\u{202e}b\n").unwrap();
    let read = daemon.client().get("/api/v1/files?path=a.txt").await;
    let shown = read.expect(200);
    assert_ne!(shown["neutralised"], json!([]));
    let put = async |tag: &str| {
        let text = shown["text"].as_str().unwrap().to_owned();
        bytes(&daemon, Method::PUT, "/api/v1/files?path=a.txt", &[("if-match", tag)], text).await
    };
    let (_, _, body) = put(read.headers["etag"].to_str().unwrap()).await;
    assert_eq!(code(&body), "conflict");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a\u{202e}b\n");
    assert_eq!(put("*").await.0, 200);
    daemon.stop().await;
}

/// A write of an executed file is a call of `write_file`: it waits for an approval, or is refused.
#[tokio::test]
async fn a_file_that_runs_later_is_not_written_without_a_question() {
    let daemon = TestDaemon::start().await;
    let git = daemon.workspace().join(".git");
    std::fs::create_dir_all(&git).unwrap();
    std::fs::write(git.join("config"), "[core]\n").unwrap();
    for path in [".git/config", ".git/hooks/pre-commit", ".envrc", ".git/commondir"] {
        let path = format!("/api/v1/files?path={path}");
        let headers = [("if-match", "*")];
        let (status, _, body) = bytes(&daemon, Method::PUT, &path, &headers, "evil").await;
        let waits = status == 202;
        assert!(waits || !status.is_success(), "{path}: {}", String::from_utf8_lossy(&body));
    }
    assert_eq!(std::fs::read_to_string(git.join("config")).unwrap(), "[core]\n");
    assert!(!git.join("commondir").exists() && !daemon.workspace().join(".envrc").exists());
    let (status, _, _) =
        bytes(&daemon, Method::PUT, "/api/v1/files?path=a", &[("if-none-match", "*")], "x").await;
    assert_eq!(status, 200);
    daemon.stop().await;
}
