//! Tools cannot reach the daemon that runs them: neither over the socket nor over its port nor with
//! the files that clients use.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib_app::ToolFolder;

use crate::raw_http::exchange_on;
use crate::support::{Plan, TestDaemon};

/// The program that a tool of the test starts: this executable, as a process that sends a request
/// to the socket in this variable.
const SOCKET: &str = "TEST_SOCKET";

/// Runs only in the separate process that the tools below start.
#[test]
fn asks_the_socket() {
    let Ok(socket) = std::env::var(SOCKET) else { return };
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(b"GET /api/v1/session HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    std::io::stdout()
        .write_all(format!("\nANSWER {}\n", text.replace("\r\n", " ")).as_bytes())
        .unwrap();
}

/// Writes a tool that sends a request to the socket itself, and through a detached process.
fn tool(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let spec = "description = \"Asks.\"\ncommand = [\"sh\", \"./run.sh\"]\nrisk = \"safe\"\neffect = \"read\"\noutput = \"text\"\n\
                timeout = \"60s\"\n[parameters]\nsocket = \"string: Which\"\nexe = \"string: Who asks\"\nhow = \"string: How\"\n";
    fs::write(folder.join("tool.toml"), spec).unwrap();
    // Tools read arguments as JSON on stdin.
    let script = r#"
args=$(cat)
field() { printf '%s' "$args" | sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"; }
TEST_SOCKET=$(field socket); export TEST_SOCKET
ask="$(field exe) --exact tools_cannot_reach_daemon::asks_the_socket --nocapture"
out=$(mktemp)
case $(field how) in
  itself) $ask > "$out" 2>&1 ;;
  orphan) ( setsid sh -c "sleep 0.3; $ask > '$out' 2>&1" < /dev/null > /dev/null 2>&1 & )
          n=0; while ! grep -q ANSWER "$out" && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done ;;
esac
grep ANSWER "$out"; rm -f "$out"
"#;
    fs::write(folder.join("run.sh"), script).unwrap();
    fs::set_permissions(folder.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
}

async fn call(daemon: &TestDaemon, tool: &str, arguments: Value) -> String {
    let body = json!({"tool": tool, "arguments": arguments});
    daemon.client().post("/api/v1/calls", &body).await.text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_gets_no_answer_on_the_socket() {
    let tools = tempfile::tempdir().unwrap();
    tool(&tools.path().join("asker"));
    let folder = ToolFolder::new("mine", tools.path());
    let plan = Plan {
        toolcrib: Box::new(|settings| settings.tool_folders.push(folder)),
        ..Plan::default()
    };
    let daemon = TestDaemon::with(plan).await;
    let socket = daemon.socket();
    // All other processes of this user can connect.
    let came =
        exchange_on(&socket, "GET /api/v1/session HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    assert!(came.text.contains("owner@socket"), "{}", came.text);
    let exe = std::env::current_exe().unwrap();
    for how in ["itself", "orphan"] {
        let text = call(&daemon, "asker", json!({"socket": socket, "exe": exe, "how": how})).await;
        assert!(text.contains("ANSWER HTTP/1.1 403"), "{how}: {text}");
        assert!(text.contains("requests of tools are refused"), "{how}: {text}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn no_tool_is_connected_to_the_port_of_the_daemon() {
    let open = |settings: &mut toolcrib_app::Settings| {
        settings.allow_net = vec!["127.0.0.0/8".into(), "0.0.0.0/0".into(), "::/0".into()];
        settings.resolve = vec!["local.example.com=127.0.0.1".into()];
    };
    let daemon = TestDaemon::with(Plan { toolcrib: Box::new(open), ..Plan::default() }).await;
    let port = daemon.address.port();
    for host in [
        "127.0.0.1",
        "127.9.9.9",
        "2130706433",
        "0x7f.1",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "local.example.com",
    ] {
        for tool in ["fetch_url", "http_request"] {
            let text =
                call(&daemon, tool, json!({"url": format!("http://{host}:{port}/healthz")})).await;
            assert!(text.contains("address.own_service"), "{tool} {host}: {text}");
        }
    }
    daemon.stop().await;
}

/// File tools cannot access the token, the socket, the address file or the lock, even if the state
/// folder is inside a root.
#[tokio::test]
async fn no_file_tool_reaches_what_opens_the_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    let inside = |settings: &mut toolcrib_app::Settings| settings.roots = vec![root];
    let plan = Plan { toolcrib: Box::new(inside), ..Plan::default() };
    let daemon = TestDaemon::in_folder(std::sync::Arc::new(folder), plan).await;
    let own = daemon.socket().parent().unwrap().to_owned();
    for name in ["token", "socket", "address", "lock"] {
        assert!(own.join(name).exists(), "{name}");
        let text = call(&daemon, "read_file", json!({"path": own.join(name)})).await;
        assert!(text.contains("path_not_allowed"), "{name}: {text}");
        assert!(!text.contains(&daemon.token()), "{name}");
    }
    let text =
        call(&daemon, "write_file", json!({"path": own.join("token"), "content": "x"})).await;
    assert!(text.contains("path_not_allowed"), "{text}");
    daemon.stop().await;
}

/// A token in a tool's result is masked before a model sees it.
#[tokio::test]
async fn a_token_in_a_result_is_masked() {
    let daemon = TestDaemon::start().await;
    let body = json!({"name": "x", "roles": ["viewer"]});
    let made = daemon.client().post("/api/v1/tokens", &body).await.expect(201);
    let token = made["token"].as_str().unwrap().to_owned();
    fs::write(daemon.workspace().join("notes.txt"), format!("{token} and {}", daemon.token()))
        .unwrap();
    let text = call(&daemon, "read_file", json!({"path": "notes.txt"})).await;
    assert!(text.contains(" and "), "{text}");
    assert!(!text.contains(&token) && !text.contains(&daemon.token()), "{text}");
    daemon.stop().await;
}
