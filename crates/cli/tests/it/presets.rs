//! Calls that run without asking, when no approver exists.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

fn delete(env: &TestEnv, more: &[&str]) -> (Value, i32) {
    env.call("delete_file", &json!({"path": "notes.md"}), more)
}

#[test]
fn ask_risky_denies_a_delete_at_once() {
    let env = TestEnv::new();
    // One denial takes milliseconds; the limit for ten allows for a busy machine.
    let start = Instant::now();
    for _ in 0..10 {
        let (reply, code) = delete(&env, &[]);
        assert_eq!((reply["outcome"].as_str(), code), (Some("denied"), 5), "{reply}");
        assert_eq!(reply["error_type"], "approval_denied");
        assert!(reply["result"].as_str().unwrap().contains("no person can be asked"), "{reply}");
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(env.read("notes.md").is_some());
}

#[test]
fn a_preset_by_preset_table() {
    // Exit codes of a read, a write, and a delete.
    let rows = [
        ("auto", [0, 0, 0]),
        ("ask-risky", [0, 0, 5]),
        ("ask-all", [5, 5, 5]),
        ("locked", [0, 5, 5]),
    ];
    for (preset, codes) in rows {
        let env = TestEnv::new();
        let policy = ["--policy", preset];
        let (read, a) = env.call("read_file", &json!({"path": "notes.md"}), &policy);
        let (write, b) = env.call("write_file", &json!({"path": "new", "content": "x"}), &policy);
        let (gone, c) = delete(&env, &policy);
        assert_eq!([a, b, c], codes, "{preset}: {read} {write} {gone}");
        assert_eq!(env.read("new").is_some(), b == 0, "{preset}");
        assert_eq!(env.read("notes.md").is_none(), c == 0, "{preset}");
        if preset == "locked" {
            assert_eq!(write["error_type"], "policy_denied");
        }
    }
}

#[test]
fn the_environment_sets_the_preset_and_the_flag_wins() {
    let env = TestEnv::new();
    let run = |more: &[&str]| {
        let args =
            [&["tool", "call", "write_file", "--args", "{\"path\":\"n\",\"content\":\"x\"}"], more]
                .concat();
        let mut command = env.command(&args);
        command.env("TOOLCRIB_POLICY", "locked");
        support::end(command, b"").code
    };
    assert_eq!(run(&[]), 5);
    assert_eq!(run(&["--policy", "ask-risky"]), 0);
}
