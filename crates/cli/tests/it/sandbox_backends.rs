//! `[sandbox] backend`: sandboxes of other programs, and the errors if such a program is missing.

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

/// Tools that run programs.
const TOOLS: [&str; 4] = ["execute_shell_command", "manage_process", "code_exec", "test_runner"];

/// Creates an environment whose programs run with this backend.
fn made_by(backend: &str) -> TestEnv {
    let env = TestEnv::new();
    for tool in TOOLS {
        env.run(&["tool", "enable", tool]).code(0);
    }
    env.own("config.toml", &format!("[sandbox]\nbackend = \"{backend}\"\n"));
    env
}

/// Returns the part of `sandbox status` about one backend.
fn status(env: &TestEnv, backend: &str) -> Value {
    let all = support::json(&env.run(&["sandbox", "status", "--json"]).code(0).stdout);
    let named = |one: &&Value| one["backend"] == backend;
    all.as_array().unwrap().iter().find(named).unwrap_or_else(|| panic!("{all}")).clone()
}

/// Returns whether this backend works here; prints a note if it does not.
#[expect(clippy::print_stderr, reason = "what was not tried is said, whatever the test says")]
pub(crate) fn works(env: &TestEnv, backend: &str) -> bool {
    let status = status(env, backend);
    let works = status["strongest"] != "none";
    if !works {
        eprintln!("NOT TRIED: {backend}, which does not work here: {}", status["features"]);
    }
    works
}

/// Makes a call regardless of its risk; returns the whole reply.
#[track_caller]
fn answer(env: &TestEnv, tool: &str, args: &Value) -> Value {
    let words = ["tool", "call", tool, "--json", "--policy", "auto", "--args", "-"];
    let mut command = env.command(&words);
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    support::json(&support::end(command, args.to_string().as_bytes()).stdout)
}

/// Returns the text of a successful call.
#[track_caller]
fn done(env: &TestEnv, tool: &str, args: Value) -> String {
    let reply = answer(env, tool, &args);
    assert_eq!(reply["outcome"], "succeeded", "{tool} {args}: {reply}");
    reply["result"].as_str().map_or_else(|| reply["result"].to_string(), str::to_owned)
}

#[test]
fn bubblewrap_makes_the_walls_of_commands() {
    let env = made_by("bubblewrap");
    if !works(&env, "bubblewrap") {
        return;
    }
    let home = env.outside().join("home");
    let command = format!(
        "cat notes.md; ls {0}/config.toml; echo x > {0}/state/x; echo evil > .toolcrib/config.toml; (exec 3<>/dev/tcp/192.0.2.1/80) && echo REACHED; echo made > made; exit 3",
        home.display()
    );
    let reply = answer(&env, "execute_shell_command", &json!({"command": command}));
    let text = reply["result"].to_string();
    assert!(text.contains("buy oats") && text.contains("exit code 3"), "{reply}");
    assert!(!text.contains("REACHED") && text.contains("No such file"), "{reply}");
    assert_eq!(env.read("made").as_deref(), Some("made\n"));
    assert!(!home.join("state/x").exists() && env.read(".toolcrib/config.toml").is_none());
    env.run(&["sandbox", "exec", "--write", ".", "--", "sh", "-c", "cat notes.md"]).code(0);
    env.write("Makefile", "test:\n\t@echo 2 passed in 0.1s\n");
    assert!(done(&env, "test_runner", json!({})).contains("Tests passed: 2 passed."));
    // The tool reports a missing program, as with the built-in backend.
    env.own("config.toml", "[sandbox]\nbackend = \"bubblewrap\"\nenv = { PATH = \"/nowhere\" }\n");
    let missing = answer(&env, "test_runner", &json!({}));
    assert!(missing["result"].to_string().contains("The program make is not there"), "{missing}");
    // Neither a weaker nor a stronger level is accepted instead.
    env.own("config.toml", "[sandbox]\nbackend = \"bubblewrap\"\nlevel = \"external\"\n");
    let refused = answer(&env, "test_runner", &json!({}));
    assert_eq!(refused["error_type"], "sandbox_error", "{refused}");
    assert!(refused["result"].to_string().contains("level external"), "{refused}");
}

