//! Tests of agent files.

use std::time::Duration;

use super::super::agent::{FileFormat, read};
use super::*;

fn toml(text: &str) -> Result<Agent, String> {
    read("reviewer", text, FileFormat::Toml, Location::BuiltIn)
}

fn markdown(text: &str) -> Result<Agent, String> {
    read("reviewer", text, FileFormat::Markdown, Location::BuiltIn)
}

#[test]
fn every_key_is_read_from_both_forms() {
    let full = toml(
        r#"
name = "reviewer"
title = "Code reviewer"
description = "Reads changes."
prompt = "You review.\n"
model = "openrouter/qwen/qwen3"
tools = ["read_file", "group:files", "server:git", "git", "*_file"]
skills = ["release-notes"]
mode = "ask-all"
temperature = 0.5
max_output = 4000

[limits]
rounds = "unlimited"
calls = 50
tokens = 100000
time = "15m"
cost = 0.25
"#,
    )
    .unwrap();
    assert_eq!(
        full,
        Agent {
            name: "reviewer".to_owned(),
            title: "Code reviewer".to_owned(),
            description: "Reads changes.".to_owned(),
            prompt: "You review.".to_owned(),
            model: Some(ModelRef { provider: "openrouter".into(), model: "qwen/qwen3".into() }),
            tools: Some(
                ["read_file", "group:files", "server:git", "git", "*_file"]
                    .map(String::from)
                    .into()
            ),
            skills: vec!["release-notes".to_owned()],
            limits: Limits {
                rounds: Some(Rounds::Unlimited),
                calls: Some(50),
                tokens: Some(100_000),
                time: Some(Duration::from_secs(900)),
                cost: Some(0.25),
            },
            role: "agent".to_owned(),
            preset: Some(AgentPreset::AskAll),
            temperature: Some(0.5),
            max_output: Some(4000),
            location: Location::BuiltIn,
        }
    );
    let same = markdown(
        "---
name: reviewer
title: Code reviewer
description: Reads changes.
model: openrouter/qwen/qwen3
tools: [read_file, 'group:files', 'server:git', git, '*_file']
skills:
  - release-notes
mode: ask-all
temperature: 0.5
max_output: 4000
limits: {rounds: unlimited, calls: 50, tokens: 100000, time: 900, cost: 0.25}
---
You review.
",
    );
    assert_eq!(same, Ok(full));
}

#[test]
fn defaults() {
    let agent = toml("prompt = 'x'").unwrap();
    assert_eq!((agent.title.as_str(), &agent.tools, agent.preset), ("Reviewer", &None, None));
    assert_eq!((agent.limits, agent.model), (Limits::default(), None));
    let rounds = toml("prompt = 'x'\nlimits.rounds = 100").unwrap().limits.rounds;
    assert_eq!(rounds, Some(Rounds::AtMost(100)));
    assert_eq!(toml("prompt = 'x'\ntools = []").unwrap().tools, Some(vec![]));
}

