//! Lists and documents of objects of every kind, and errors about missing ones.

use serde_json::{Value, json};

use super::surfaces::{Surfaces, differences};
use crate::support::TestEnv;

/// Creates objects of every kind.
fn filled() -> Surfaces {
    let env = TestEnv::new();
    env.run(&["memory", "edit", "city", "Leeds"]).code(0);
    env.run(&["task", "add", "water", "water the plants", "--at", "2099-01-01T09:00"]).code(0);
    env.run(&["list", "add", "shopping", "oats", "milk"]).code(0);
    env.run(&["goal", "add", "learn Rust"]).code(0);
    env.run(&["document", "add", "notes.md"]).code(0);
    env.run(&["notification", "send", "hello"]).code(0);
    env.feed(&["secret", "set", "mykey"], "a value of a secret\n").code(0);
    env.run(&["mcp", "add", "srv", "--", "/bin/cat"]).code(0);
    env.run(&["tool", "call", "read_file", "path=notes.md"]).code(0);
    env.run(&["tool", "call", "write_file", "path=a.txt", "content=hi"]).code(0);
    env.run(&["tool", "call", "no_such_tool"]);
    env.run(&["tool", "call", "delete_file", "path=a.txt", "--on-ask", "fail"]).code(6);
    env.write(".toolcrib/tools/count.py", "# description: Count\nprint(1)\n");
    env.run(&["agent", "new", "reader"]).code(0);
    env.run(&["agent", "tools", "reader", "--set", "read_file,web_search"]).code(0);
    let on = Surfaces::start(env);
    on.ok("POST", "/tokens", Some(&json!({"name": "ci", "roles": ["viewer"]})));
    let waiting = &on.ok("GET", "/approvals", None)["items"][0];
    let nonce = &waiting["nonce"];
    let path = format!("/approvals/{}", waiting["approval"].as_str().unwrap());
    on.ok("POST", &path, Some(&json!({"decision": "approve", "scope": "always", "nonce": nonce})));
    on.env.run(&["tool", "call", "delete_file", "path=b.txt", "--on-ask", "fail"]);
    on.env.run(&[
        "tool",
        "call",
        "move_file",
        "source=notes.md",
        "destination=c.txt",
        "--on-ask",
        "fail",
    ]);
    on
}

#[test]
fn tools_are_listed_alike() {
    let on = Surfaces::start(TestEnv::new());
    on.ok("PUT", "/switches/tool:read_file", Some(&json!({"state": "off"})));
    let of_route = on.ok("GET", "/tools", None)["items"].as_array().unwrap().clone();
    for args in [&["tool", "list"][..], &["tool", "list", "--all"]] {
        let of_command = on.command(args);
        let own = ["id", "title_key", "description_key"];
        let differences = differences(&of_command, &json!(of_route), &own, "");
        assert!(differences.is_empty(), "{args:?}:\n{}", differences.join("\n"));
    }
    let off = of_route.iter().find(|row| row["name"] == "read_file").unwrap();
    assert_eq!((&off["offered"], &off["excluded"]["because"]), (&json!(false), &json!("disabled")));
}

