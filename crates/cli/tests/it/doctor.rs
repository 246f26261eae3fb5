//! `toolcrib doctor`: detects and reports faults, and repairs them if that is safe.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::support::{self, DaemonProcess, TestEnv, end};

const NOTES: &str = r#"{"path": "notes.md"}"#;

/// Returns the checks, and the exit code.
#[track_caller]
fn checks(env: &TestEnv, more: &[&str]) -> (Vec<Value>, i32) {
    let ended = env.run(&[&["doctor", "--json"], more].concat());
    let found = support::json(&ended.stdout);
    assert_eq!(found["ok"], ended.code == 0);
    (found["checks"].as_array().unwrap().clone(), ended.code)
}

/// Returns the messages of the checks with this state.
fn of_state<'c>(checks: &'c [Value], state: &str) -> Vec<&'c str> {
    let of = checks.iter().filter(|one| one["state"] == state);
    of.map(|one| one["message"].as_str().unwrap()).collect()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_fresh_home_and_a_used_one_are_sound() {
    let env = TestEnv::new();
    let (found, code) = checks(&env, &[]);
    assert_eq!((of_state(&found, "fail"), code), (Vec::new(), 0));
    env.run(&["tool", "call", "read_file", "--args", NOTES]).code(0);
    let (found, code) = checks(&env, &[]);
    assert_eq!((of_state(&found, "fail"), code), (Vec::new(), 0));
    let daemon = DaemonProcess::start(&env, &[]);
    let (found, _) = checks(&env, &[]);
    assert!(of_state(&found, "ok").iter().any(|words| words.contains(&daemon.url())), "{found:?}");
    let text = env.run(&["doctor"]).code(0).stdout;
    assert!(text.contains(" checks, ") && text.contains("no damaged page"), "{text}");
    daemon.stop(&env).0.code(0);
}

#[test]
fn a_state_folder_that_cannot_be_written_is_told_what_to_do_about_that() {
    let env = TestEnv::new();
    let run = |args: &[&str]| {
        let mut command = env.command(args);
        // Not even root can create a folder there.
        command.env("TOOLCRIB_HOME", "/sys/toolcrib");
        end(command, b"")
    };
    let doctor = run(&["doctor"]);
    assert!(doctor.stdout.contains("set TOOLCRIB_HOME to a writable folder"), "{doctor:?}");
    for other in ["--root DIR", "free some", "restore FILE", "needs it creates it"] {
        assert!(!doctor.stdout.contains(other), "{other}: {doctor:?}");
    }
    let serve = run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(serve.code != 0 && serve.stderr.contains("TOOLCRIB_HOME"), "{serve:?}");
    assert!(!serve.stderr.contains("toolcrib status"), "{serve:?}");
}

#[test]
fn files_that_others_get_at_are_closed() {
    let env = TestEnv::new();
    env.run(&["tool", "call", "read_file", "--args", NOTES]).code(0);
    let state = env.outside().join("home/state");
    mode(&state, 0o755);
    mode(&state.join("toolcrib.db"), 0o644);
    let (found, code) = checks(&env, &[]);
    assert_eq!((of_state(&found, "fail").len(), code), (2, 1), "{found:?}");
    let (found, code) = checks(&env, &["--fix"]);
    assert_eq!((of_state(&found, "fixed").len(), code), (2, 0), "{found:?}");
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
    let (found, _) = checks(&env, &[]);
    assert!(of_state(&found, "fixed").is_empty() && of_state(&found, "fail").is_empty());
}

#[test]
fn what_a_dead_daemon_left_is_found_and_removed() {
    let env = TestEnv::new();
    let daemon = DaemonProcess::start(&env, &[]);
    let socket = daemon.socket();
    daemon.kill();
    assert!(socket.exists());
    let (found, code) = checks(&env, &[]);
    assert_eq!(code, 0);
    assert!(
        of_state(&found, "warn").iter().any(|words| words.contains("a daemon that crashed left")),
        "{found:?}"
    );
    let (found, _) = checks(&env, &["--fix"]);
    assert!(of_state(&found, "fixed").iter().any(|words| words.contains("; removed")), "{found:?}");
    assert!(!socket.exists());
}

#[test]
fn a_broken_configuration_is_exit_code_3_and_a_damaged_database_1() {
    let env = TestEnv::new();
    env.own("config.toml", "polcy = \"auto\"\n");
    let (found, code) = checks(&env, &[]);
    assert_eq!(code, 3);
    assert!(of_state(&found, "fail")[0].contains("config.toml:1"), "{found:?}");
    env.own("config.toml", "");
    env.own("rules.toml", "[[rule]]\n");
    assert_eq!(checks(&env, &[]).1, 3);
    fs::remove_file(env.outside().join("home/rules.toml")).unwrap();
    for _ in 0..3 {
        env.run(&["tool", "call", "read_file", "--args", NOTES]).code(0);
    }
    let path = env.outside().join("home/state/toolcrib.db");
    let mut bytes = fs::read(&path).unwrap();
    for byte in bytes.iter_mut().skip(4096).take(40_000) {
        *byte = 0xff;
    }
    fs::write(&path, bytes).unwrap();
    let (found, code) = checks(&env, &[]);
    assert_eq!(code, 1, "{found:?}");
    let store = found.iter().find(|one| one["name"] == "store" && one["state"] == "fail").unwrap();
    assert!(store["fix"].as_str().unwrap().contains("toolcrib restore"));
}

#[test]
fn providers_are_asked_only_on_request() {
    let env = TestEnv::new();
    // A port without a listener.
    env.own(
        "config.toml",
        "[providers.mine]\nkind = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:1/v1\"\n",
    );
    assert_eq!(checks(&env, &[]).1, 0);
    let (found, code) = checks(&env, &["--online"]);
    assert_eq!(code, 1);
    assert!(of_state(&found, "fail")[0].contains("mine: "), "{found:?}");
}
