//! `toolcrib tool list|show|call`: any tool used manually, through the same pipeline.

use serde_json::{Value, json};

use crate::support::{self, Server, TestEnv, feed};

/// The built-in tools.
const TOOLS: [&str; 69] = [
    "get_current_time",
    "read_file",
    "write_file",
    "edit_file",
    "diff_editor",
    "list_dir",
    "file_info",
    "make_dir",
    "copy_path",
    "move_path",
    "delete_file",
    "find_files",
    "code_search",
    "git_manager",
    "test_runner",
    "pdf_read",
    "lsp_manager",
    "http_request",
    "fetch_url",
    "docs_search",
    "news",
    "web_search",
    "get_weather",
    "get_location_from_ip",
    "open_url",
    "read",
    "execute_shell_command",
    "manage_process",
    "ssh_configure_host",
    "read_artifact",
    "review_tool_calls",
    "introspect",
    "memory_store",
    "memory_forget",
    "memory_learn",
    "memory_reinforce",
    "memory_recall",
    "schedule_task",
    "list_tasks",
    "cancel_task",
    "promote_learning",
    "send_notification",
    "set_alarm",
    "create_calendar_event",
    "list",
    "rich_render",
    "document",
    "goal_pursuit",
    "goals",
    "setup_email",
    "check_email",
    "read_email",
    "search_email",
    "compose_email",
    "reply_email",
    "unsubscribe_email",
    "draft_message",
    "check_sms",
    "read_sms",
    "search_sms",
    "send_sms",
    "reply_sms",
    "code_exec",
    "tool_chain",
    "find_tools",
    "load_tool_group",
    "ask_user",
    "load_skill",
    "hosted_web_search",
];

#[test]
fn list_names_every_tool() {
    let env = TestEnv::new();
    let text = env.run(&["tool", "list"]).code(0).stdout;
    let mut rows = text.lines();
    assert!(rows.next().unwrap().starts_with("TOOL "));
    let names: Vec<&str> = rows.map(|row| row.split(' ').next().unwrap()).collect();
    assert_eq!(names, TOOLS);
    let infos = support::json(&env.run(&["tool", "list", "--json"]).code(0).stdout);
    for (info, name) in infos.as_array().unwrap().iter().zip(TOOLS) {
        let off = [
            "execute_shell_command",
            "manage_process",
            "ssh_configure_host",
            "code_exec",
            "hosted_web_search",
        ];
        let is_on = !off.contains(&name);
        assert_eq!((&info["id"], &info["enabled"]), (&json!(name), &json!(is_on)), "{info}");
        assert!(info["title"].is_string() && info["description"].is_string(), "{info}");
    }
}

#[test]
fn a_list_says_where_a_tool_stands_and_what_it_costs() {
    let env = TestEnv::new();
    let weather = "description = \"Tells the weather.\"\ncommand = [\"true\"]\nrisk = \"safe\"\n";
    env.own("tools/weather/tool.toml", weather);
    let listed = support::json(&env.run(&["tool", "list", "--json"]).code(0).stdout);
    let row = |name: &str| {
        let rows = listed.as_array().unwrap().iter();
        rows.clone().find(|row| row["id"] == name).unwrap_or_else(|| panic!("{name}: {listed}"))
    };
    for (name, tier, source, kind, risk) in [
        ("find_tools", "innate", "discover", "local", "safe"),
        ("read_file", "first_party", "builtin", "local", "safe"),
        ("hosted_web_search", "first_party", "provider", "hosted", "safe"),
        ("weather", "first_party", "own", "local", "safe"),
    ] {
        let row = row(name);
        let said = ["tier", "source", "kind", "risk"].map(|key| row[key].as_str().unwrap());
        assert_eq!(said, [tier, source, kind, risk]);
        assert!(row["tokens"].as_u64().unwrap() >= 5, "{row}");
    }
    let text = env.run(&["tool", "list"]).code(0).stdout;
    let line = text.lines().find(|line| line.starts_with("hosted_web_search ")).unwrap();
    assert!(line.contains("provider (hosted)"), "{line}");
}

