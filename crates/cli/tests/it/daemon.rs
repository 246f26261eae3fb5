//! The daemon for a person: starting, querying, reconfiguring and stopping it; and every command
//! without a daemon, or with another one.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};

use crate::support::{self, DaemonProcess, TestEnv};

fn daemon_folder(env: &TestEnv) -> PathBuf {
    env.outside().join("home/state/daemon")
}

#[test]
fn it_starts_answers_and_stops() {
    let env = TestEnv::new();
    let daemon = DaemonProcess::start(&env, &[]);
    assert_eq!(daemon.ready["pid"], daemon.pid());
    let status = env.run(&["status", "--json"]).code(0);
    let status = support::json(&status.stdout);
    assert_eq!((&status["running"], &status["pid"]), (&json!(true), &json!(daemon.pid())));
    assert_eq!(status["at"][0], daemon.url());
    let shown = env.run(&["status"]).code(0).stdout;
    assert!(shown.contains(&daemon.url()) && shown.contains("0 running"), "{shown}");
    assert_eq!(env.run(&["daemon", "healthcheck"]).code(0).stdout, "ready\n");

    // TCP requires a token; the token of the machine belongs to its owner.
    let get = "GET /api/v1/status HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n";
    assert!(daemon.raw(&format!("{get}\r\n")).starts_with("HTTP/1.1 401"));
    let token = env.run(&["token", "show"]).code(0).stdout;
    let answer = daemon.raw(&format!("{get}Authorization: Bearer {}\r\n\r\n", token.trim()));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");

    let (ended, code) = daemon.stop(&env);
    ended.code(0).says(&["the daemon has stopped"]);
    assert_eq!(code, 0);
    let left: Vec<_> = fs::read_dir(daemon_folder(&env))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name == "socket" || name == "address")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_second_daemon_is_refused_and_names_the_first() {
    let env = TestEnv::new();
    let daemon = DaemonProcess::start(&env, &[]);
    let pid = daemon.pid().to_string();
    let second = env.run(&["serve", "--listen", "127.0.0.1:0"]).code(1);
    second.says(&[&pid, "stop that one first"]);
    // The first daemon is not affected.
    env.run(&["daemon", "healthcheck"]).code(0);
    daemon.kill();
    // Files that a killed daemon left behind do not interfere.
    env.run(&["status"]).code(8).says(&["no daemon is running"]);
    let again = DaemonProcess::start(&env, &[]);
    again.stop(&env).0.code(0);
}

/// After a power failure, its process id may belong to any process of this person: here, to this
/// test.
#[test]
fn a_dead_daemon_whose_number_lives_on_is_dead() {
    let env = TestEnv::new();
    let daemon = DaemonProcess::start(&env, &[]);
    daemon.kill();
    let left = daemon_folder(&env).join("address");
    let mut address = support::json(&fs::read_to_string(&left).unwrap());
    let mut innocent = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    address["pid"] = json!(innocent.id());
    fs::write(&left, address.to_string()).unwrap();
    env.run(&["stop"]).code(8).says(&["no daemon is running"]);
    env.run(&["status"]).code(8).says(&["no daemon is running"]);
    assert!(innocent.try_wait().unwrap().is_none(), "it was told to end");
    let checked = env.run(&["doctor", "--json"]).code(0).stdout;
    assert!(
        checked.contains("a daemon that crashed left") && !checked.contains("kill "),
        "{checked}"
    );
    env.run(&["doctor", "--fix"]).code(0);
    assert!(!left.exists());
    innocent.kill().unwrap();
    innocent.wait().unwrap();
}

/// The daemon need not respond in order to be stopped.
#[test]
fn a_daemon_that_does_not_answer_is_stopped() {
    let env = TestEnv::new();
    let daemon = DaemonProcess::start(&env, &[]);
    fs::remove_file(daemon.socket()).unwrap();
    let pid = format!("process {}", daemon.pid());
    env.run(&["status"]).code(8).says(&[&pid, "toolcrib stop"]);
    assert_eq!(daemon.stop(&env).1, 0);
}

