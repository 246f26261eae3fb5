//! Calls over MCP in both directions: the record of a cancelled call, and images in a result.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{self, DaemonProcess, SlowTool, TestEnv};

const FIXTURE: &str = include_str!("../../../mcp/tests/it/fixture/server.py");

/// Regression: a call that its client had cancelled had a recorded time of 0 ms.
#[test]
fn a_cancelled_call_keeps_its_time() {
    let env = TestEnv::new();
    let slow = SlowTool::new(&env);
    let mut server = env.filter(&["mcp", "serve", "--tools", "mine", "--policy", "auto"]);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    server.ask(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string(),
    );
    let call = json!({"name": "slow", "arguments": {}});
    server.tell(
        &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}).to_string(),
    );
    slow.started();
    let begin = Instant::now();
    // The test measures this time; nothing waits for it.
    let ran = Duration::from_millis(120);
    std::thread::sleep(ran);
    let gone = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2, "reason": "enough"}});
    server.tell(&gone.to_string());
    assert_eq!(server.end(), 0);
    let most = begin.elapsed() + Duration::from_secs(60);
    let rows = support::json(&env.run(&["history", "--json"]).code(0).stdout);
    let row = &rows[0];
    assert_eq!((&row["tool"], &row["status"]), (&json!("slow"), &json!("unknown")), "{rows}");
    let took = row["duration_ms"].as_f64().unwrap();
    assert!(took >= ran.as_secs_f64() * 1e3 && took < most.as_secs_f64() * 1e3, "{row}");
}

/// Regression: images were not shown at all, neither their presence nor their content.
#[test]
fn images_of_a_result_are_named_and_in_json() {
    let env = TestEnv::new();
    add_fixture(&env, &[]);
    let line = ["tool", "call", "fx__content", "--args", "{}", "--policy", "auto"];
    let (reply, _) = env.call("fx__content", &json!({}), &["--policy", "auto"]);
    let image = json!({"type": "image", "media_type": "image/png", "data": "AQID"});
    assert_eq!(reply["blocks"][0], image, "{reply}");
    let check = |stdout: &str| {
        let named = stdout.lines().find_map(|line| line.strip_prefix("[image/png, 3 bytes: "));
        let file = named.unwrap_or_else(|| panic!("{stdout}")).trim_end_matches(']');
        assert!(file.ends_with(".png"), "{file}");
        assert_eq!(std::fs::read(file).unwrap(), [1, 2, 3]);
        std::fs::remove_file(file).unwrap();
    };
    check(&env.run(&line).code(0).stdout);
    let daemon = DaemonProcess::start(&env, &["--policy", "auto"]);
    check(&env.run(&["tool", "call", "fx__content", "--args", "{}", "--daemon"]).code(0).stdout);
    daemon.stop(&env).0.code(0);
}

fn add_fixture(env: &TestEnv, more: &[&str]) {
    env.write("server.py", FIXTURE);
    std::fs::create_dir_all(env.root().join("own")).unwrap();
    let path = |name: &str| env.root().join(name).display().to_string();
    let (server, own) = (path("server.py"), path("own"));
    let words = [&["mcp", "add", "fx", "--write", &own], more, &["--", "python3", &server, &own]];
    env.run(&words.concat()).code(0);
    env.run(&["mcp", "test", "fx", "--accept"]).code(0);
}

/// Regression: all results of a server counted as untrusted text, even if the owner trusts the
/// server.
#[test]
fn results_of_a_server_count_as_its_owner_says() {
    let env = TestEnv::new();
    add_fixture(&env, &["--trust-results", "add"]);
    let trust = |tool: &str, args: &Value| {
        let (reply, _) = env.call(tool, args, &["--policy", "auto"]);
        (reply["trust"].as_str().unwrap_or("tool").to_owned(), reply["source"].clone())
    };
    let (add, source) = trust("fx__add", &json!({"a": 1, "b": 2}));
    assert_eq!(add, "workspace");
    assert!(source.to_string().contains("whose results the owner counts as text of the workspace"));
    assert_eq!(trust("fx__pid", &json!({})).0, "external");
    let call = support::json(&env.run(&["history", "--json"]).code(0).stdout)[1]["call"].clone();
    let explained = env.run(&["explain", call.as_str().unwrap()]).code(0).stdout;
    assert!(explained.contains("the owner counts as text of the workspace"), "{explained}");
}

#[test]
fn ping_is_of_the_older_revisions_alone() {
    let env = TestEnv::new();
    let ping = |params: Value| {
        json!({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": params}).to_string()
    };
    let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}});
    // The revision of a client is unknown before its first other request.
    let mut modern = env.filter(&["mcp", "serve"]);
    modern.ask(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": meta}).to_string(),
    );
    let refused = modern.ask(&ping(meta.clone()));
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    let mut server = env.filter(&["mcp", "serve"]);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    server.ask(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string(),
    );
    assert_eq!(server.ask(&ping(json!({})))["result"], json!({}));
}

/// Regression: a client with a subscription kept the server alive after its input had ended.
#[test]
fn an_open_subscription_ends_with_the_input() {
    let env = TestEnv::new();
    let mut server = env.filter(&["mcp", "serve"]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"_meta": meta, "notifications": {"toolsListChanged": true}});
    let listen =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let first = server.ask(&listen.to_string());
    assert!(first.get("error").is_none(), "{first}");
    let begin = Instant::now();
    server.close();
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn the_workspace_is_part_of_what_a_client_is_told() {
    let env = TestEnv::new();
    let printed = env.run(&["mcp", "connect", "cursor"]).code(0).stdout;
    let server = &support::json(&printed)["mcpServers"]["toolcrib"];
    let root = env.root().canonicalize().unwrap().display().to_string();
    assert_eq!(server["args"], json!(["mcp", "serve", "--root", root]), "{printed}");
}

#[test]
fn ending_a_session_has_no_content() {
    let env = TestEnv::new();
    let daemon = DaemonProcess::start(&env, &[]);
    let token = env.run(&["token", "show"]).code(0).stdout;
    let send = |method: &str, more: &str, body: &str| {
        let length = body.len();
        daemon.raw(&format!(
            "{method} /mcp HTTP/1.1\r\nHost: {{host}}\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{more}Content-Length: {length}\r\n\r\n{body}",
            token.trim()
        ))
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let begun = send("POST", "", &hello.to_string());
    let lower = begun.to_lowercase();
    let session = lower.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let session = format!("mcp-session-id: {}\r\n", session.unwrap_or_else(|| panic!("{begun}")));
    let ended = send("DELETE", &session, "");
    assert!(ended.starts_with("HTTP/1.1 204"), "{ended}");
    daemon.stop(&env).0.code(0);
}
