//! The examples of the pages work, and their links are valid.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{self, TestEnv};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// Returns the blocks of a language, each with the last non-blank line before it.
fn blocks(page: &str, language: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut before = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(of) = line.strip_prefix("```") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if of == language {
                found.push((before.clone(), text.join("\n") + "\n"));
            }
        } else if !line.trim().is_empty() {
            line.clone_into(&mut before);
        }
    }
    found
}

/// Writes blocks with a path before them as files.
fn write_files(env: &TestEnv, page: &str, language: &str) -> usize {
    let mut written = 0;
    for (before, text) in blocks(page, language) {
        if let Some(path) = before.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:")) {
            env.own(path, &text);
            written += 1;
        }
    }
    written
}

#[test]
fn agents_skills_kits_and_guides() {
    let env = TestEnv::new();
    let page = page("agents.md");
    assert_eq!(write_files(&env, &page, "markdown") + write_files(&env, &page, "yaml"), 4);
    for (kind, name) in [("agent", "reviewer"), ("skill", "house-style"), ("kit", "read_first")] {
        let ended = env.run(&[kind, "list"]).code(0);
        assert_eq!(ended.stderr, "", "{kind}");
        assert!(ended.stdout.contains(name), "{}", ended.stdout);
    }
    let path = env.outside().join("home/skills/house-style");
    env.run(&["skill", "validate", path.to_str().unwrap()]).code(0);
    // The guide and the kit are in the prompt of an agent that has their tools.
    for words in
        ["Read the page before you quote it.", "Change a file without losing what is in it."]
    {
        let turns = format!("\n  - expect: {{system_contains: {words:?}}}\n    say: Yes.\n");
        let ended = env.play(&turns, &[]).code(0);
        assert!(!ended.stderr.contains(".yaml:"), "{}", ended.stderr);
    }
}

#[test]
fn a_tool_of_ones_own() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    let page = page("own-tools.md");
    let (_, definition) = blocks(&page, "toml").remove(0);
    let (_, program) = blocks(&page, "python").remove(0);
    env.write("mine/weather/tool.toml", definition);
    env.write("mine/weather/forecast.py", program);
    let path = env.root().join("mine/weather/forecast.py");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let text = env.run(&["tool", "list", "--tools", "mine"]).code(0).stdout;
    let row = text.lines().find(|line| line.starts_with("weather ")).unwrap();
    assert!(row.contains("Forecast of the weather") && !row.contains("error"), "{row}");
    let args = ["tool", "show", "weather", "--json", "--tools", "mine"];
    let spec = support::json(&env.run(&args).code(0).stdout);
    assert_eq!(spec["input_schema"]["required"], serde_json::json!(["city", "unit"]));
}

#[test]
fn a_script() {
    let env = TestEnv::new();
    env.write("notes.md", "buy milk\n");
    let (_, script) = blocks(&page("scripted.md"), "yaml").remove(0);
    env.write("script.yaml", script);
    let ended = env.run(&["run", "--model", "scripted:script.yaml", "What did I want?"]).code(0);
    assert_eq!(ended.stdout, "You wanted milk.\n");
}

/// Runs a block of commands in the workspace, as a person who copies it would.
#[track_caller]
fn in_a_shell(env: &TestEnv, commands: &str) -> String {
    let ours = env.command(&[]);
    let folder = Path::new(ours.get_program()).parent().unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-e", "-c", commands]).current_dir(env.root()).env_clear();
    for (name, value) in ours.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    let path = std::env::var("PATH").unwrap_or_default();
    shell.env("PATH", format!("{}:{path}", folder.display()));
    let piped = std::process::Stdio::piped;
    shell.stdin(piped()).stdout(piped()).stderr(piped());
    support::end(shell, b"").code(0).stdout
}

#[test]
fn code_mode() {
    let env = TestEnv::new();
    let page = page("code-mode.md");
    let (shell, python) = (blocks(&page, "sh"), blocks(&page, "python"));
    assert!(in_a_shell(&env, &shell[0].1).contains("notes.md"));
    let args = serde_json::json!({"code": python[0].1});
    let (answer, exit) = env.call("tool_chain", &args, &[]);
    assert!(exit == 0 && answer.to_string().contains("buy oats"), "{answer}");
    assert!(answer["result"].as_str().unwrap().contains("{\"lines\":1}"), "{answer}");
    let (file, script) = &python[1];
    env.write(file.trim_matches(['`', ':']), script);
    let said = in_a_shell(&env, &shell[1].1);
    assert!(said.contains("Count the lines of some files.") && said.contains("1"), "{said}");
    assert_eq!(shell.len() + python.len(), 4);
}

#[test]
fn links_lead_somewhere() {
    let mut pages: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"]
            .map(|name| root().join(name))
            .to_vec();
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    let mut links = 0;
    for path in pages {
        let text = fs::read_to_string(&path).unwrap();
        for rest in text.split("](").skip(1) {
            let link = rest.split(')').next().unwrap();
            let file = link.split('#').next().unwrap();
            if link.contains("://") || file.is_empty() {
                continue;
            }
            links += 1;
            assert!(path.parent().unwrap().join(file).exists(), "{link} in {}", path.display());
        }
    }
    assert!(links > 20, "{links}");
}