#[test]
fn without_a_daemon_every_command_says_so() {
    let env = TestEnv::new();
    for args in [
        &["status"][..],
        &["daemon", "reload"],
        &["daemon", "healthcheck"],
        &["stop"],
        &["token", "list"],
        &["token", "add", "x"],
        &["token", "revoke", "x"],
        &["run", "hello", "--daemon"],
        &["tool", "call", "read_file", "--daemon"],
    ] {
        env.run(args).code(8).says(&["no daemon is running"]);
    }
    env.feed(&["exec", "--daemon"], "{}").code(8).says(&["no daemon is running"]);
    let none = support::json(&env.run(&["status", "--json"]).code(8).stdout);
    assert_eq!(none, json!({"running": false}));
    env.run(&["token", "show"]).code(4).says(&["there is no token yet"]);
}

/// Holds the lock of a running daemon.
#[must_use]
fn life(env: &TestEnv) -> File {
    fs::create_dir_all(daemon_folder(env)).unwrap();
    let lock = File::create(daemon_folder(env).join("lock")).unwrap();
    lock.try_lock().unwrap();
    lock
}

/// Answers every request on the daemon's socket with this text, until the lock is dropped.
#[must_use]
fn impostor(env: &TestEnv, answer: &'static str) -> File {
    let lock = life(env);
    let folder = daemon_folder(env);
    let socket = folder.join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let pid = std::process::id();
    let address = json!({"pid": pid, "version": "0.0.9", "unix": socket, "started": 0});
    fs::write(folder.join("address"), address.to_string()).unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                answer.len()
            );
        }
    });
    lock
}

#[test]
fn a_daemon_of_another_version_or_another_program_is_named() {
    let check = |answer: &'static str, words: &str| {
        let env = TestEnv::new();
        let _lock = impostor(&env, answer);
        for args in [
            &["status"][..],
            &["daemon", "healthcheck"],
            &["daemon", "reload"],
            &["token", "list"],
            &["token", "add", "x"],
            &["token", "revoke", "x"],
            &["run", "hello", "--daemon"],
            &["resume", "run_0198c0de000070008000000000000000", "--daemon"],
            &["tool", "call", "read_file", "--daemon"],
        ] {
            env.run(args).code(8).says(&[words]);
        }
        env.feed(&["exec", "--daemon"], "{}").code(8).says(&[words]);
        // Commands on the store need no daemon.
        env.run(&["tool", "disable", "read_file"]).code(0).says(&["starts from now on"]);
        env.run(&["stop-tools"]).code(0);
        env.run(&["start-tools"]).code(0);
    };
    check(
        r#"{"name": "toolcrib", "version": "0.0.9", "up_seconds": 1}"#,
        "older than this program",
    );
    check(
        r#"{"name": "toolcrib", "version": "9.0.0", "up_seconds": 1}"#,
        "newer than this program",
    );
    check(
        r#"{"name": "grafana", "version": "0.1.0", "up_seconds": 1}"#,
        "is not a Toolcrib daemon",
    );
    check("hello", "is not a Toolcrib daemon");
}

#[test]
fn a_run_of_the_daemon_says_that_its_model_is_scripted() {
    let env = TestEnv::new();
    let script = env.outside().join("script.yaml");
    fs::write(&script, "version: 1\nname: s\nturns:\n  - say: Hello.\n").unwrap();
    let model = format!("scripted:{}", script.display());
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    let ended = env.run(&["run", "--daemon", "hi"]).code(0);
    assert_eq!(ended.stdout, "Hello.\n");
    assert_eq!(ended.stderr.matches("replays a file; no model is asked").count(), 1, "{ended:?}");
    daemon.stop(&env).0.code(0);
}