/// Read-only commands create no database, and need none.
#[test]
fn switches_are_shown_where_they_are_stored() {
    let env = TestEnv::new();
    let database = env.outside().join("home/state/toolcrib.db");
    let status = || {
        let ended = env.run(&["tool", "list"]).code(0);
        let row = ended.stdout.lines().find(|row| row.starts_with("read_file ")).unwrap();
        (row.split_whitespace().nth(2).unwrap().to_owned(), ended.stderr)
    };
    assert_eq!(status(), ("system".to_owned(), String::new()));
    assert!(!database.exists());
    let said = "tool:read_file is off in every process that starts from now on";
    env.run(&["tool", "disable", "no_such_tool"]).code(4);
    env.run(&["tool", "disable", "read_file"]).code(0).says(&[said]);
    assert_eq!(status(), ("disabled".to_owned(), String::new()));
    env.run(&["tool", "call", "read_file", "--args", r#"{"path": "notes.md"}"#]).code(5);
    std::fs::write(&database, "something else").unwrap();
    let (shown, said) = status();
    assert_eq!(shown, "system");
    assert!(said.contains("the switches of tools cannot be read"), "{said}");
}

#[test]
fn switches_go_back_to_their_default() {
    let env = TestEnv::new();
    env.run(&["tool", "reset", "read_file"]).code(0).says(&["already at its default\n"]);
    env.run(&["tool", "disable", "--all"]).code(0).says(&["every tool is off in every process"]);
    env.run(&["tool", "call", "get_current_time"]).code(5).says(&["tools_disabled"]);
    env.run(&["tool", "reset", "--all"]).code(0).says(&["reset to its default"]);
    env.run(&["tool", "reset", "--all"]).code(0).says(&["already at its default"]);
    env.run(&["tool", "call", "get_current_time"]).code(0);
}

fn status_of(env: &TestEnv, tool: &str) -> String {
    let listed = env.run(&["tool", "list"]).code(0).stdout;
    let row = listed.lines().find(|row| row.starts_with(&format!("{tool} "))).unwrap();
    row.split_whitespace().nth(2).unwrap().to_owned()
}

#[test]
fn a_tool_or_a_group_is_asked_about() {
    let env = TestEnv::new();
    let said = "tool:read_file is on, and every call requires approval, in every process";
    env.run(&["tool", "ask", "read_file"]).code(0).says(&[said]);
    assert_eq!(status_of(&env, "read_file"), "ask");
    let call = ["tool", "call", "read_file", "--args", r#"{"path": "notes.md"}"#];
    let asked = env.run(&call).code(5).stderr;
    assert!(asked.contains("a switch asks about every call of read_file"), "{asked}");
    let answer = support::json(&env.run(&["tool", "ask", "read_file", "--json"]).code(0).stdout);
    let expected = json!({
        "switch": "tool:read_file", "enabled": true, "state": "ask", "changed": true,
        "name": "tool:read_file", "by": answer["by"], "at": answer["at"], "tools": 1, "on": 1,
    });
    assert_eq!(answer, expected);
    let dry = ["tool", "call", "read_file", "--args", r#"{"path": "notes.md"}"#, "--dry-run"];
    let said = env.run(&dry).stdout;
    assert!(said.contains("ask, by a switch: a switch asks about every call"), "{said}");
    env.run(&["tool", "enable", "read_file"]).code(0);
    assert_eq!(status_of(&env, "read_file"), "system");
    env.run(&call).code(0);
    for what in [["--all", ""], ["--source", "builtin"], ["--tier", "innate"]] {
        let words: Vec<&str> = what.into_iter().filter(|word| !word.is_empty()).collect();
        let words = [&["tool", "ask"], words.as_slice()].concat();
        env.run(&words).code(2).says(&["only a tool or a group can be \"ask\""]);
    }
    env.run(&["tool", "ask", "--group", "no_such_group"])
        .code(4)
        .says(&["no switch group:no_such_group"]);
}

#[test]
fn a_group_comes_back_with_each_of_its_tools_as_it_was() {
    let env = TestEnv::new();
    let infos = support::json(&env.run(&["tool", "list", "--json"]).code(0).stdout);
    let in_it = infos.as_array().unwrap().iter().find(|info| info["id"] == "read_file").unwrap();
    let group = in_it["group"].as_str().unwrap();
    let of_group: Vec<&str> = infos
        .as_array()
        .unwrap()
        .iter()
        .filter(|info| info["group"] == group)
        .map(|info| info["id"].as_str().unwrap())
        .collect();
    let (off, asks) = (of_group[0], of_group[1]);
    env.run(&["tool", "disable", off]).code(0);
    env.run(&["tool", "ask", asks]).code(0);
    let before: Vec<String> = of_group.iter().map(|tool| status_of(&env, tool)).collect();
    assert_eq!((before[0].as_str(), before[1].as_str()), ("disabled", "ask"));
    env.run(&["tool", "disable", "--group", group])
        .code(0)
        .says(&[&format!("group:{group} is off")]);
    assert!(of_group.iter().all(|tool| status_of(&env, tool) == "disabled"));
    let why = env.run(&["tool", "why", asks]).code(0).stdout;
    assert!(
        why.contains(&format!("`toolcrib tool enable --group {group}` switches it on")),
        "{why}"
    );
    env.run(&["tool", "enable", "--group", group]).code(0);
    let after: Vec<String> = of_group.iter().map(|tool| status_of(&env, tool)).collect();
    assert_eq!(after, before);
}

/// The kill switch is a file and a row: either is sufficient, and starting the tools removes both.
#[test]
fn every_tool_is_stopped_at_once_and_started_again() {
    let env = TestEnv::new();
    let file = env.outside().join("home/state/STOP");
    let call = ["tool", "call", "get_current_time"];
    let stop = ["stop-tools", "--reason", "too fast", "--finish-running"];
    env.run(&stop).code(0).says(&["every tool is off in every process", "toolcrib start-tools"]);
    let stopped = support::json(&std::fs::read_to_string(&file).unwrap());
    assert_eq!((&stopped["why"], &stopped["finish_running"]), (&json!("too fast"), &json!(true)));
    env.run(&call).code(5).says(&["tools_disabled"]);
    std::fs::remove_file(&file).unwrap();
    env.run(&call).code(5).says(&["tools_disabled"]);
    env.run(&["start-tools"]).code(0).says(&["every tool is on"]);
    env.run(&call).code(0);
    std::fs::write(&file, "").unwrap();
    env.run(&call).code(5).says(&["tools_disabled"]);
    env.run(&["tool", "enable", "--all"]).code(0);
    assert!(!file.exists());
    env.run(&call).code(0);
    // A database that cannot be used does not prevent stopping.
    let database = env.outside().join("home/state/toolcrib.db");
    std::fs::write(&database, "something else").unwrap();
    env.run(&["stop-tools"]).says(&["all tools are off on this machine", "could not be stored"]);
    assert!(file.exists());
}

#[test]
fn show_says_what_a_tool_takes() {
    let env = TestEnv::new();
    for name in TOOLS {
        let text = env.run(&["tool", "show", name]).code(0).stdout;
        for part in [name, "risk ", "effect ", "timeout ", "parameters ", "example "] {
            assert!(text.contains(part), "{name} has no {part:?}: {text}");
        }
        let spec = support::json(&env.run(&["tool", "show", name, "--json"]).code(0).stdout);
        assert_eq!(
            (&spec["name"], &spec["input_schema"]["type"]),
            (&json!(name), &json!("object"))
        );
    }
    let text = env.run(&["tool", "show", "get_local_time"]).code(0).stdout;
    assert!(text.starts_with("get_current_time"), "an alias shows its tool: {text}");
}

#[test]
fn call_prints_the_result_for_people() {
    let env = TestEnv::new();
    let ended =
        env.run(&["tool", "call", "read_file", "--args", "{\"path\":\"notes.md\"}"]).code(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("buy oats\n", ""));
    let ended =
        env.run(&["tool", "call", "read_file", "--args", "{\"path\":\"notes.md\",}"]).code(0);
    assert_eq!(ended.stdout, "buy oats\n");
    ended.says(&["toolcrib: a comma before the closing bracket was removed"]);
    let ended = env.run(&["tool", "call", "read_file", "--args", "{\"path\":\"no\"}"]).code(1);
    assert_eq!(ended.stdout, "");
    ended.says(&["toolcrib: File not found: no (file_not_found)"]);
    let ended = env.feed(&["tool", "call", "read_file", "--args", "-"], "{\"path\":\"notes.md\"}");
    assert_eq!(ended.code(0).stdout, "buy oats\n");
    env.run(&["tool", "call", "get_local_time"]).code(0);
}

#[test]
fn call_prints_one_object_for_machines() {
    let env = TestEnv::new();
    let rows = [
        (
            "read_file",
            json!({"path": "notes.md"}),
            0,
            json!({"outcome": "succeeded", "result": "buy oats\n", "trust": "workspace", "source": "notes.md"}),
        ),
        (
            "read_file",
            json!({"path": "no"}),
            1,
            json!({"outcome": "failed", "error_type": "file_not_found", "result": "File not found: no"}),
        ),
    ];
    for (tool, args, code, expected) in rows {
        let (reply, ended) = env.call(tool, &args, &[]);
        let members = expected.as_object().unwrap();
        let seen: serde_json::Map<String, Value> =
            members.keys().map(|name| (name.clone(), reply[name].clone())).collect();
        assert_eq!((&seen, ended), (members, code), "{reply}");
    }
    let (reply, code) = env.call("read_file", &json!({"pth": "notes.md"}), &[]);
    assert_eq!((reply["error_type"].as_str(), code), (Some("validation_error"), 1));
    let text = reply["result"].as_str().unwrap();
    assert!(text.contains("\"pth\"") && text.contains("\"path\""), "{text}");
}

#[test]
fn explain_goes_to_standard_error() {
    let env = TestEnv::new();
    let args = ["tool", "call", "get_current_time", "--explain"];
    let ended = env.run(&args).code(0);
    assert_eq!(ended.stdout.lines().count(), 1);
    assert_eq!(ended.stderr.lines().count(), 16, "{}", ended.stderr);
    let ended = env.run(&[&args[..], &["--json"]].concat()).code(0);
    let trace = support::json(&ended.stderr);
    assert_eq!(trace["report"]["stages"].as_array().map(Vec::len), Some(15));
    // Filters stop, too.
    let line = feed(&[json!({"id": 1, "tool": "get_current_time"})]);
    let ended = env.feed(&["tool", "call", "--lines", "--explain", "--json"], line).code(0);
    assert_eq!(support::lines(&ended.stdout).len(), 1);
    assert_eq!(support::json(&ended.stderr)["tool"], "get_current_time");
}

#[test]
fn lines_are_answered_in_order() {
    let env = TestEnv::new();
    let input = [
        json!({"id": 1, "tool": "write_file", "args": {"path": "a", "content": "1"}}),
        json!({"id": "b", "tool": "read_file", "args": {"path": "a"}}),
        json!({"id": [3], "tool": "read_file", "args": "{'path': 'a'}"}),
        json!({"id": null, "tool": "raed_file"}),
        json!({"id": 5, "tool": "delete_file", "args": {"path": "a"}}),
        json!({"id": 6, "args": {}}),
        json!({"id": 7, "tool": ""}),
        json!({"id": 8, "tool": "get_current_time"}),
    ];
    let ended = env.feed(&["tool", "call", "--lines"], feed(&input)).code(2);
    let replies = support::lines(&ended.stdout);
    assert_eq!(replies.len(), input.len());
    for (reply, line) in replies.iter().zip(&input) {
        assert_eq!(reply["id"], line["id"]);
    }
    assert_eq!(replies[1]["result"], "1");
    assert!(replies[2]["notes"].is_array(), "{}", replies[2]);
    let types: Vec<&Value> = replies[3..8].iter().map(|reply| &reply["error_type"]).collect();
    let null = Value::Null;
    assert_eq!(
        types,
        [
            &json!("tool_not_found"),
            &json!("approval_denied"),
            &json!("validation_error"),
            &json!("validation_error"),
            &null
        ]
    );
    assert_eq!(replies[5]["outcome"], "failed", "{}", replies[5]);
    assert!(replies[5]["error"].as_str().unwrap().contains("line 6"), "{}", replies[5]);
    assert_eq!(env.read("a").as_deref(), Some("1"));
}

#[test]
fn an_answer_arrives_before_the_next_line_is_sent() {
    let env = TestEnv::new();
    let mut filter = env.filter(&["tool", "call", "--lines"]);
    for n in 0..3 {
        let write =
            json!({"id": n, "tool": "write_file", "args": {"path": "n", "content": n.to_string()}});
        assert_eq!(filter.ask(&write.to_string())["outcome"], "succeeded");
        assert_eq!(env.read("n"), Some(n.to_string()), "done when it is answered");
    }
    assert!(filter.ask("{{{")["error"].is_string());
    assert_eq!(filter.ask("{\"id\": 9, \"tool\": \"get_current_time\"}")["id"], 9);
    assert_eq!(filter.end(), 2);
}

#[test]
fn http_tools_reach_what_was_opened_and_nothing_else() {
    let (env, server) = (TestEnv::new(), Server::start());
    let open = server.target();
    let get = json!({"url": server.url("/status.json")});
    let (reply, code) = env.call("http_request", &get, &[]);
    assert_eq!((reply["error_type"].as_str(), code), (Some("approval_denied"), 5), "{reply}");
    assert!(server.seen().is_empty());
    let (reply, code) = env.call("http_request", &get, &["--allow-net", &open]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("succeeded"), 0), "{reply}");
    let post = json!({"url": server.url("/status.json"), "method": "POST", "body": "a=1"});
    let (reply, code) = env.call("http_request", &post, &["--allow-net", &open]);
    assert_eq!((reply["error_type"].as_str(), code), (Some("approval_denied"), 5), "{reply}");
    let (_, code) = env.call("http_request", &post, &["--allow-net", &open, "--policy", "auto"]);
    assert_eq!(code, 0);
    let (reply, _) =
        env.call("fetch_url", &json!({"url": server.url("/broken")}), &["--allow-net", &open]);
    assert!(reply["result"].as_str().unwrap().contains("down for repair"), "{reply}");
    assert_eq!(server.seen(), ["GET /status.json", "POST /status.json a=1", "GET /broken"]);
    drop(server);
    let (reply, code) = env.call("http_request", &get, &["--allow-net", &open]);
    assert_eq!((reply["error_type"].as_str(), code), (Some("network_error"), 1), "{reply}");
}

#[test]
fn titles_and_first_sentences_of_tools_are_for_people() {
    let env = TestEnv::new();
    let tools = support::json(&env.run(&["tool", "list", "--json"]).code(0).stdout);
    let mut titles = std::collections::BTreeSet::new();
    for tool in tools.as_array().unwrap() {
        let (name, title) = (tool["id"].as_str().unwrap(), tool["title"].as_str().unwrap());
        assert!(titles.insert(title.to_owned()), "{title} is the title of two tools");
        assert!((4..=32).contains(&title.len()), "{name}: {title}");
        let first = title.split(' ').next().unwrap();
        assert!(VERBS.contains(&first), "{name}: a title begins with a verb: {title}");
        let about = tool["description"].as_str().unwrap();
        let sentence = toolcrib_core::display_text::first_sentence(about);
        assert!((10..=120).contains(&sentence.len()), "{name}: {sentence}");
    }
    let titled = |title: &str| titles.contains(title);
    assert!(titled("Read PDF or document") && titled("List folder") && titled("Run Python"));
}

/// The verbs with which titles of built-in tools start.
const VERBS: [&str; 39] = [
    "Apply",
    "Ask",
    "Cancel",
    "Chain",
    "Check",
    "Configure",
    "Confirm",
    "Copy",
    "Create",
    "Delete",
    "Edit",
    "Fetch",
    "Find",
    "Forget",
    "Get",
    "Keep",
    "Leave",
    "List",
    "Load",
    "Look",
    "Make",
    "Manage",
    "Move",
    "Open",
    "Promote",
    "Pursue",
    "Read",
    "Recall",
    "Reply",
    "Review",
    "Run",
    "Schedule",
    "Search",
    "Send",
    "Set",
    "Show",
    "Store",
    "Use",
    "Write",
];

#[test]
fn a_refusal_names_the_remedy_and_speaks_to_the_person() {
    let env = TestEnv::new();
    let check = |args: &[&str], says: &[&str]| {
        let ended = env.run(&[&["tool", "call"], args].concat());
        assert_ne!(ended.code, 0);
        let ended = ended.says(says);
        for to_the_model in ["Do not", "declared to you", "Answer without", "ask the person"] {
            assert!(!ended.stderr.contains(to_the_model), "{}", ended.stderr);
        }
    };
    check(
        &["fetch_url", "url=http://127.0.0.1:8080/", "--policy", "auto"],
        &["it would reach 127.0.0.1:8080", "`--allow-net 127.0.0.1:8080`"],
    );
    check(&["no_such_tool"], &["is not available", "`toolcrib tool list`"]);
    env.run(&["tool", "disable", "get_current_time"]).code(0);
    check(&["get_current_time"], &["`toolcrib tool enable get_current_time` switches it on"]);
    check(
        &["delete_file", "path=x", "--on-ask", "deny"],
        &["no person can be asked here", "rules add allow 'delete_file'"],
    );
    check(&["read_file", "path=3", "limit=no"], &["Nothing was done."]);
    env.run(&["stop-tools"]).code(0);
    check(&["read_file", "path=x"], &["Tools are disabled.", "`toolcrib start-tools`"]);
}

/// `tool call` accepts the agent, the conversation and the topic, so that rules for them apply and
/// the history records them.
#[test]
fn a_call_belongs_to_the_agent_conversation_and_topic_that_are_named() {
    let env = TestEnv::new();
    env.own("agents/reader.md", "---\ntools: [read_file]\n---\nYou read.\n");
    env.run(&["run", "--model", &env.script("script", "\n  - {say: Hello.}\n"), "Hi"]).code(0);
    let listed = support::json(&env.run(&["conversation", "list", "--json"]).code(0).stdout);
    let conversation = listed[0]["id"].as_str().or(listed[0]["conversation"].as_str()).unwrap();
    let context = ["--agent", "reader", "--conversation", conversation, "--topic", "the garden"];
    let read = ["tool", "call", "read_file", "path=notes.md"];
    env.run(&[&read[..], &context[..]].concat()).code(0);
    let row = &support::json(&env.run(&["history", "--json"]).code(0).stdout)[0];
    assert_eq!(
        (&row["agent"], &row["conversation"], &row["topic"]),
        (&json!("reader"), &json!(conversation), &json!("the garden"))
    );
    let write = ["tool", "call", "write_file", "path=x", "content=x", "--agent", "reader"];
    let ended = env.run(&write);
    assert_ne!(ended.code, 0, "the list of the agent limits it: {ended:?}");
    assert!(env.read("x").is_none());
    let dry = env.run(&[&write[..], &["--dry-run"]].concat());
    assert_ne!(dry.code, 0, "{dry:?}");
    env.run(&[&read[..], &["--agent", "raeder"]].concat()).code(4).says(&["did you mean reader?"]);
    let unknown = "conv_01a20d3e8b94aa1d4b4e6525b0d30000";
    env.run(&[&read[..], &["--conversation", unknown]].concat()).code(4);
    env.run(&[&read[..], &["--topic", &"x".repeat(201)]].concat())
        .code(2)
        .says(&["200 characters"]);
}

/// The list of tools for models on this device is configurable, and `tool why` reports it.
#[test]
fn models_on_this_device_are_offered_the_configured_tools() {
    let env = TestEnv::new();
    let why = |tool: &str| {
        let text = env.run(&["tool", "why", tool, "--on-device"]).code(0).stdout;
        (text.starts_with(&format!("{tool} is offered")), text)
    };
    let (offered, text) = why("read_file");
    assert!(!offered && text.contains("`on_device_tools` in [discovery]"), "{text}");
    env.own("config.toml", "[discovery]\non_device_tools = [\"read_*\", \"group:time\"]\n");
    assert!(why("read_file").0, "{}", why("read_file").1);
    assert!(!why("write_file").0, "{}", why("write_file").1);
    env.run(&["tool", "why", "write_file"]).code(0).says(&[]);
}

/// Regression: a caller that pays per token could limit only complete runs.
#[test]
fn max_tokens_bounds_the_result_that_is_printed() {
    let env = TestEnv::new();
    let lines: Vec<String> = (0..2_000).map(|line| format!("line {line}")).collect();
    env.write("long.txt", lines.join("\n"));
    let call = |tokens: &str, more: &[&str]| {
        let args = ["tool", "call", "read_file", "path=long.txt", "--max-tokens", tokens];
        env.run(&[&args[..], more].concat())
    };
    let cut = call("100", &[]).code(0).says(&["cut to 100 tokens"]);
    assert!(cut.stdout.contains("line 1999"), "{}", cut.stdout);
    assert!(cut.stdout.trim_end().chars().count() <= 400, "{}", cut.stdout);
    let json = support::json(&call("100", &["--json"]).code(0).stdout);
    assert!(json["result"].as_str().unwrap().chars().count() <= 400, "{json}");
    let whole = call("100000", &[]).code(0);
    assert!(whole.stdout.chars().count() > 10_000 && whole.stderr.is_empty(), "{}", whole.stderr);
    call("63", &[]).code(2).says(&["max_tokens is at least 64"]);
}