#[test]
fn commands_and_routes_that_look_agree() {
    let on = filled();
    let id = |path: &str, member: &str| {
        let items = on.ok("GET", path, None);
        items["items"][0][member].as_str().unwrap_or_else(|| panic!("{path}: {items}")).to_owned()
    };
    let (approval, task) = (id("/approvals?state=all", "approval"), id("/tasks", "task"));
    let (goal, document) = (id("/goals", "goal"), id("/documents", "document"));
    let (call, grant) = (id("/calls?tool=write_file", "call"), id("/grants", "id"));
    let asked = ["id", "short", "kind", "expired"];
    let remembered = ["grant", "matches", "past_calls"];
    let look = |args: &[&str], path: &str, own: &[&str]| on.agree(args, ("GET", path, None), own);
    look(
        &["tool", "show", "read_file"],
        "/tools/read_file",
        &["default_enabled", "needs", "parameter_aliases", "polling", "spec_version", "timeout"],
    );
    look(&["tool", "why", "web_search"], "/tools/web_search/why", &[]);
    look(&["tool", "why", "read_file"], "/tools/read_file/why", &[]);
    look(&["approve", "list"], "/approvals", &asked);
    look(&["approve", "list", "--all"], "/approvals?state=all", &asked);
    look(
        &["approve", "show", &approval],
        &format!("/approvals/{approval}"),
        &["request", "expired"],
    );
    look(&["history"], "/calls", &[]);
    look(&["explain", &call], &format!("/calls/{call}/explain"), &["status", "outcome", "advice"]);
    look(&["agent", "list"], "/agents", &[]);
    look(&["agent", "show", "reader"], "/agents/reader", &[]);
    look(&["skill", "list"], "/skills", &[]);
    look(&["kit", "list"], "/kits", &[]);
    look(&["token", "list"], "/tokens", &[]);
    look(&["config", "list", "--all"], "/settings", &[]);
    look(&["secret", "list"], "/secrets", &[]);
    look(&["memory", "list"], "/memories", &[]);
    look(&["memory", "show", "city"], "/memories/city", &[]);
    look(&["task", "list"], "/tasks", &[]);
    look(&["task", "show", &task], &format!("/tasks/{task}"), &[]);
    look(&["goal", "list"], "/goals", &[]);
    look(&["goal", "show", &goal], &format!("/goals/{goal}"), &[]);
    look(&["list", "all"], "/lists", &[]);
    look(&["list", "show", "shopping"], "/lists/shopping", &[]);
    look(&["list", "history", "shopping"], "/lists/shopping/history", &[]);
    look(&["document", "list"], "/documents", &[]);
    look(&["document", "show", &document], &format!("/documents/{document}"), &[]);
    look(&["notification", "list"], "/notifications", &[]);
    look(&["draft", "list"], "/drafts", &[]);
    look(&["app", "list"], "/apps", &[]);
    look(&["grant", "list"], "/grants", &remembered);
    look(&["grant", "show", &grant], &format!("/grants/{grant}"), &remembered);
    look(&["usage"], "/usage", &[]);
    look(&["mcp", "list"], "/mcp/servers", &["place", "authorization"]);
    look(
        &["mcp", "show", "srv"],
        "/mcp/servers/srv",
        &[
            "timeout_s",
            "idle_s",
            "legacy",
            "pin",
            "trust_results",
            "workspace",
            "read",
            "write",
            "allow_hosts",
            "memory_mb",
            "env",
            "launcher",
        ],
    );
    look(&["artifact", "list"], "/artifacts", &[]);
    look(&["conversation", "list"], "/conversations", &[]);
    look(&["conversation", "list", "--deleted"], "/conversations?deleted=true", &[]);
    look(&["chain", "list"], "/chains", &[]);
    look(&["chain", "show", "count"], "/chains/count", &[]);
    look(&["heartbeat", "show"], "/heartbeat", &[]);
    look(&["undo", "--list"], "/changes", &[]);
    on.agree(&["audit", "verify"], ("POST", "/audit/verify", Some(json!({}))), &[]);
    for by in ["tool", "model"] {
        look(&["usage", "--by", by], &format!("/usage?by={by}"), &[]);
    }
    let tested = on.ok(
        "POST",
        "/tools/delete_file/test",
        Some(&json!({"arguments": {"path": "x"}, "dry_run": true})),
    );
    let mut forecasts = [
        tested["forecast"].clone(),
        on.command(&["tool", "call", "delete_file", "path=x", "--dry-run"]),
    ];
    for forecast in &mut forecasts {
        // The times of stages differ, and so does the end if asking has another meaning.
        forecast["stages"] = json!(forecast["stages"].as_array().unwrap().len());
        forecast["would"] = json!(null);
    }
    let differences = differences(&forecasts[1], &forecasts[0], &[], "");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Regression: `tool call --json` had other members without `--daemon`.
#[test]
fn a_call_has_one_form_with_and_without_a_daemon() {
    let on = Surfaces::start(TestEnv::new());
    let stripped = |mut call: Value| {
        // These members differ from call to call.
        for member in ["call", "duration_ms"] {
            call.as_object_mut().unwrap().remove(member);
        }
        if let Some(approval) = call.get_mut("approval") {
            *approval = json!(approval.as_object().unwrap().keys().collect::<Vec<_>>());
        }
        call
    };
    for args in [
        &["read_file", "path=notes.md"][..],
        &["read_file", "path=none.md"],
        &["read_file"],
        &["no_such_tool"],
        &["get_current_time", "timezone=Nowhere/Land"],
    ] {
        let call = [&["tool", "call"], args].concat();
        let local = stripped(on.command(&call));
        let daemon = stripped(on.command(&[&call[..], &["--daemon"]].concat()));
        assert_eq!(local, daemon, "{args:?}");
        let body = json!({"tool": args[0], "arguments": daemon_arguments(args)});
        let (_, route) = on.send("POST", "/calls", Some(&body));
        let differences =
            differences(&daemon, &stripped(route), &["outcome", "result", "is_error"], "");
        assert!(differences.is_empty(), "{args:?}: {}", differences.join("\n"));
    }
}

/// Parses `NAME=VALUE` arguments to an object.
fn daemon_arguments(args: &[&str]) -> Value {
    let pairs = args.iter().filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), json!(value))).collect()
}