/// An older daemon cannot be queried, but is stopped by a signal; a decision is stored, and its
/// call runs here.
#[test]
fn an_older_daemon_is_stopped_and_does_not_keep_decisions_back() {
    let env = TestEnv::new();
    let script = env.outside().join("script.yaml");
    fs::write(&script, "version: 1\nname: s\nturns:\n  - calls: [{tool: delete_file, args: {path: notes.md}}]\n  - say: It stays.\n").unwrap();
    let model = format!("scripted:{}", script.display());
    env.run(&["run", "delete it", "--model", &model, "--on-ask", "fail"]).code(6);
    let older = r#"{"name": "toolcrib", "version": "0.0.9", "up_seconds": 1}"#;
    let lock = impostor(&env, older);
    let waiting = support::json(&env.run(&["approve", "list", "--json"]).code(0).stdout);
    let id = waiting[0]["id"].as_str().unwrap();
    env.run(&["approve", "no", id]).code(0);
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\n"));
    assert_eq!(support::json(&env.run(&["approve", "list", "--json"]).code(0).stdout), json!([]));
    let left = daemon_folder(&env).join("address");
    let mut address = support::json(&fs::read_to_string(&left).unwrap());
    let mut process = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    address["pid"] = json!(process.id());
    fs::write(&left, address.to_string()).unwrap();
    env.run(&["stop"]).code(0).says(&["has stopped"]);
    use std::os::unix::process::ExitStatusExt as _;
    assert_eq!(process.wait().unwrap().signal(), Some(15));
    drop(lock);
}

#[test]
fn files_that_are_none_are_named() {
    let env = TestEnv::new();
    let _lock = life(&env);
    let address = daemon_folder(&env).join("address");
    fs::write(&address, "{").unwrap();
    env.run(&["status"]).code(8).says(&["address cannot be read"]);
    let plain = daemon_folder(&env).join("plain");
    fs::write(&plain, "").unwrap();
    fs::write(&address, json!({"pid": 1, "version": "0", "unix": plain, "started": 0}).to_string())
        .unwrap();
    env.run(&["status"]).code(8).says(&["is not a socket"]);
    let mut command = env.command(&["status"]);
    command.env("TOOLCRIB_DAEMON", "http://tools.example.org");
    support::end(command, b"").code(3).says(&["use https://"]);
}

