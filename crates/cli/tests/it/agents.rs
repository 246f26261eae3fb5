//! Agents as files: listing, showing, creating and changing them, and their limits in a run.

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

const READER: &str =
    "---\ndescription: Reads.\ntools: [read_file, \"group:files\"]\n---\n\nYou are Reader.\n";

#[test]
fn the_built_in_agent_is_listed_and_shown() {
    let env = TestEnv::new();
    let text = env.run(&["agent", "list"]).code(0).stdout;
    assert!(text.lines().nth(1).unwrap().starts_with("general-assistant  built-in  all"), "{text}");
    let rows = support::json(&env.run(&["agent", "list", "--json"]).code(0).stdout);
    assert_eq!(
        (&rows[0]["name"], &rows[0]["from"]),
        (&json!("general-assistant"), &json!("built-in"))
    );
    let text = env.run(&["agent", "show", "general-assistant"]).code(0).stdout;
    for part in ["You are General Assistant", "read_file", "ask_user", "built in"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    env.run(&["agent", "show", "general-assistent"])
        .code(4)
        .says(&["did you mean \"general-assistant\"?"]);
    env.run(&["run", "--agent", "nobody", "--model", "scripted:x", "x"]).code(4).says(&["nobody"]);
}

#[test]
fn show_says_what_the_list_of_tools_comes_to() {
    let env = TestEnv::new();
    env.own("agents/reader.md", READER);
    let shown = support::json(&env.run(&["agent", "show", "reader", "--json"]).code(0).stdout);
    assert_eq!((&shown["from"], &shown["prompt"]), (&json!("user"), &json!("You are Reader.")));
    let entries = shown["expansion"]["entries"].as_array().unwrap();
    assert_eq!(entries[0], json!({"entry": "read_file", "tools": ["read_file"]}));
    let group = entries[1]["tools"].as_array().unwrap();
    assert!(group.contains(&json!("write_file")) && group.len() > 5, "{group:?}");
    let text = env.run(&["agent", "show", "reader"]).code(0).stdout;
    assert!(text.contains("group:files") && text.contains("write_file"), "{text}");
}

/// An unknown tool or key makes the file invalid; the other agents stay available.
#[test]
fn a_broken_file_is_a_problem_and_no_agent() {
    for (file, text, words) in [
        (
            "x.md",
            "---\ntools: [raed_file]\n---\nP\n",
            "unknown tool or list entry \"raed_file\"; did you mean \"read_file\"",
        ),
        ("x.toml", "prompt = \"P\"\ntols = []\n", "unknown key \"tols\"; did you mean \"tools\"?"),
        ("x.toml", "prompt = \"P\"\nmode = \"ask-risk\"\n", "did you mean \"ask-risky\""),
        (
            "x.md",
            "---\nskills: [create-skil]\n---\nP\n",
            "unknown skill \"create-skil\"; did you mean \"create-skill\"?",
        ),
        ("x.md", "no front matter\n", "the first line must be ---"),
        (
            "x.toml",
            "prompt = \"P\"\n[limits]\nrounds = 101\n",
            "limits.rounds must be a number from 1 to 100",
        ),
    ] {
        let env = TestEnv::new();
        env.own(&format!("agents/{file}"), text);
        env.own("agents/reader.md", READER);
        let ended = env.run(&["agent", "list"]).code(0).says(&[file, words]);
        assert!(ended.stdout.contains("reader") && !ended.stdout.contains("\nx "), "{ended:#?}");
        env.run(&["agent", "show", "x"]).code(3).says(&[file, words]);
        env.run(&["agent", "tools", "x"]).code(3).says(&[words]);
        let run = ["run", "--agent", "x", "--model", "scripted:nothing", "Do it"];
        env.run(&run).code(3).says(&[words]);
        let ended = env.run(&["agent", "list", "--json"]).code(0);
        assert!(support::json(&ended.stderr)["note"].as_str().unwrap().contains(file));
    }
}

#[test]
fn new_makes_an_agent_that_works_at_once() {
    let env = TestEnv::new();
    let made = env.run(&["agent", "new", "reviewer"]).code(0);
    let path = made.stdout.trim().to_owned();
    assert!(path.ends_with("home/agents/reviewer.md"), "{path}");
    env.run(&["agent", "new", "reviewer"]).code(2).says(&["there is an agent reviewer already"]);
    env.run(&["agent", "new", "general-assistant"]).code(2).says(&["taken by the built-in agent"]);
    env.run(&["agent", "new", "Not Good"]).code(2).says(&["lower-case letters"]);
    env.run(&["agent", "new", "x", "--from", "nobody"]).code(4).says(&["there is no agent"]);
    let turns = "\n  - expect: {system_contains: You are Reviewer.}\n    say: Hello.\n";
    assert_eq!(env.play(turns, &["--agent", "reviewer"]).code(0).stdout, "Hello.\n");

    // A copy has everything except the name.
    env.own("agents/exact.toml", "title = \"X\"\ndescription = \"a: \\\"b\\\" # c\"\nprompt = \"Line\\n---\\nline\"\ntools = [\"read_*\"]\nskills = [\"create-skill\"]\nmode = \"locked\"\ntemperature = 0.5\nmax_output = 9\n[limits]\nrounds = \"unlimited\"\ntime = \"15m\"\ncost = 0.25\n");
    env.run(&["agent", "new", "copy", "--from", "exact", "--project"]).code(0);
    assert!(env.read(".toolcrib/agents/copy.md").is_some());
    let show = |name: &str| {
        let mut shown = support::json(&env.run(&["agent", "show", name, "--json"]).code(0).stdout);
        for key in ["name", "title", "from", "path", "place", "text", "writable"] {
            shown.as_object_mut().unwrap().remove(key);
        }
        shown
    };
    assert_eq!(show("copy"), show("exact"));
}

#[test]
fn tools_are_check_boxes() {
    let env = TestEnv::new();
    env.own("agents/reader.md", "---\ntools: [read_file, delete_file]\n---\nP\n");
    let text = env.run(&["agent", "tools", "reader"]).code(0).stdout;
    let row = |name: &str| text.lines().find(|line| line.contains(&format!("] {name} "))).unwrap();
    assert!(row("read_file").starts_with("[x] read_file "), "{text}");
    assert!(row("write_file").starts_with("[ ] write_file "), "{text}");
    assert!(row("delete_file").ends_with("high, fs_read, fs_write"), "{text}");
    assert!(row("read_file").contains("Read a text file"), "{text}");
    let whole = support::json(&env.run(&["agent", "tools", "reader", "--json"]).code(0).stdout);
    let of = |name: &str| {
        let rows = whole["tools"].as_array().unwrap();
        rows.iter().find(|row| row["tool"] == name).unwrap().clone()
    };
    assert_eq!((&of("read_file")["has"], &of("write_file")["has"]), (&json!(true), &json!(false)));
    assert_eq!(of("delete_file")["risk"], "high");
}

/// A change replaces the list in the file, and nothing else.
#[test]
fn a_list_is_changed_and_the_rest_of_the_file_stays() {
    let rest = "# My reader.\n";
    let toml = |list: &str| format!("{rest}prompt = \"P\"\n{list}\n[limits]\nrounds = 3\n");
    let markdown =
        |list: &str| format!("---\n{rest}title: R\n{list}limits: {{rounds: 3}}\n---\n\nP\n");
    let rows: [(&[&str], Value); 6] = [
        (&["--set", "find_files,group:web"], json!(["find_files", "group:web"])),
        (&["--set", ""], json!([])),
        (&["--add", "find_files"], json!(["read_file", "list_dir", "find_files"])),
        (&["--remove", "list_dir"], json!(["read_file"])),
        (
            &["--remove", "list_dir", "--add", "write_file,read_file"],
            json!(["read_file", "write_file"]),
        ),
        (&["--remove", "read_*"], json!(["list_dir"])),
    ];
    for (args, expected) in rows {
        let env = TestEnv::new();
        env.own("agents/a.toml", &toml("tools = [\"read_file\", \"list_dir\"]\n"));
        env.own("agents/b.md", &markdown("tools:\n  - read_file\n  - list_dir\n"));
        for name in ["a", "b"] {
            let args = [&["agent", "tools", name, "--json"], args].concat();
            let whole = support::json(&env.run(&args).code(0).stdout);
            assert_eq!(whole["list"], expected, "{args:?}");
        }
        let own = |path: &str| {
            std::fs::read_to_string(env.outside().join("home/agents").join(path)).unwrap()
        };
        let list = expected.to_string().replace(',', ", ");
        assert_eq!(own("a.toml"), toml(&format!("tools = {list}\n")));
        assert_eq!(own("b.md"), markdown(&format!("tools: {expected}\n")));
        let left = std::fs::read_dir(env.outside().join("home/agents")).unwrap().count();
        assert_eq!(left, 2, "nothing is left beside the files");
    }
}

#[test]
fn what_a_list_cannot_be_is_said_and_nothing_is_changed() {
    let env = TestEnv::new();
    env.own("agents/all.md", "---\ntitle: A\n---\nP\n");
    let path = env.outside().join("home/agents/all.md");
    let before = std::fs::read_to_string(&path).unwrap();
    for (args, words) in [
        (&["all", "--set", "raed_file"][..], "did you mean \"read_file\""),
        (&["all", "--remove", "nothing_like_it"], "nothing_like_it"),
        (&["all", "--set", "a", "--add", "b"], "cannot be used with"),
        (&["general-assistant", "--set", "read_file"], "--from general-assistant"),
    ] {
        env.run(&[&["agent", "tools"], args].concat()).code(2).says(&[words]);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    // If an agent with all tools loses some, its list names the others.
    let whole = env.run(&["agent", "tools", "all", "--remove", "group:files", "--json"]).code(0);
    let list = support::json(&whole.stdout)["list"].clone();
    let list = list.as_array().unwrap();
    assert!(!list.contains(&json!("read_file")) && list.contains(&json!("ask_user")), "{list:?}");
}

/// A tool outside of the agent's list is neither declared nor run.
#[test]
fn an_agent_uses_its_own_tools_only() {
    let env = TestEnv::new();
    env.own("agents/reader.md", "---\ntools: [read_file]\n---\nYou are Reader.\n");
    let turns = r#"
  - expect: {tools_include: [read_file], tools_exclude: [write_file, ask_user]}
    calls: [{tool: write_file, args: {path: x, content: x}}]
  - expect: {results: [{tool: write_file, outcome: denied, contains: not available}]}
    say: I cannot write.
"#;
    env.play(turns, &["--agent", "reader"]).code(0);
    assert!(env.read("x").is_none());
}

/// An agent of a workspace can be stricter than the person's preset, but never less strict.
#[test]
fn the_mode_of_an_agent_of_the_workspace_only_tightens() {
    let writes = "\n  - calls: [{tool: write_file, args: {path: x, content: x}}]\n  - say: Done.\n";
    let deletes = "\n  - calls: [{tool: delete_file, args: {path: notes.md}}]\n  - say: Done.\n";
    let agent = |mode: &str| format!("---\nmode: {mode}\n---\nP\n");
    let env = TestEnv::new();
    env.write(".toolcrib/agents/tight.md", agent("locked"));
    env.write(".toolcrib/agents/loose.md", agent("auto"));
    env.own("agents/mine.md", &agent("auto"));
    env.play(writes, &["--agent", "tight"]);
    assert!(env.read("x").is_none());
    env.play(deletes, &["--agent", "loose"]).code(5).says(&["wants the preset auto"]);
    assert!(env.read("notes.md").is_some());
    env.play(deletes, &["--agent", "mine"]).code(0);
    assert!(env.read("notes.md").is_none());
}

#[test]
fn the_agent_of_the_configuration_answers_when_none_is_named() {
    let env = TestEnv::new();
    env.own("agents/reader.md", READER);
    env.own("config.toml", "[agent]\ndefault = \"reader\"\n");
    let turns = "\n  - expect: {system_contains: You are Reader.}\n    say: Hello.\n";
    env.play(turns, &[]).code(0);
}
