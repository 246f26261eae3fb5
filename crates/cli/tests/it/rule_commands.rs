//! Commands on rule files: every subcommand, and common mistakes in rules.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::support::{self, TestEnv};

/// Returns the text of the person's own file; `None` if it does not exist.
fn own(env: &TestEnv) -> Option<String> {
    fs::read_to_string(env.outside().join("home/rules.toml")).ok()
}

fn write_own(env: &TestEnv, text: &str) {
    let home = env.outside().join("home");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("rules.toml"), text).unwrap();
}

#[test]
fn a_rule_is_added_listed_and_taken_out() {
    let env = TestEnv::new();
    env.run(&["rules", "list"]).code(0).says(&["there are no rules", "rules add"]);
    let add = [
        "rules",
        "add",
        "deny",
        "Read(./secrets/**)",
        "--reason",
        "keys are in there",
        "--agent",
        "coder",
        "--channel",
        "chat",
        "--expires",
        "2099-01-31",
        "--match",
        "./secrets/a/b",
        "--not-match",
        "./notes.md",
    ];
    env.run(&add).code(0).says(&["added: deny Read(./secrets/**)", "home/rules.toml:1"]);
    let mode = fs::metadata(env.outside().join("home/rules.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = own(&env).unwrap();
    env.run(&add).code(0).says(&["it is there already"]);
    assert_eq!(own(&env).unwrap(), text);

    let ended = env.run(&["rules", "list", "--json"]).code(0);
    let rows = support::json(&ended.stdout);
    let row = &rows[0];
    assert_eq!(
        (&row["number"], &row["effect"], &row["layer"]),
        (&json!(1), &json!("deny"), &json!("user"))
    );
    assert_eq!(row["rule"], "Read(./secrets/**)");
    assert!(row["origin"].as_str().unwrap().ends_with("home/rules.toml:1"), "{row}");
    assert_eq!((&row["agents"], &row["channels"]), (&json!(["coder"]), &json!(["chat"])));
    assert_eq!(
        (&row["reason"], &row["expires"]),
        (&json!("keys are in there"), &json!("2099-01-31"))
    );
    let text = env.run(&["rules", "list"]).code(0).stdout;
    for words in [
        "deny",
        "Read(./secrets/**)",
        "user, ",
        "only agents: coder",
        "until 2099-01-31",
        "because: keys",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }

    env.run(&["rules", "rm", "Read(./other)"]).code(4).says(&["there is no rule Read(./other)"]);
    env.run(&["rules", "rm", "2"]).code(4).says(&["no rule number 2"]);
    env.run(&["rules", "rm", "Read(./secrets/**)"]).code(0).says(&["taken out"]);
    env.run(&["rules", "list"]).code(0).says(&["there are no rules"]);
}

#[test]
fn comments_stay_and_rules_go_by_number_or_text() {
    let env = TestEnv::new();
    let first = "# why this file is here\n\n[[rules]]\neffect = \"deny\" # never\nrule = \"Edit(./a/**)\"\n";
    write_own(&env, first);
    env.run(&["rules", "add", "ask", "Edit(./a/**)"]).code(0);
    assert!(own(&env).unwrap().starts_with(first));
    let ended = env.run(&["rules", "rm", "Edit(./a/**)"]).code(2);
    assert!(
        ended.stderr.contains("1: deny Edit(./a/**)") && ended.stderr.contains("2: ask Edit"),
        "{ended:?}"
    );
    env.run(&["rules", "rm", "2"]).code(0);
    assert_eq!(own(&env).unwrap().trim_end(), first.trim_end());
}

#[test]
fn the_workspace_has_a_file_of_its_own() {
    let env = TestEnv::new();
    env.run(&["rules", "add", "deny", "Edit", "--project"]).code(0);
    assert!(env.read(".toolcrib/rules.toml").unwrap().contains("rule = \"Edit\""));
    assert_eq!(own(&env), None);
    let row = support::json(&env.run(&["rules", "list", "--json"]).code(0).stdout)[0].clone();
    assert_eq!((&row["layer"], &row["counts"]), (&json!("untrusted"), &json!(true)));
    let ended =
        env.run(&["rules", "add", "allow", "WebFetch(domain:example.com)", "--project"]).code(0);
    assert!(ended.stderr.contains("has no effect yet"), "{}", ended.stderr);
    env.run(&["rules", "rm", "Edit"]).code(4).says(&["there is no rule Edit"]);
    env.run(&["rules", "rm", "Edit", "--project"]).code(0);
    let elsewhere = env.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let path = elsewhere.to_str().unwrap();
    env.run(&["rules", "add", "ask", "Edit", "--workspace", path]).code(0);
    assert!(own(&env).unwrap().contains(path));
    env.run(&["rules", "list", "--workspace", "nowhere"])
        .code(2)
        .says(&["nowhere is not a folder"]);
}

#[test]
fn a_rule_that_cannot_work_is_not_written() {
    let env = TestEnv::new();
    for (rule, says) in [
        (&["allow", "Bash(git * main)"][..], "unsafe"),
        (&["deny", "Bash(command:rm *)"][..], "write Bash(rm *)"),
        (&["deny", "Bash(a && b)"][..], "one rule for each part"),
        (&["deny", "Bash(git push"][..], "write Bash(git push)"),
        (&["ask", "Bash(git push:*)", "--match", "git pull"][..], "git pull"),
        (&["ask", "Bash(git push:*)", "--not-match", "git push -f"][..], "git push -f"),
        (&["ask", "Edit", "--expires", "tomorrow"][..], "tomorrow"),
        (&["ask", "Edit", "--channel", "chats"][..], "chats"),
    ] {
        let ended = env.run(&[&["rules", "add"], rule].concat());
        assert_eq!(ended.code, 3, "{rule:?}: {ended:?}");
        assert!(ended.stderr.contains(says), "{rule:?}: {}", ended.stderr);
        assert_eq!(own(&env), None, "{rule:?}");
    }
    env.run(&["rules", "add", "forbid", "Edit"]).code(2).says(&["use allow, ask or deny"]);
    env.run(&["rules", "add", "allow", "Bash(git * main)", "--unsafe"]).code(0);
    assert!(own(&env).unwrap().contains("unsafe = true"));
}

/// Otherwise, the intended tool would remain unrestricted.
#[test]
fn a_slip_of_the_pen_in_the_name_of_a_tool_is_refused() {
    let env = TestEnv::new();
    env.run(&["rules", "add", "deny", "delete_fil"]).code(3).says(&["did you mean delete_file"]);
    assert_eq!(own(&env), None);
    write_own(&env, "[[rules]]\neffect = \"deny\"\nrule = \"delete_fil\"\n");
    let ended = env.run(&[
        "tool",
        "call",
        "delete_file",
        "--args",
        "{\"path\": \"notes.md\"}",
        "--policy",
        "auto",
    ]);
    ended.code(3).says(&["rules.toml:1: delete_fil", "did you mean delete_file"]);
    let env = TestEnv::new();
    env.run(&["rules", "add", "deny", "launch_rocket"])
        .code(0)
        .says(&["there is no tool launch_rocket", "added"]);
    env.run(&["tool", "call", "read_file", "--args", "{\"path\": \"notes.md\"}"]).code(0);
}

/// An invalid file stops every call, with its position, and is not applied partly.
#[test]
fn broken_files_stop_everything_with_their_line() {
    let good = "[[rules]]\neffect = \"deny\"\nrule = \"WebSearch\"\n";
    for (text, says) in [
        ("[[rule]]\n", "rules.toml:1: unknown key `rule`, did you mean `rules`?"),
        (
            "[[rules]]\nefect = \"deny\"\nrule = \"Edit\"\n",
            "rules.toml:2: unknown key `efect`, did you mean `effect`?",
        ),
        (
            "[[rules]]\neffect = \"denied\"\nrule = \"Edit\"\n",
            "rules.toml:2: unknown word `denied`",
        ),
        ("[[rules]]\neffect = \"deny\"\nrule = [\"Edit\"]\n", "rules.toml:3: invalid type"),
        ("[[rules]]\neffect = \"deny\"\n", "rules.toml:1: a rule needs `rule`"),
        (
            "[[rules]]\neffect = \"deny\"\nrule = \"Edit\"\nexpires = 2027-01-01\n",
            "rules.toml:4: a date is written in quotes",
        ),
        ("[[rules]\n", "rules.toml:1: "),
        ("[[rules]]\neffect = \"deny\"\nrule = \"Bash(\"\n", "rules.toml:1: Bash("),
        (&good.repeat(2), "rules.toml:4: WebSearch: the same rule exists at"),
    ] {
        let env = TestEnv::new();
        write_own(&env, &format!("{text}{}", if text.contains("WebSearch") { "" } else { good }));
        for command in
            [&["rules", "list"][..], &["rules", "lint"], &["tool", "list"], &["rules", "export"]]
        {
            let ended = env.run(command);
            assert_eq!(ended.code, 3, "{text}: {command:?}: {ended:?}");
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert!(said.contains(says), "{text}: {command:?}: {said}");
        }
        let (reply, code) = {
            let ended =
                env.run(&["tool", "call", "read_file", "--args", "{\"path\": \"notes.md\"}"]);
            (ended.stdout, ended.code)
        };
        assert_eq!((reply.as_str(), code), ("", 3), "{text}");
    }
}

#[test]
fn files_that_cannot_be_read_stop_everything() {
    let env = TestEnv::new();
    fs::create_dir_all(env.outside().join("home/rules.toml")).unwrap();
    env.run(&["tool", "list"])
        .code(3)
        .says(&["rules.toml cannot be read: it is not a regular file"]);
    let env = TestEnv::new();
    let mut command = env.command(&["rules", "list"]);
    command.env("TOOLCRIB_MANAGED_RULES", "/nowhere/rules.toml");
    support::end(command, b"").code(3).says(&["/nowhere/rules.toml cannot be read"]);
    let env = TestEnv::new();
    write_own(&env, "\u{feff}[[rules]]\neffect = \"deny\"\nrule = \"Edit\"\n");
    env.run(&["rules", "list"]).code(0);
}

#[test]
fn a_broken_rule_can_be_taken_out() {
    let env = TestEnv::new();
    let bad = "[[rules]]\neffect = \"deny\"\nrule = \"Bash(x\"\n";
    write_own(&env, &format!("{bad}\n[[rules]]\neffect = \"deny\"\nrule = \"Bash(y\"\n"));
    let ended = env.run(&["rules", "list"]).code(3);
    assert!(ended.stdout.contains("Bash(x") && ended.stderr.contains("Bash(y"), "{ended:?}");
    env.run(&["rules", "add", "deny", "Edit"]).code(3).says(&["Bash(x"]);
    env.run(&["rules", "rm", "1"]).code(0).says(&["cannot be used yet", "Bash(y"]);
    env.run(&["rules", "rm", "1"]).code(0);
    env.run(&["rules", "list"]).code(0);
}

#[test]
fn managed_rules_are_added_to_and_not_edited() {
    let env = TestEnv::new();
    let path = env.outside().join("managed.toml");
    fs::write(&path, "[[rules]]\neffect = \"deny\"\nrule = \"WebSearch\"\n").unwrap();
    write_own(&env, "[[rules]]\neffect = \"ask\"\nrule = \"Edit\"\n");
    let run = |args: &[&str]| {
        let mut command = env.command(args);
        command.env("TOOLCRIB_MANAGED_RULES", &path);
        support::end(command, b"")
    };
    let rows = support::json(&run(&["rules", "list", "--json"]).code(0).stdout);
    let layers: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| row["layer"].as_str().unwrap()).collect();
    assert_eq!(layers, ["managed", "user"]);
    run(&["rules", "rm", "1"]).code(5).says(&["the operator of this machine"]);
    assert!(fs::read_to_string(&path).unwrap().contains("WebSearch"));
}

#[test]
fn lint_and_test_look_at_files() {
    let env = TestEnv::new();
    env.write("good.toml", "[[rules]]\neffect = \"ask\"\nrule = \"Bash(git push:*)\"\nmatch = [\"git push -f\", \"sudo git push\"]\nnot_match = [\"git pull\"]\n");
    env.write("bad.toml", "[[rules]]\neffect = \"ask\"\nrule = \"Bash(git push:*)\"\nmatch = [\"git pull\"]\n\n[[rules]]\neffect = \"allow\"\nrule = \"Bash(git * main)\"\n");
    env.write("claude.json", "{\"permissions\": {\"allow\": [\"Bash(git * main)\"]}}");
    env.run(&["rules", "lint"]).code(0).says(&["0 rules, 0 errors, 0 warnings"]);
    env.run(&["rules", "lint", "good.toml"]).code(0).says(&["1 rule, 0 errors"]);
    let ended = env.run(&["rules", "lint", "bad.toml", "claude.json"]).code(3);
    assert_eq!(ended.stdout.lines().count(), 3, "{}", ended.stdout);
    for words in [
        "error: bad.toml:1: Bash(git push:*)",
        "error: bad.toml:6: Bash(git * main)",
        "error: claude.json:1: ",
    ] {
        assert!(ended.stdout.contains(words), "{}", ended.stdout);
    }
    let ended = env.run(&["rules", "lint", "bad.toml", "--json"]).code(3);
    assert_eq!(support::json(&ended.stdout)["findings"][1]["origin"], "bad.toml:6");
    // A rule that has expired, or that names an unknown tool, is accepted with a remark.
    env.write("old.toml", "[[rules]]\neffect = \"deny\"\nrule = \"Edit\"\nexpires = \"2001-01-01\"\n\n[[rules]]\neffect = \"deny\"\nrule = \"launch_rocket\"\n");
    let ended =
        env.run(&["rules", "lint", "old.toml"]).code(0).says(&["2 rules, 0 errors, 2 warnings"]);
    for words in [
        "warning: old.toml:1: Edit: it has ended",
        "warning: old.toml:6: launch_rocket: there is no tool",
    ] {
        assert!(ended.stdout.contains(words), "{}", ended.stdout);
    }
    env.run(&["rules", "test", "good.toml"])
        .code(0)
        .says(&["1 rule, 1 with examples; 3 examples, 0 failed"]);
    env.write(
        "failing.toml",
        "[[rules]]\neffect = \"ask\"\nrule = \"Bash(git push:*)\"\nmatch = [\"git pull\"]\n",
    );
    let ended = env.run(&["rules", "test", "failing.toml"]).code(1).says(&["1 failed"]);
    assert!(
        ended.stdout.contains("failing.toml:1: ") && ended.stdout.contains("git pull"),
        "{}",
        ended.stdout
    );
    env.run(&["rules", "test", "bad.toml"]).code(3);
    env.run(&["rules", "lint", "none.toml"]).code(3).says(&["1 error"]);
}

#[test]
fn rules_of_claude_code_and_codex_are_taken_over() {
    let env = TestEnv::new();
    let claude = "{\n  \"permissions\": {\n    \"allow\": [\"Bash(npm run test:*)\", \"Bash(git * main)\"],\n    \"deny\": [\"Read(./.env)\"],\n    \"defaultMode\": \"acceptEdits\",\n    \"additionalDirectories\": [\"../x\"]\n  },\n  \"hooks\": {}\n}\n";
    env.write("settings.json", claude);
    let codex = "prefix_rule(\n    pattern = [\"git\", [\"push\", \"fetch\"]],\n    decision = \"prompt\",\n    justification = \"leaves this machine\",\n    match = [\"git push origin\"],\n)\n";
    env.write("default.rules", codex);
    let args = ["rules", "import", "settings.json", "default.rules"];
    let ended = env.run(&args).code(0).says(&[
        "left out: settings.json:3: Bash(git * main)",
        "permissions.defaultMode",
        "permissions.additionalDirectories",
        "4 rules would be written",
        "--write",
    ]);
    assert_eq!(own(&env), None);
    for line in [
        "+rule = \"Bash(npm run test:*)\"",
        "+rule = \"Read(./.env)\"",
        "+rule = \"Bash(git push:*)\"",
        "+reason = \"leaves this machine\"",
        "+reason = \"imported from settings.json:4\"",
    ] {
        assert!(ended.stdout.contains(line), "{line}: {}", ended.stdout);
    }
    env.run(&[&args[..], &["--write"]].concat()).code(0).says(&["4 rules written"]);
    let text = own(&env).unwrap();
    env.run(&[&args[..], &["--write"]].concat()).code(0).says(&["nothing is to be added"]);
    assert_eq!(own(&env).unwrap(), text);
    assert_eq!(env.read("settings.json").unwrap(), claude);
    assert_eq!(env.read("default.rules").unwrap(), codex);
    let ended = env.run(&["rules", "import", "settings.json", "--unsafe", "--json"]).code(0);
    let value = support::json(&ended.stdout);
    assert_eq!(
        (value["left_out"].as_array().unwrap().len(), &value["written"]),
        (0, &json!(false))
    );

    let exported = env.run(&["rules", "export", "--format", "claude"]).code(0).stdout;
    assert_eq!(
        support::json(&exported)["permissions"],
        json!({"allow": ["Bash(npm run test:*)"], "ask": ["Bash(git push:*)", "Bash(git fetch:*)"], "deny": ["Read(./.env)"]})
    );
    // The export contains all rules.
    let toml = env.run(&["rules", "export"]).code(0).stdout;
    env.write("exported.toml", &toml);
    env.run(&["rules", "lint", "exported.toml"]).code(0).says(&["4 rules"]);
}

#[test]
fn foreign_files_that_are_wrong_change_nothing() {
    let env = TestEnv::new();
    for (name, text, code, says) in [
        ("a.json", "{\"permissions\": []}", 3, "a.json:1: `permissions` is not an object"),
        (
            "a.json",
            "{\"permissions\": {\"allow\": \"Edit\"}}",
            3,
            "a.json:1: `allow` is not a list of strings",
        ),
        (
            "a.json",
            "{\"permissions\": {\n\"allow\": [5]}}",
            3,
            "a.json:2: `allow` is not a list of strings",
        ),
        ("a.json", "not json", 3, "a.json:1: "),
        (
            "a.rules",
            "prefix_rule(pattern = [\"a\"], decision = \"maybe\")",
            3,
            "a.rules:1: `maybe` is not a decision",
        ),
        ("a.rules", "\nimport os\n", 3, "a.rules:2: `import` is not understood"),
        ("config.toml", "model = \"x\"", 2, "--format"),
        ("none.json", "", 3, "none.json cannot be read"),
    ] {
        if name != "none.json" {
            env.write(name, text);
        }
        env.run(&["rules", "import", name, "--write"]).code(code).says(&[says]);
        assert_eq!(own(&env), None, "{name}: {text}");
    }
}

/// The examples of the page work as described.
#[test]
fn the_page_about_rules_is_right() {
    let env = TestEnv::new();
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 2);
    env.write("page.toml", blocks.concat());
    env.run(&["rules", "lint", "page.toml"]).code(0).says(&["2 rules, 0 errors, 0 warnings"]);
    let example = page.split("$ echo '").nth(1).unwrap();
    let (question, rest) = example.split_once("' | toolcrib rules explain --lines\n").unwrap();
    let ended = env.feed(&["rules", "explain", "--lines"], question).code(0);
    assert_eq!(ended.stdout, rest.split("```").next().unwrap());
    // Every rule of the tables can be parsed.
    let table = page.split("| rule | calls |").nth(1).unwrap().split("\n\n").next().unwrap();
    let rules: Vec<&str> = table
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|rule| rule.contains(['(', '_']) && !rule.contains('…'))
        .collect();
    assert!(rules.len() > 8, "{rules:?}");
    for rule in rules {
        // Add each rule separately: some of them concern the same calls.
        TestEnv::new().run(&["rules", "add", "deny", rule]).code(0);
    }
}