#[test]
fn bubblewrap_makes_the_walls_of_a_conversation() {
    let env = made_by("bubblewrap");
    if !works(&env, "bubblewrap") {
        return;
    }
    let turns = r#"
  - calls: [{tool: execute_shell_command, args: {command: "mkdir sub; cd sub; X=kept; (setsid sleep 86396 &)"}}]
  - expect: {results: [{tool: execute_shell_command, outcome: succeeded, contains: exit code 0}]}
    calls: [{tool: execute_shell_command, args: {command: "pwd; echo $X; ls -d /proc/[0-9]* | wc -l"}}]
  - expect: {results: [{tool: execute_shell_command, outcome: succeeded, contains: kept}]}
    calls: [{tool: execute_shell_command, args: {command: "sleep 100", timeout: 1}}]
  - expect: {results: [{tool: execute_shell_command, outcome: timed_out, contains: timed out after 1s}]}
    calls: [{tool: execute_shell_command, args: {command: "echo served; exec sleep 86395", background: true}}]
  - expect: {results: [{tool: execute_shell_command, outcome: succeeded}]}
    calls: [{tool: manage_process, args: {action: list}}]
  - expect: {results: [{tool: manage_process, outcome: succeeded, contains: running}]}
    calls: [{tool: code_exec, args: {code: "x = 6", level: full}}]
  - expect: {results: [{tool: code_exec, outcome: succeeded}]}
    calls: [{tool: code_exec, args: {code: "x * 7", level: full}}, {tool: code_exec, args: {code: "6 * 7", level: expression}}]
  - expect: {results: [{tool: code_exec, outcome: succeeded, contains: "42"}, {tool: code_exec, outcome: succeeded, contains: "42"}]}
    say: Done.
"#;
    let model = env.script("script", turns);
    let mut command = env.command(&["run", "--model", &model, "--policy", "auto", "Do it"]);
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    let ended = support::end(command, b"").code(0);
    assert_eq!(ended.stdout, "Done.\n", "{}", ended.stderr);
}

#[test]
fn bubblewrap_makes_the_walls_of_code() {
    let env = made_by("bubblewrap");
    if !works(&env, "bubblewrap") {
        return;
    }
    let run =
        |code: &str, level: &str| answer(&env, "code_exec", &json!({"code": code, "level": level}));
    for level in ["expression", "full", "auto"] {
        let reply = run("sum(range(10))", level);
        assert_eq!((&reply["outcome"], &reply["result"]), (&json!("succeeded"), &json!("45")));
    }
    assert_eq!(run("import random\nrandom.randint(5, 5)", "auto")["result"], "5");
    let notes = env.root().join("notes.md");
    let hidden = run(&format!("open({:?}).read()", notes.display().to_string()), "full");
    assert_eq!(hidden["outcome"], "failed", "{hidden}");
    let file = run("open('a.csv', 'w').write('1,2')\nNone", "full");
    assert!(file["result"].to_string().contains("text/csv, stored as art_"), "{file}");
}

/// A folder of the system cannot be hidden from a test, so this test is meaningful only if the
/// backend is missing.
#[test]
fn a_maker_that_is_not_there_is_named_with_what_to_do() {
    for (backend, program, remedy) in
        [("gvisor", "runsc", "gvisor.dev"), ("bubblewrap", "bwrap", "the package bubblewrap")]
    {
        let env = made_by(backend);
        let status = status(&env, backend);
        if status["strongest"] != "none" {
            continue;
        }
        let detail = status["features"][0]["detail"].to_string();
        assert!(detail.contains("not installed") && detail.contains(remedy), "{status}");
        for (tool, args) in [
            ("execute_shell_command", json!({"command": "echo RAN"})),
            ("code_exec", json!({"code": "1", "level": "full"})),
            ("code_exec", json!({"code": "1", "level": "expression"})),
            ("test_runner", json!({"runner": "make"})),
        ] {
            let reply = answer(&env, tool, &args);
            assert_eq!(reply["error_type"], "sandbox_error", "{tool}: {reply}");
            let text = reply["result"].as_str().unwrap();
            for words in [program, remedy, "`backend`", "nothing was run"] {
                assert!(text.contains(words), "{tool} does not say {words:?}: {text}");
            }
        }
        // Commands that need no other backend still work.
        env.run(&["sandbox", "exec", "--", "true"]).code(0);
    }
}