/// Regression: `GET /calls/nosuch/explain` reported that the id "is malformed", without advice.
#[test]
fn a_missing_thing_is_named_in_the_same_words_with_the_list_of_what_there_is() {
    let on = Surfaces::start(TestEnv::new());
    for (args, path, words, list) in [
        (&["explain", "nosuch"][..], "/calls/nosuch/explain", "there is no call nosuch", "/calls"),
        (&["goal", "show", "nosuch"], "/goals/nosuch", "there is no goal nosuch", "/goals"),
        (&["task", "show", "nosuch"], "/tasks/nosuch", "there is no task nosuch", "/tasks"),
        (
            &["grant", "show", "nosuch"],
            "/grants/nosuch",
            "there is no remembered approval nosuch",
            "/grants",
        ),
        (
            &["memory", "show", "nosuch"],
            "/memories/nosuch",
            "there is no memory nosuch",
            "/memories",
        ),
        (&["list", "show", "nosuch"], "/lists/nosuch", "there is no list nosuch", "/lists"),
        (
            &["document", "show", "nosuch"],
            "/documents/nosuch",
            "there is no document nosuch",
            "/documents",
        ),
        (&["app", "show", "nosuch"], "/apps/nosuch", "there is no app nosuch", "/apps"),
        (&["draft", "show", "nosuch"], "/drafts/nosuch", "there is no draft nosuch", "/drafts"),
        (&["tool", "show", "nosuch"], "/tools/nosuch", "there is no tool nosuch", "/tools"),
        (&["kit", "show", "nosuch"], "/kits/nosuch", "there is no kit nosuch", "/kits"),
        (
            &["mcp", "show", "nosuch"],
            "/mcp/servers/nosuch",
            "there is no server nosuch",
            "/mcp/servers",
        ),
        (
            &["conversation", "show", "nosuch"],
            "/conversations/nosuch",
            "there is no conversation nosuch",
            "/conversations",
        ),
        (&["chain", "show", "nosuch"], "/chains/nosuch", "there is no script nosuch", "/chains"),
    ] {
        let ended = on.env.run(args);
        assert_eq!(ended.code, 4, "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(words), "{args:?}: {ended:?}");
        let (status, problem) = on.send("GET", path, None);
        assert_eq!(status, 404, "{path}: {problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(words), "{path}: {detail}");
        assert!(detail.contains(&format!("GET {list} lists")), "{path}: {detail}");
    }
}
