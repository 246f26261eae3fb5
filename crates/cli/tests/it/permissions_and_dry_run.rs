//! Permissions, roles, unavailable tools, and the prediction of calls.

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

const NEW: &str = r#"{"path": "new.md", "content": "x"}"#;

fn newest(env: &TestEnv) -> Value {
    let rows = support::json(&env.run(&["history", "--json"]).code(0).stdout);
    rows[0].clone()
}

fn explained(env: &TestEnv, row: &Value) -> Value {
    let call = row["call"].as_str().unwrap();
    support::json(&env.run(&["explain", call, "--json"]).code(0).stdout)
}

#[test]
fn a_permission_that_is_refused_refuses_every_call_that_needs_it_and_says_so_everywhere() {
    for (word, hint) in
        [("denied", None), ("never", Some("set permissions.fs_write to \"granted\""))]
    {
        let env = TestEnv::new();
        env.own("config.toml", &format!("[permissions]\nfs_write = \"{word}\"\n"));
        let args = support::json(NEW);
        for _ in 0..2 {
            let (reply, code) = env.call("write_file", &args, &["--policy", "auto"]);
            assert_eq!((reply["error_type"].as_str(), code), (Some("permission_denied"), 5));
            let said = reply["result"].as_str().unwrap();
            assert!(said.starts_with("Permission fs_write was denied by the user"), "{said}");
            if let Some(hint) = hint {
                assert!(said.contains(hint) && said.contains("config.toml"), "{said}");
            }
        }
        assert!(env.read("new.md").is_none());
        env.call("read_file", &json!({"path": "notes.md"}), &[]);
        assert_eq!(newest(&env)["status"], "succeeded", "a read needs another permission");
        env.call("write_file", &args, &[]);
        let row = newest(&env);
        assert!(row["policy"].as_str().unwrap().starts_with("deny: Permission fs_write"), "{row}");
        let call = row["call"].as_str().unwrap();
        let whole = explained(&env, &row);
        assert_eq!(
            (&whole["ruling"]["by"], &whole["ruling"]["verdict"]),
            (&json!("permission"), &json!("deny"))
        );
        assert!(whole["advice"].as_str().unwrap().contains("[permissions]"), "{whole}");
        let text = env.run(&["explain", call]).code(0).stdout;
        assert!(
            text.contains("policy        deny, by a permission: Permission fs_write"),
            "{text}"
        );
        let record = env.run(&["audit", "show", call]).code(0).stdout;
        assert!(record.contains("policy           deny: Permission fs_write"), "{record}");
        let tail = env.run(&["audit", "tail"]).code(0).stdout;
        assert!(
            tail.contains("POLICY\n") && tail.contains("  deny: Permission fs_write"),
            "{tail}"
        );
    }
}

#[test]
fn a_permission_that_is_asked_about_is_granted_by_the_person() {
    let env = TestEnv::new();
    env.own("config.toml", "[permissions]\nfs_write = \"ask\"\n");
    let call = |more: &[&str]| env.call("write_file", &support::json(NEW), more);
    let (reply, code) = call(&[]);
    assert_eq!((reply["error_type"].as_str(), code), (Some("approval_denied"), 5), "{reply}");
    assert!(reply["result"].as_str().unwrap().contains("Permission fs_write"), "{reply}");
    let (reply, code) = call(&["--on-ask", "fail"]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("suspended"), 6));
    let id = reply["approval"]["id"].as_str().unwrap();
    let rows = support::json(&env.run(&["approve", "list", "--json"]).code(0).stdout);
    assert_eq!(
        (&rows[0]["reasons"][0]["kind"], &rows[0]["channel"]),
        (&json!("permission"), &json!("chat"))
    );
    let list = env.run(&["approve", "list"]).code(0).stdout;
    assert!(list.contains(" WHY ") && list.contains(" permission "), "{list}");
    env.run(&["approve", "always", id]).code(0);
    assert_eq!(call(&[]).1, 0, "the grant answers");
}

#[test]
fn a_permission_may_be_another_one_in_a_workspace() {
    let env = TestEnv::new();
    let root = env.root();
    let here = |said: &str| {
        format!(
            "[permissions]\nfs_write = \"denied\"\n[permissions.workspaces.{root:?}]\nfs_write = \"{said}\"\n"
        )
    };
    for (said, code) in [("granted", 0), ("never", 5)] {
        env.own("config.toml", &here(said));
        assert_eq!(env.call("write_file", &support::json(NEW), &[]).1, code, "{said}");
    }
}