#[test]
fn bad_toml() {
    let check = |text: &str, message: &str| {
        let text = format!("prompt = 'x'\n{text}");
        assert_eq!(toml(&text), Err(message.to_owned()), "{text}");
    };
    check("promt = 'y'", "unknown key \"promt\"; did you mean \"prompt\"?");
    check("max_outptu = 1", "unknown key \"max_outptu\"; did you mean \"max_output\"?");
    check("limits.round = 3", "unknown key \"round\"; did you mean \"rounds\"?");
    check(
        "colour = 1",
        "unknown key \"colour\"; the keys are name, title, description, prompt, model, tools, skills, limits, role, mode, temperature, max_output",
    );
    check("name = 'other'", "name is \"other\", but the file's name says \"reviewer\"");
    check("temperature = 2.1", "temperature must be from 0 to 2");
    check("temperature = -0.1", "temperature must be from 0 to 2");
    check("temperature = nan", "temperature must be from 0 to 2");
    check("max_output = 0", "max_output must be at least 1");
    check("role = ''", "role \"\" must be 1 to 40 of a-z, 0-9, - and _");
    check("role = 'Admin!'", "role \"Admin!\" must be 1 to 40 of a-z, 0-9, - and _");
    check(
        "mode = 'ask-risk'",
        "mode \"ask-risk\" is none of auto, ask-risky, ask-all, locked; did you mean \"ask-risky\"?",
    );
    check("mode = 'yolo'", "mode \"yolo\" is none of auto, ask-risky, ask-all, locked");
    let model = "must be written as provider/model, such as \"anthropic/claude-sonnet-4-5\"";
    check("model = 'gpt'", &format!("model \"gpt\" {model}"));
    check("model = '/gpt'", &format!("model \"/gpt\" {model}"));
    check("model = 'openai/ '", &format!("model \"openai/ \" {model}"));
    let rounds = "limits.rounds must be a number from 1 to 100, or \"unlimited\"";
    check("limits.rounds = 0", &format!("{rounds}, not 0"));
    check("limits.rounds = 101", &format!("{rounds}, not 101"));
    check("limits.rounds = 'all'", &format!("{rounds}, not \"all\""));
    check("limits.rounds = 1.5", &format!("line 2: {rounds}"));
    let alone =
        "limits.rounds can be \"unlimited\" only together with limits.tokens or limits.time";
    check("limits.rounds = 'unlimited'", alone);
    check("limits = {rounds = 'unlimited', calls = 5, cost = 1.0}", alone);
    check("limits.calls = 0", "limits.calls must be at least 1");
    check("limits.tokens = 0", "limits.tokens must be at least 1");
    check("limits.calls = -1", "line 2: invalid value: integer `-1`, expected u64");
    check("limits.cost = 0.0", "limits.cost must be above 0 (US dollars)");
    check("limits.cost = inf", "limits.cost must be above 0 (US dollars)");
    let time = "limits.time must be seconds above 0, or a text such as \"90s\", \"15m\" or \"1h\"";
    for text in ["0", "'0s'", "'15'", "'m'", "''", "'1d'", "'-1s'", "'99999999999999999999h'"] {
        check(&format!("limits.time = {text}"), time);
    }
    check("tools = ['a', ' ']", "tools: an entry is empty");
    check("tools = ['read_?']", "tools: \"read_?\" has a wildcard other than *");
    check("tools = ['server:g*']", "tools: \"server:g*\" has a * in a group or server name");
    check("tools = 'read_file'", "line 2: invalid type: string \"read_file\", expected a sequence");
    check("=", "line 2: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`");
    assert_eq!(toml(""), Err("the key \"prompt\" is missing or empty".to_owned()));
    assert_eq!(toml("prompt = ' '"), Err("the key \"prompt\" is missing or empty".to_owned()));
}

#[test]
fn bad_markdown() {
    let check = |text: &str, message: &str| {
        assert_eq!(markdown(text), Err(message.to_owned()), "{text}");
    };
    check("# No front", "does not begin with front matter: the first line must be ---");
    check(
        "---\ntitle: x\n---\n \n",
        "the prompt is missing: the text behind the front matter is empty",
    );
    check(
        "---\nprompt: x\n---\nBody",
        "the prompt of a Markdown file is its body; remove the key \"prompt\"",
    );
    check("---\ntool: [a]\n---\nBody", "unknown key \"tool\"; did you mean \"tools\"?");
    check("---\ntools: read_file\n---\nBody", "expected sequence start at line 2, column 8");
    check(
        "---\ntitle: a\ntitle: b\n---\nBody",
        "the key \"title\" is there twice, again at line 3",
    );
    check("---\ntitle: [\n---\nBody", "expected string scalar at line 2, column 8");
}

#[test]
fn the_file_name_is_the_name() {
    for (stem, message) in [
        (
            "Reviewer",
            "name \"Reviewer\" may hold only lower-case letters a-z, digits and hyphens (the file's name is the agent's name)",
        ),
        ("", "name is empty (the file's name is the agent's name)"),
    ] {
        let read = read(stem, "prompt = 'x'", FileFormat::Toml, Location::BuiltIn);
        assert_eq!(read, Err(message.to_owned()));
    }
}

#[test]
fn a_template_loads_as_it_is() {
    let text = agent_template("code-reviewer").unwrap();
    let agent = read("code-reviewer", &text, FileFormat::Markdown, Location::BuiltIn).unwrap();
    assert_eq!((agent.title.as_str(), agent.tools), ("Code reviewer", None));
    // The lines that are commented out are valid too.
    let open = text.replace("# model", "model").replace("# tools", "tools");
    let open =
        open.replace("# skills", "skills").replace("# mode", "mode").replace("# limits", "limits");
    let open = open.replace("#   rounds", "  rounds").replace("#   time", "  time");
    let agent = read("code-reviewer", &open, FileFormat::Markdown, Location::BuiltIn).unwrap();
    assert_eq!(agent.limits.rounds, Some(Rounds::AtMost(15)));
    let taken = agent_template("general-assistant").unwrap_err();
    assert_eq!(taken, "name \"general-assistant\" is taken by the built-in agent");
    assert!(agent_template("a b").is_err());
}
