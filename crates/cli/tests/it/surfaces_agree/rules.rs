//! Rules: listed, linted, tested, explained, imported, replayed and changed.

use serde_json::{Value, json};

use super::surfaces::{Surfaces, differences};
use crate::support::{self, TestEnv};

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