#[test]
fn a_flag_keeps_a_tool_from_a_role_and_is_named() {
    let env = TestEnv::new();
    env.own(
        "config.toml",
        "[flags]\nallow_write_file = false\nallow_write_file_writer = true\nallow_fetch_url_writer = false\n",
    );
    env.own("agents/scribe.md", "---\nrole: writer\n---\nYou write.\n");
    env.own("agents/other.md", "---\ntools: [read_file, write_file]\n---\nYou read.\n");
    let (reply, _) = env.call("write_file", &support::json(NEW), &[]);
    assert_eq!(reply["error_type"], "tool_not_available");
    assert!(
        reply["result"].as_str().unwrap().contains("the flag allow_write_file is false"),
        "{reply}"
    );
    let row = newest(&env);
    let advice = explained(&env, &row)["advice"].clone();
    assert!(advice.as_str().unwrap().contains("`allow_write_file = false`"), "{advice}");

    let why = |tool: &str, agent: Option<&str>| {
        let mut args = vec!["tool", "why", tool, "--json"];
        args.extend(agent.iter().flat_map(|agent| ["--agent", agent]));
        support::json(&env.run(&args).code(0).stdout)
    };
    for (tool, agent, flag) in [
        ("write_file", None, Some("allow_write_file")),
        ("write_file", Some("other"), Some("allow_write_file")),
        ("write_file", Some("scribe"), None),
        ("fetch_url", Some("scribe"), Some("allow_fetch_url_writer")),
        ("fetch_url", None, None),
    ] {
        let answer = why(tool, agent);
        assert_eq!(answer["offered"], json!(flag.is_none()), "{answer}");
        if let Some(flag) = flag {
            assert_eq!(answer["excluded"], json!({"because": "role", "flag": flag}));
            assert!(answer["advice"].as_str().unwrap().contains(flag), "{answer}");
        }
    }
    let outside = why("fetch_url", Some("other"));
    assert_eq!(outside["excluded"]["because"], "agent");
    assert!(outside["advice"].as_str().unwrap().contains("agent tools other --add fetch_url"));
    let text = env.run(&["tool", "why", "write_file", "--agent", "other"]).code(0).stdout;
    assert!(
        text.starts_with("write_file is not offered to other: the flag allow_write_file"),
        "{text}"
    );
    env.run(&["tool", "why", "wirte_file"]).code(4).says(&["did you mean write_file?"]);
    env.run(&["tool", "why", "write_file", "--agent", "scrib"]).code(4);

    let all = env.run(&["tool", "list", "--all"]).code(0).stdout;
    assert!(
        all.contains("no: the flag allow_write_file is false") && all.contains("ask_user"),
        "{all}"
    );
    let shown = env.run(&["agent", "show", "other"]).code(0).stdout;
    assert!(
        shown.contains("not offered\n  write_file ")
            && shown.contains(" the flag allow_write_file is false\n"),
        "{shown}"
    );
    assert!(env.run(&["agent", "show", "scribe"]).code(0).stdout.contains("role     writer"));
}

#[test]
fn the_kill_switch_is_the_reason_for_every_tool() {
    let env = TestEnv::new();
    env.run(&["tool", "disable", "--all"]).code(0);
    let answer = support::json(&env.run(&["tool", "why", "read_file", "--json"]).code(0).stdout);
    assert_eq!(answer["excluded"]["because"], "kill_switch", "{answer}");
}

#[test]
fn bad_flags_and_permissions_are_refused_with_their_line() {
    for (text, words) in [
        ("[flags]\nshell = false\n", "config.toml:2: "),
        ("[flags]\nallow_x = \"no\"\n", "config.toml:2: "),
        ("[permissions]\nnetwrok = \"ask\"\n", "did you mean `network`?"),
        ("[permissions]\nnetwork = \"maybe\"\n", "granted, ask, denied or never"),
        ("inbox = 1\n", "config.toml:1: "),
    ] {
        let env = TestEnv::new();
        env.own("config.toml", text);
        env.run(&["tool", "call", "get_current_time"]).code(3).says(&[words]);
    }
}

#[test]
fn a_dry_run_says_what_would_happen_and_leaves_nothing() {
    let env = TestEnv::new();
    let dry = |tool: &str, args: &str, more: &[&str]| {
        let fixed = ["tool", "call", tool, "--args", args, "--dry-run", "--json"];
        let ended = env.run(&[&fixed, more].concat());
        (support::json(&ended.stdout), ended.code)
    };
    let gone = r#"{"path": "notes.md"}"#;
    for (tool, args, more, would, code) in [
        ("read_file", gone, &[][..], "run", 0),
        ("write_file", NEW, &[], "run", 0),
        ("delete_file", gone, &[], "deny", 5),
        ("delete_file", gone, &["--on-ask", "fail"], "ask", 6),
        ("delete_file", gone, &["--policy", "auto"], "run", 0),
        ("delete_file", gone, &["--policy", "locked"], "deny", 5),
        ("read_file", "{}", &[], "fail", 1),
        ("raed_file", "{}", &[], "fail", 4),
    ] {
        let (answer, exit) = dry(tool, args, more);
        assert_eq!(
            (answer["would"].as_str(), exit),
            (Some(would), code),
            "{tool} {more:?}: {answer}"
        );
    }
    let (answer, _) = dry("delete_file", gone, &[]);
    assert_eq!(
        (&answer["risk"], &answer["effect"], &answer["operation"]),
        (&json!("high"), &json!("destructive"), &json!("delete_file"))
    );
    assert_eq!(answer["ruling"]["by"], "preset");
    assert!(answer["advice"].as_str().unwrap().contains("rules add allow"), "{answer}");
    let text =
        env.run(&["tool", "call", "delete_file", "--args", gone, "--dry-run"]).code(5).stdout;
    for words in
        ["it would be denied, because there is no approver", "policy        ask, by the preset"]
    {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(env.names(), ["notes.md"]);
    assert_eq!(support::json(&env.run(&["history", "--json"]).code(0).stdout), json!([]));
    assert_eq!(support::json(&env.run(&["approve", "list", "--json"]).code(0).stdout), json!([]));
    // The real call behaves as predicted.
    assert_eq!(env.call("delete_file", &support::json(gone), &["--policy", "auto"]).1, 0);
}
