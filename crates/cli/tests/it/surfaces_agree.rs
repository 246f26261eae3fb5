//! A command and its route agree: both use one operation, so `toolcrib … --json` has every member
//! of the REST document with the same value. The tables below name the members that only the
//! command has.

use serde_json::{Value, json};

use crate::support::{self, DaemonProcess, TestEnv};

/// A daemon, and the command line on the same files.
struct Surfaces {
    env: TestEnv,
    daemon: DaemonProcess,
    token: String,
}

impl Surfaces {
    #[track_caller]
    fn start(env: TestEnv) -> Self {
        let daemon = DaemonProcess::start(&env, &[]);
        let file = daemon.ready["token_file"].as_str().unwrap();
        let token = std::fs::read_to_string(file).unwrap().trim().to_owned();
        Self { env, daemon, token }
    }

    /// Returns the status and the body of a response.
    #[track_caller]
    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let answer = self.daemon.raw(&format!(
            "{method} /api/v1{path} HTTP/1.1\r\nHost: {{host}}\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        ));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    #[track_caller]
    fn ok(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let (status, reply) = self.send(method, path, body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {reply}");
        reply
    }

    /// Returns the JSON of a command, regardless of its exit code.
    #[track_caller]
    fn command(&self, args: &[&str]) -> Value {
        let ended = self.env.run(&[args, &["--json"]].concat());
        assert!(!ended.stdout.is_empty(), "{args:?}: {ended:?}");
        support::json(&ended.stdout)
    }

    /// Fails unless the command has all members of the route's response, and besides these only its
    /// `own` members.
    #[track_caller]
    fn agree(&self, args: &[&str], route: (&str, &str, Option<Value>), own: &[&str]) {
        let (method, path, body) = route;
        let of_route = self.ok(method, path, body.as_ref());
        let of_command = self.command(args);
        // A list is an array in the command, and a page in the route.
        let of_route = match (&of_command, of_route.get("items")) {
            (Value::Array(_), Some(items)) => items.clone(),
            _ => of_route,
        };
        let differences = differences(&of_command, &of_route, own, "");
        assert!(
            differences.is_empty(),
            "{args:?} and {method} {path}:\n{}",
            differences.join("\n")
        );
    }
}

/// Returns the differences between the JSON of a command and that of its route.
fn differences(command: &Value, route: &Value, own: &[&str], at: &str) -> Vec<String> {
    match (command, route) {
        (Value::Object(command), Value::Object(route)) => {
            let mut all = Vec::new();
            // The meaning of asking depends on the caller: a terminal, or the inbox of the daemon.
            for (name, value) in route.iter().filter(|(name, _)| *name != "asking") {
                let at = format!("{at}.{name}");
                match command.get(name) {
                    Some(own_value) => all.extend(differences(own_value, value, own, &at)),
                    None => all.push(format!("{at}: only the route has it: {value}")),
                }
            }
            let extra = command.keys().filter(|name| !route.contains_key(*name));
            let extra = extra.filter(|name| !own.contains(&name.as_str()));
            all.extend(extra.map(|name| format!("{at}.{name}: only the command has it")));
            all
        }
        (Value::Array(command), Value::Array(route)) if command.len() == route.len() => {
            let pairs = command.iter().zip(route).enumerate();
            pairs
                .flat_map(|(n, (command, route))| {
                    differences(command, route, own, &format!("{at}[{n}]"))
                })
                .collect()
        }
        (command, route) if command == route => Vec::new(),
        (command, route) => vec![format!("{at}: the command says {command}, the route {route}")],
    }
}

const RULES: &str = "[[rules]]
effect = \"deny\"
rule = \"Read(./secret/**)\"
reason = \"keys are in there\"

[[rules]]
effect = \"allow\"
rule = \"Bash(ls:*)\"
match = [\"ls -l\", \"rm x\"]
unsafe = true

[[rules]]
effect = \"ask\"
rule = \"Write\"
expires = \"2020-01-31\"

[[rules]]
effect = \"deny\"
rule = \"no_such_tool\"

[[rules]]
effect = \"deny\"
rule = \"read_file\"
observe = true
";

/// Returns the rules of [`RULES`] with which a daemon can start.
fn usable_rules() -> String {
    RULES.replace("match = [\"ls -l\", \"rm x\"]", "match = [\"ls -l\"]")
}

fn with_rules(rules: &str) -> TestEnv {
    let env = TestEnv::new();
    let home = env.outside().join("home");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("rules.toml"), rules).unwrap();
    env
}

/// Returns rules in the form of a request body.
fn as_body(rules: &str) -> Value {
    let table: toml::Table = rules.parse().unwrap();
    json!({ "rules": table["rules"] })
}

#[test]
fn commands_and_routes_about_rules_agree() {
    let on = Surfaces::start(with_rules(&usable_rules()));
    on.env.run(&["tool", "call", "read_file", "path=notes.md"]).code(0);
    let get = |path: &'static str| ("GET", path, None);
    let post = |path: &'static str, body: Value| ("POST", path, Some(body));
    on.agree(&["rules", "list"], get("/rules"), &[]);
    on.agree(&["rules", "lint"], post("/rules/lint", json!({})), &[]);
    on.agree(&["rules", "test"], post("/rules/test", json!({})), &[]);
    on.agree(&["rules", "replay"], post("/rules/replay", json!({})), &[]);
    let changed = "[[rules]]\neffect = \"deny\"\nrule = \"Read(./notes.md)\"\n";
    on.env.write("changed.toml", changed);
    let replay = |mut reply: Value| {
        for call in reply["differences"].as_array_mut().unwrap() {
            // The origin of the rule is a file for the command.
            call["rule"] = json!(call["rule"].is_string());
        }
        reply
    };
    let of_command = replay(on.command(&["rules", "replay", "changed.toml"]));
    let of_route = replay(on.ok("POST", "/rules/replay", Some(&as_body(changed))));
    assert_eq!(of_command, of_route);
    assert_eq!(of_route["differences"].as_array().unwrap().len(), 1, "{of_route}");
    let suggested = on.ok("GET", "/rules/suggestions", None);
    assert_eq!(on.command(&["rules", "suggest"])["suggestions"], suggested["items"]);
    for text in [
        "ls -l && rm x",
        "Bash(rm x)",
        "Bash(ls)",
        "Read(./secret/x)",
        "Read(./notes.md)",
        "git push",
    ] {
        let route = post("/rules/explain", json!({ "command": text }));
        on.agree(&["rules", "explain", text], route, &[]);
        let route = post("/rules/explain", json!({"command": text, "default": "deny"}));
        on.agree(&["rules", "explain", text, "--default", "deny"], route, &[]);
    }
    for (tool, args) in [
        ("http_request", json!({"url": "https://example.com", "method": "POST"})),
        ("delete_file", json!({"path": "notes.md"})),
        ("mcp__github__delete", json!({})),
        ("delete_file", json!({"no_such_argument": 1})),
    ] {
        let text = args.to_string();
        let command = ["rules", "explain", "--tool", tool, "--args", &text];
        on.agree(&command, post("/rules/explain", json!({"tool": tool, "args": args})), &[]);
    }
}

/// `rules import --json` named the parts of a rule, and not the rule as it is added.
#[test]
fn an_import_of_rules_is_shown_alike() {
    let on = Surfaces::start(TestEnv::new());
    let settings =
        json!({"permissions": {"deny": ["Bash(rm:*)", "Read(./.env)"], "allow": ["X("]}});
    on.env.write("settings.json", settings.to_string());
    let body = json!({"text": settings.to_string(), "name": "settings.json"});
    let own = ["file", "written", "effect", "rule", "reason"];
    on.agree(&["rules", "import", "settings.json"], ("POST", "/rules/import", Some(body)), &own);
}

/// A tool that is switched off had no verdict over REST.
#[test]
fn a_tool_that_is_off_has_a_verdict_of_rules_on_both_surfaces() {
    let on = Surfaces::start(with_rules(&usable_rules()));
    on.ok("PUT", "/switches/tool:read_file", Some(&json!({"state": "off"})));
    let route = ("POST", "/rules/explain", Some(json!({"command": "Read(./secret/x)"})));
    on.agree(&["rules", "explain", "Read(./secret/x)"], route, &[]);
    let said = on.command(&["rules", "explain", "Read(./secret/x)"]);
    assert_eq!((&said["verdict"], &said["by"]), (&json!("deny"), &json!("rule")), "{said}");
    assert_eq!(said["refused"]["error_type"], "tool_disabled", "{said}");
}

/// Rules that are not written yet are a file for the command, and a body for the route.
#[test]
fn rules_that_are_not_written_yet_are_judged_alike() {
    let on = Surfaces::start(TestEnv::new());
    let more = format!("{RULES}\n[[rules]]\neffect = \"deny\"\nrule = \"read_fil(\"\n");
    on.env.write("new.toml", &more);
    let origins = |mut reply: Value| {
        for finding in reply["findings"].as_array_mut().into_iter().flatten() {
            finding["origin"] = json!(null);
        }
        reply
    };
    let of_command = origins(on.command(&["rules", "lint", "new.toml"]));
    let of_route = origins(on.ok("POST", "/rules/lint", Some(&as_body(&more))));
    assert_eq!(of_command, of_route);
    let severities = |severity: &str| {
        let findings = of_command["findings"].as_array().unwrap().iter();
        findings.filter(|finding| finding["severity"] == severity).count()
    };
    assert!(severities("error") >= 2 && severities("warning") >= 2, "{of_command}");
    let of_command = on.command(&["rules", "test", "new.toml"]);
    let of_route = on.ok("POST", "/rules/test", Some(&as_body(&more)));
    for member in ["rules", "rules_with_examples", "examples"] {
        assert_eq!(of_command[member], of_route[member], "{member}");
    }
    for list in ["failed", "unusable"] {
        let count = |reply: &Value| reply[list].as_array().unwrap().len();
        assert_eq!((count(&of_command), count(&of_route)), (1, 1), "{list}: {of_command}");
    }
}

/// Regression: REST returned no remark on an expired rule, and accepted a misspelled tool.
#[test]
fn rules_are_added_with_the_same_checks_and_remarks() {
    let on = Surfaces::start(TestEnv::new());
    for (effect, rule, expires, remarks) in [
        ("deny", "Edit(./a)", None, 0),
        ("ask", "Write(./y)", Some("2020-01-31"), 1),
        ("deny", "server__tool", None, 0),
        ("deny", "shop_window", None, 1),
        ("deny", "delete_fil", None, 0),
        ("deny", "Reed(./x)", None, 0),
        ("allow", "Bash(git * main)", None, 0),
    ] {
        let mut args = vec!["rules", "add", effect, rule];
        args.extend(expires.iter().flat_map(|end| ["--expires", end]));
        let ended = on.env.run(&[&args[..], &["--json"]].concat());
        let body = json!([{"effect": effect, "rule": rule, "expires": expires}]);
        if ended.code != 0 {
            assert_eq!(ended.code, 3, "{ended:?}");
            let (status, problem) = on.send("POST", "/rules/own", Some(&body));
            assert_eq!((status, &problem["code"]), (422, &json!("invalid")), "{problem}");
            let error = support::json(&ended.stderr)["error"].clone();
            assert_eq!(problem["detail"], error);
            continue;
        }
        let of_command = support::json(&ended.stdout);
        on.env.run(&["rules", "rm", rule]).code(0);
        let mut of_route = on.ok("POST", "/rules/own", Some(&body));
        of_route.as_object_mut().unwrap().remove("etag");
        let own = ["added", "effect", "rule", "origin", "layer"];
        let differences = differences(&of_command, &of_route, &own, "");
        assert!(differences.is_empty(), "{rule}: {}", differences.join("\n"));
        assert_eq!(of_route["remarks"].as_array().unwrap().len(), remarks, "{of_route}");
        on.env.run(&["rules", "rm", rule]).code(0);
    }
}

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

#[test]
fn switches_are_set_and_reset_alike() {
    let on = Surfaces::start(TestEnv::new());
    let stripped = |mut row: Value| {
        for member in ["by", "at"] {
            row[member] = json!(row[member].is_null());
        }
        row
    };
    let path = "/switches/tool:read_file";
    let own = ["switch", "enabled", "changed"];
    let of_command = stripped(on.command(&["tool", "disable", "read_file"]));
    let of_route = stripped(on.ok("PUT", path, Some(&json!({"state": "off"}))));
    assert_eq!(differences(&of_command, &of_route, &own, ""), Vec::<String>::new());
    let of_command = stripped(on.command(&["tool", "reset", "read_file"]));
    let of_route = stripped(on.ok("DELETE", path, None));
    assert_eq!(differences(&of_command, &of_route, &own, ""), Vec::<String>::new());
    let (status, problem) =
        on.send("PUT", "/switches/group:no_such_group", Some(&json!({"state": "off"})));
    let said = on.env.run(&["tool", "disable", "--group", "no_such_group"]).code(4);
    assert_eq!(status, 404, "{problem}");
    assert!(said.stderr.contains("there is no switch group:no_such_group"), "{said:?}");
}

/// `undo` chose and checked changes by itself, and a newer change was only noticed over REST.
#[test]
fn changes_are_undone_and_redone_alike() {
    let on = Surfaces::start(TestEnv::new());
    let write = |text: &str| {
        let content = format!("content={text}");
        on.env.run(&["tool", "call", "write_file", "path=a.txt", &content]).code(0);
    };
    write("one");
    write("two");
    let newest = || on.ok("GET", "/changes", None)["items"][0]["id"].clone();
    let body = json!({"direction": "undo", "changes": [newest()]});
    let preview = ("POST", "/changes/preview", Some(body));
    on.agree(&["undo", "--dry-run"], preview, &["changes"]);
    // Each surface undoes one of two equal changes; what differs is the change itself.
    let shape = |mut reply: Value| {
        for list in ["undone", "redone"] {
            for done in reply[list].as_array_mut().into_iter().flatten() {
                done["change"] =
                    json!(done["change"].as_object().unwrap().keys().collect::<Vec<_>>());
            }
        }
        reply.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        reply
    };
    let of_route = on.ok("POST", "/changes/undo", Some(&json!({"newest": newest()})));
    let undone = of_route["undone"][0]["change"]["id"].clone();
    let redone = on.ok("POST", "/changes/redo", Some(&json!({"changes": [undone]})));
    let of_command = on.command(&["undo"]);
    assert_eq!(shape(of_command), shape(of_route));
    assert_eq!(shape(on.command(&["redo"])), shape(redone));
    assert_eq!(on.env.read("a.txt").as_deref(), Some("two"));
    std::fs::write(on.env.root().join("a.txt"), "by hand").unwrap();
    let ended = on.env.run(&["undo", "--json"]).code(1);
    let body = json!({"newest": newest()});
    let (status, problem) = on.send("POST", "/changes/undo", Some(&body));
    assert_eq!(status, 409, "{problem}");
    assert_eq!(support::json(&ended.stdout), problem["about"]);
}

#[test]
fn notifications_are_sent_and_dismissed_alike() {
    let on = Surfaces::start(TestEnv::new());
    let stripped = |mut reply: Value| {
        for member in ["notification", "by", "created_at", "dismissed_at"] {
            reply[member] = json!(reply[member].is_null());
        }
        reply
    };
    let of_command = on.command(&["notification", "send", "hello", "--title", "Tent"]);
    let body = json!({"message": "hello", "title": "Tent"});
    let of_route = on.ok("POST", "/notifications", Some(&body));
    assert_eq!(stripped(of_command.clone()), stripped(of_route.clone()));
    let id = |reply: &Value| reply["notification"].as_str().unwrap().to_owned();
    let of_command = on.command(&["notification", "dismiss", &id(&of_command)])[0].clone();
    let path = format!("/notifications/{}/dismiss", id(&of_route));
    let of_route = on.ok("POST", &path, None);
    assert_eq!(stripped(of_command), stripped(of_route));
    assert_eq!(on.ok("GET", "/notifications?open=true", None)["items"], json!([]));
}

/// `approve --json` had other members than the route, and an approval to be remembered was judged
/// twice.
#[test]
fn decisions_and_their_previews_agree() {
    let on = Surfaces::start(TestEnv::new());
    let asks = |path: &str| {
        on.env.run(&["tool", "call", "delete_file", &format!("path={path}"), "--on-ask", "fail"]);
    };
    on.env.write("a.txt", "a");
    asks("notes.md");
    asks("a.txt");
    let waiting = on.ok("GET", "/approvals", None)["items"].clone();
    let of = |at: usize, member: &str| waiting[at][member].as_str().unwrap().to_owned();
    let (first, second) = (of(0, "approval"), of(1, "approval"));
    for (args, body) in [
        (&[][..], json!({"scope": "always"})),
        (&["--only", "path=*.md"], json!({"scope": "always", "only": {"path": "*.md"}})),
    ] {
        let command = [&["approve", "always", &first, "--dry-run"], args].concat();
        let path = format!("/approvals/{first}/preview");
        let differences = differences(
            &on.command(&command),
            &on.ok("POST", &path, Some(&body)),
            &["grant", "matches", "past_calls"],
            "",
        );
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
    for (args, body) in [
        (["--only", "path=src/*"], json!({"scope": "always", "only": {"path": "src/*"}})),
        (["--scope", "run"], json!({"scope": "run"})),
    ] {
        let command = [&["approve", "always", &first, "--dry-run"], &args[..]].concat();
        let said = on.env.run(&command).code(2);
        let (status, problem) =
            on.send("POST", &format!("/approvals/{first}/preview"), Some(&body));
        assert_eq!(status, 422, "{problem}");
        assert!(said.stderr.contains(problem["detail"].as_str().unwrap()), "{said:?} {problem}");
    }
    let shape = |mut reply: Value| {
        for member in ["approval", "call", "run"] {
            reply[member] = json!(reply[member].is_string());
        }
        for member in ["decided_by", "decided_at"] {
            reply["decision"][member] = json!(reply["decision"][member].is_null());
        }
        reply
    };
    let of_command = on.command(&["approve", "no", &first, "--note", "not now"]);
    let nonce = on.ok("GET", &format!("/approvals/{second}"), None)["nonce"].clone();
    let body = json!({"decision": "deny", "note": "not now", "nonce": nonce});
    let of_route = on.ok("POST", &format!("/approvals/{second}"), Some(&body));
    let differences = differences(&shape(of_command), &shape(of_route), &["decided", "next"], "");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    // The first decision stands, on both surfaces.
    let (status, problem) = on.send("POST", &format!("/approvals/{second}"), Some(&body));
    assert_eq!((status, &problem["code"]), (409, &json!("conflict")), "{problem}");
    on.env.run(&["approve", "no", &second]).code(5);
}

/// Each surface changed the file of servers in its own way.
#[test]
fn servers_are_changed_and_imported_alike() {
    let on = Surfaces::start(TestEnv::new());
    on.env.run(&["mcp", "add", "one", "--", "/bin/cat"]).code(0);
    on.env.run(&["mcp", "add", "two", "--", "/bin/cat"]).code(0);
    on.env.run(&["daemon", "reload"]).code(0);
    on.env.run(&["mcp", "set", "one", "--trusted", "true", "--network", "true"]).code(0);
    on.ok("PUT", "/mcp/servers/two", Some(&json!({"trusted": true, "network": true})));
    let shown = |name: &str| {
        let mut shown = on.command(&["mcp", "show", name]);
        shown["name"] = json!(null);
        shown
    };
    assert_eq!(shown("one"), shown("two"));
    assert_eq!(shown("one")["trusted"], true);
    let text = json!({"mcpServers": {
        "one": {"command": "/bin/cat"},
        "three": {"command": "/bin/cat", "env": {"API_KEY": "sk-very-secret-123456"}},
    }});
    on.env.write("theirs.json", text.to_string());
    let of_command = on.command(&["mcp", "import", "theirs.json"]);
    let body = json!({"text": text.to_string()});
    assert_eq!(of_command, on.ok("POST", "/mcp/import", Some(&body))["servers"]);
    let (status, problem) = on.send("DELETE", "/mcp/servers/none", None);
    assert_eq!((status, on.env.run(&["mcp", "rm", "none"]).code), (404, 4), "{problem}");
    on.send("DELETE", "/mcp/servers/two", None);
    on.env.run(&["mcp", "rm", "one"]).code(0);
    assert_eq!(on.command(&["mcp", "list"]), json!([]));
}