#[test]
fn a_socket_of_another_user_is_not_talked_with() {
    let env = TestEnv::new();
    let _lock = impostor(&env, r#"{"name": "toolcrib", "version": "0.1.0", "up_seconds": 1}"#);
    // Only root can change the owner of a file.
    if std::os::unix::fs::lchown(daemon_folder(&env).join("socket"), Some(65_534), None).is_ok() {
        env.run(&["status"]).code(8).says(&["another user's", "TOOLCRIB_TOKEN"]);
    }
}

#[test]
fn a_daemon_that_is_named_is_asked_with_its_token() {
    let env = TestEnv::new();
    let daemon = DaemonProcess::start(&env, &[]);
    let token = env.run(&["token", "add", "far", "--role", "caller"]).code(0).stdout;
    let ask = |url: &str, token: &str, args: &[&str]| {
        let mut command = env.command(args);
        // The other daemon has no data of the local one.
        let nowhere = env.outside().join("elsewhere");
        command.env("TOOLCRIB_HOME", nowhere).env("TOOLCRIB_DAEMON", url);
        command.env("TOOLCRIB_TOKEN", token);
        support::end(command, b"")
    };
    let (url, token) = (daemon.url(), token.trim());
    let status = ask(&url, token, &["status", "--json"]).code(0);
    assert_eq!(support::json(&status.stdout)["pid"], daemon.pid());
    let call = ["tool", "call", "read_file", "--args", r#"{"path": "notes.md"}"#, "--daemon"];
    assert!(ask(&url, token, &call).code(0).stdout.contains("buy oats"));
    ask(&url, token, &["token", "list"]).code(5).says(&["owner"]);
    ask(&url, "tcb_wrong", &["status"]).code(5);
    ask(&url, token, &["stop"]).code(2).says(&["on another machine"]);
    ask("http://127.0.0.1:1", token, &["status"]).code(8).says(&["does not answer"]);
    daemon.stop(&env).0.code(0);
}

#[test]
fn tokens_are_made_listed_and_taken_back() {
    let env = TestEnv::new();
    let daemon = DaemonProcess::start(&env, &[]);
    let made = env.run(&["token", "add", "ci", "--role", "caller,approver", "--expires", "90d"]);
    let made = made.code(0).says(&["only once"]);
    let token = made.stdout.trim().to_owned();
    assert!(token.starts_with("tcb_"), "{token}");
    let listed = env.run(&["token", "list"]).code(0).stdout;
    assert!(listed.contains("caller,approver") && listed.contains("never used"), "{listed}");
    assert!(!listed.contains(&token));
    let ask = || {
        let get = "GET /api/v1/tools HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n";
        daemon.raw(&format!("{get}Authorization: Bearer {token}\r\n\r\n"))
    };
    assert!(ask().starts_with("HTTP/1.1 200"));
    env.run(&["token", "revoke", "ci"]).code(0);
    assert!(ask().starts_with("HTTP/1.1 401"));
    env.run(&["token", "revoke", "ci"]).code(4).says(&["there is no valid token ci"]);
    let rows = support::json(&env.run(&["token", "list", "--json"]).code(0).stdout);
    assert_eq!((&rows[0]["name"], &rows[0]["holds"]), (&json!("ci"), &json!(false)));
    env.run(&["token", "add", "x", "--role", "king"]).code(2);
    daemon.stop(&env).0.code(0);
}

#[test]
fn the_command_line_lets_the_daemon_work() {
    let env = TestEnv::new();
    let script = env.outside().join("script.yaml");
    fs::write(&script, "version: 1\nname: s\nturns:\n  - calls: [{tool: read_file, args: {path: notes.md}}]\n  - say: You wanted oats.\n").unwrap();
    let model = format!("scripted:{}", script.display());
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    let called =
        env.run(&["tool", "call", "read_file", "--args", r#"{"path": "notes.md"}"#, "--daemon"]);
    assert!(called.code(0).stdout.contains("buy oats"));
    let lost =
        env.run(&["tool", "call", "read_file", "--args", r#"{"path": "gone.md"}"#, "--daemon"]);
    let here = env.run(&["tool", "call", "read_file", "--args", r#"{"path": "gone.md"}"#]);
    assert_eq!(lost.code, here.code, "the exit code is that of the outcome: {lost:?}");
    env.run(&["tool", "call", "nothing", "--daemon"]).code(here_code(&env, "nothing"));

    let ran = env.run(&["run", "what?", "--daemon"]).code(0);
    assert_eq!(ran.stdout, "You wanted oats.\n");
    assert!(ran.stderr.contains("read_file … done"), "{}", ran.stderr);
    let ran = env.run(&["run", "what?", "--daemon", "--json"]).code(0);
    let events = support::lines(&ran.stdout);
    assert_eq!(events.last().unwrap()["status"], "completed");
    env.run(&["run", "x", "--daemon", "--root", "."]).code(2).says(&["exclude each other"]);
    env.run(&["run", "x", "--daemon", "--model", "scripted:/etc/passwd"])
        .code(2)
        .says(&["not configured"]);

    let turn = json!({"role": "assistant", "tool_calls": [{"id": "a", "type": "function",
        "function": {"name": "read_file", "arguments": r#"{"path": "notes.md"}"#}}]});
    let answer = json!({"choices": [{"message": turn, "finish_reason": "tool_calls"}]}).to_string();
    let local = env.feed(&["exec", "--json"], &answer).code(0);
    let remote = env.feed(&["exec", "--json", "--daemon"], &answer).code(0);
    assert_eq!(support::json(&remote.stdout)[0]["tool_call_id"], "a");
    let text = |ended: &str| support::json(ended)[0]["content"].clone();
    assert_eq!(text(&local.stdout), text(&remote.stdout));
    daemon.stop(&env).0.code(0);
}

fn here_code(env: &TestEnv, tool: &str) -> i32 {
    env.run(&["tool", "call", tool]).code
}

#[test]
fn switches_and_the_kill_switch_hold_in_the_daemon_at_once() {
    let env = TestEnv::new();
    let daemon = DaemonProcess::start(&env, &[]);
    let call =
        || env.run(&["tool", "call", "read_file", "--args", r#"{"path": "notes.md"}"#, "--daemon"]);
    call().code(0);
    env.run(&["tool", "disable", "read_file"]).code(0).says(&["in the daemon"]);
    let off = call();
    assert_ne!(off.code, 0, "{off:?}");
    env.run(&["tool", "reset", "read_file"]).code(0);
    call().code(0);
    env.run(&["stop-tools", "--reason", "a test"]).code(0);
    assert_ne!(call().code, 0);
    let shown = env.run(&["status"]).code(0).stdout;
    assert!(shown.contains("The kill switch is engaged"), "{shown}");
    env.run(&["start-tools"]).code(0);
    call().code(0);
    daemon.stop(&env).0.code(0);
}

#[test]
fn a_decision_lets_the_daemon_go_on() {
    let env = TestEnv::new();
    let script = env.outside().join("script.yaml");
    fs::write(&script, "version: 1\nname: s\nturns:\n  - calls: [{tool: delete_file, args: {path: notes.md}}]\n  - say: It is gone.\n").unwrap();
    let model = format!("scripted:{}", script.display());
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    let ran = env.run(&["run", "delete it", "--daemon"]).code(6);
    assert!(ran.stderr.contains("waits for a person"), "{}", ran.stderr);
    let waiting = support::json(&env.run(&["approve", "list", "--json"]).code(0).stdout);
    let id =
        waiting[0]["approval"].as_str().or_else(|| waiting[0]["id"].as_str()).unwrap().to_owned();
    env.run(&["approve", "yes", &id]).code(0).says(&["the daemon resumes"]);
    // A call without a client that waits.
    let gone = || env.read("notes.md").is_none();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !gone() && std::time::Instant::now() < until {
        thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(gone());
    env.run(&["approve", "no", &id]).code(5).says(&["decided before"]);
    daemon.stop(&env).0.code(0);
}

#[test]
fn a_run_is_taken_up_by_the_daemon_and_followed() {
    let env = TestEnv::new();
    let script = env.outside().join("script.yaml");
    fs::write(&script, "version: 1\nname: s\nturns:\n  - calls: [{tool: delete_file, args: {path: notes.md}}]\n  - {say: It is gone., delay_ms: 5000}\n").unwrap();
    let model = format!("scripted:{}", script.display());
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    env.run(&["run", "delete it", "--daemon"]).code(6);
    let waiting = support::json(&env.run(&["approve", "list", "--json"]).code(0).stdout);
    let text = |name: &str| waiting[0][name].as_str().unwrap_or_default().to_owned();
    let run = text("run");
    env.run(&["resume", &run, "--daemon"]).code(2).says(&["waits for a person"]);
    env.run(&["resume", &run[..8], "--daemon"]).code(2).says(&["the whole id"]);
    env.run(&["resume", "--daemon"]).code(2);
    env.run(&["resume", &run, "--daemon", "--approve"]).code(2);
    let id = if text("approval").is_empty() { text("id") } else { text("approval") };
    env.run(&["approve", "yes", &id]).code(0);
    let ran = env.run(&["resume", &run, "--daemon"]).code(0);
    assert_eq!(ran.stdout, "It is gone.\n");
    env.run(&["resume", &run, "--daemon"]).code(2).says(&["ended"]);
    daemon.stop(&env).0.code(0);
}

#[test]
fn a_changed_configuration_is_used_and_a_broken_one_is_not() {
    let env = TestEnv::new();
    let mut daemon = DaemonProcess::start(&env, &[]);
    let call =
        || env.run(&["tool", "call", "read_file", "--args", r#"{"path": "notes.md"}"#, "--daemon"]);
    call().code(0);
    let file = env.outside().join("home/config.toml");
    fs::write(&file, "[tools.read_file]\nenabled = false\n").unwrap();
    daemon.says("the configuration was read again");
    assert_ne!(call().code, 0);
    fs::write(&file, "[tools.read_file]\nenabeld = true\n").unwrap();
    let said = daemon.says("is not used");
    assert!(said.contains("config.toml:2"), "{said}");
    assert_ne!(call().code, 0, "all is as before");
    env.run(&["daemon", "reload"]).code(2).says(&["config.toml:2", "did you mean"]);
    fs::write(&file, "[server]\ndrain = \"1s\"\n").unwrap();
    daemon.says("a restart is needed for: server");
    call().code(0);
    env.run(&["daemon", "reload"]).code(0);
    let pid = rustix::process::Pid::from_raw(i32::try_from(daemon.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    daemon.says_next("the configuration was read again");
    // A rule is added while the daemon runs.
    env.run(&["rules", "add", "deny", "read_file"]).code(0);
    env.run(&["daemon", "reload"]).code(0);
    assert_eq!(call().code, 5, "the rule holds");
    daemon.stop(&env).0.code(0);
}

#[test]
fn it_ends_on_a_signal_and_tells_systemd() {
    let env = TestEnv::new();
    let socket = env.outside().join("notify");
    let notified = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    notified.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let mut command = env.command(&["serve", "--no-tcp", "--json"]);
    command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "200000");
    let mut child = command.spawn().unwrap();
    let heard = || {
        let mut text = [0; 256];
        let length = notified.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).trim().to_owned()
    };
    assert_eq!(heard(), "READY=1");
    assert_eq!(heard(), "WATCHDOG=1");
    let socket = daemon_folder(&env).join("socket");
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    while heard() != "STOPPING=1" {}
    assert!(child.wait().unwrap().success());
    assert!(!socket.exists());
}

#[test]
fn words_that_do_not_fit_are_refused_before_anything_listens() {
    let env = TestEnv::new();
    env.run(&["serve", "--listen", "8717"]).code(2);
    env.run(&["serve", "--listen", "127.0.0.1:0", "--no-tcp"]).code(2);
    env.run(&["serve", "--tls-cert", "a.pem"]).code(2);
    env.run(&["serve", "--trusted-proxy", "nobody"]).code(2).says(&["not an address or network"]);
    let open = env.run(&["serve", "--listen", "0.0.0.0:0"]).code(1);
    open.says(&["--tls-cert", "--trusted-proxy"]);
    env.own("config.toml", "[server]\ntls_cert = \"a.pem\"\n");
    env.run(&["serve"]).code(3).says(&["config.toml:1", "go together"]);
    env.own("config.toml", "[server]\nbody_bytes = 0\n");
    env.run(&["serve"]).code(3).says(&["would let nothing in"]);
    env.own("config.toml", "");
    env.write(".toolcrib/config.toml", "[server]\nlisten = \"0.0.0.0:80\"\n");
    let trusted = format!("trusted_workspaces = [{:?}]\n", env.root().display().to_string());
    env.own("config.toml", &trusted);
    env.run(&["serve"]).code(3).says(&["put it into your own file"]);
}

#[test]
fn the_configuration_lists_where_a_daemon_listens() {
    let env = TestEnv::new();
    let rows = support::json(&env.run(&["config", "list", "--all", "--json"]).code(0).stdout);
    let listen = rows.as_array().unwrap().iter().find(|row| row["key"] == "server.listen");
    assert_eq!(listen.map(|row| &row["value"]), Some(&Value::from("127.0.0.1:8717")));
}

/// Regression: the reply of a daemon contained the model's text of a refusal, and no advice.
#[test]
fn a_refusal_by_a_daemon_reads_like_one_without() {
    let env = TestEnv::new();
    env.run(&["rules", "add", "deny", "Read(./notes.md)", "--reason", "private notes"]).code(0);
    let daemon = DaemonProcess::start(&env, &[]);
    for call in [
        &["read_file", "path=notes.md"][..],
        &["execute_shell_command", "command=true"],
        &["fetch_url", "url=http://0x7f.1/"],
        &["fetch_url", "url=http://localhost/"],
        &["no_such_tool", "a=1"],
    ] {
        let alone = env.run(&[&["tool", "call"][..], call].concat());
        let asked = env.run(&[&["tool", "call", "--daemon"][..], call].concat());
        assert_eq!((&asked.stderr, asked.code), (&alone.stderr, alone.code), "{call:?}");
        assert!(!asked.stderr.is_empty());
    }
    daemon.kill();
}
