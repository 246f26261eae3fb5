//! Calls over MCP, both ways: what a cancelled one leaves behind, and images of a result.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{self, DaemonProcess, SlowTool, TestEnv};

const FIXTURE: &str = include_str!("../../../mcp/tests/it/fixture/server.py");

/// A call that its client had cancelled ran for 0 ms, as its record said.
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
    // The time is what is measured here; nothing waits for it.
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

/// Nothing of an image was shown: neither that there is one, nor the image.
#[test]
fn images_of_a_result_are_named_and_in_json() {
    let env = TestEnv::new();
    env.write("server.py", FIXTURE);
    std::fs::create_dir(env.root().join("own")).unwrap();
    let path = |name: &str| env.root().join(name).display().to_string();
    let (server, own) = (path("server.py"), path("own"));
    env.run(&["mcp", "add", "fx", "--write", &own, "--", "python3", &server, &own]).code(0);
    env.run(&["mcp", "test", "fx", "--accept"]).code(0);
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
