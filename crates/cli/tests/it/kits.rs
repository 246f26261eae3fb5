//! The four kits of the workbench on a small Python and a small Rust project: whole runs of a
//! scripted model, real tools in the sandbox. If the project is the one in the kit's examples, the
//! model follows the kit exactly.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{self, TestEnv, of_type};

/// A call of the script: the tool, its arguments, and texts that its result must contain.
struct Step {
    tool: String,
    args: Value,
    holds: &'static str,
}

fn step(tool: &str, args: Value, holds: &'static str) -> Step {
    Step { tool: tool.to_owned(), args, holds }
}

fn shell(command: &str, holds: &'static str) -> Step {
    step("execute_shell_command", json!({"command": command, "timeout": 120}), holds)
}

/// Returns the output of a program, if it exists and works.
fn said(program: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[expect(clippy::print_stderr, reason = "what is not tried is said aloud")]
fn not_tried(what: &str) {
    eprintln!("NOT TRIED: {what} is not on this machine");
}

/// Returns a folder of Python programs that has these modules and programs, and additional paths to
/// read.
fn python(modules: &str, programs: &[&str]) -> Option<(PathBuf, Vec<PathBuf>)> {
    let beside = Path::new(env!("CARGO_BIN_EXE_toolcrib")).ancestors().nth(2)?.join("python/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let script = format!("import {modules}, sys; print(sys.prefix); print(sys.base_prefix)");
    let found = [beside].into_iter().chain(std::env::split_paths(&path)).find_map(|folder| {
        let prefixes = said(&folder.join("python3"), &["-c", &script])?;
        let folder = folder.canonicalize().ok()?;
        let here = programs.iter().all(|name| said(&folder.join(name), &["--version"]).is_some());
        here.then(|| {
            (folder, prefixes.lines().filter_map(|at| Path::new(at).canonicalize().ok()).collect())
        })
    });
    if found.is_none() {
        not_tried(&format!("python3 with {modules} {programs:?}"));
    }
    found
}

/// Returns the folder with cargo, and additional paths to read.
fn rust(programs: &[&str]) -> Option<(PathBuf, Vec<PathBuf>)> {
    let root = PathBuf::from(said(Path::new("rustc"), &["--print", "sysroot"]).unwrap_or_default());
    let folder = root.join("bin");
    let here = programs.iter().all(|name| said(&folder.join(name), &["--version"]).is_some());
    if !here || said(Path::new("cc"), &["--version"]).is_none() {
        not_tried(&format!("a tool chain of Rust with {programs:?}, or cc"));
        return None;
    }
    Some((folder, vec![root]))
}

/// Creates a workspace of these files with access to the programs, and with the tools of the kits
/// enabled.
fn workspace((folder, read): (PathBuf, Vec<PathBuf>), files: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::new();
    let config = format!(
        "[sandbox]\npath = [{}]\nread = {}\n",
        json!(folder),
        json!(read.iter().filter(|path| *path != Path::new("/usr")).collect::<Vec<_>>())
    );
    env.own("config.toml", &config);
    env.run(&["tool", "enable", "execute_shell_command"]).code(0);
    std::fs::remove_file(env.root().join("notes.md")).unwrap();
    for (path, text) in files {
        env.write(path, text);
    }
    env
}

/// Commits everything to a repository.
fn committed(env: &TestEnv) {
    for args in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "begin"]] {
        let who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
        let mut git = Command::new("git");
        assert!(git.args(who).args(args).current_dir(env.root()).status().unwrap().success());
    }
}

/// Returns the steps of a kit, each with texts that its result must contain.
fn of_kit(env: &TestEnv, kit: &str, holds: &[&'static str]) -> Vec<Step> {
    let shown = support::json(&env.run(&["kit", "show", kit, "--json"]).code(0).stdout);
    let steps = shown["steps"].as_array().unwrap();
    assert_eq!(steps.len(), holds.len(), "{shown}");
    let with_action = |step: &Value| {
        let mut args = step["params"].clone();
        if let Some(action) = step["action"].as_str() {
            args["action"] = json!(action);
        }
        args
    };
    let name = |step: &Value| step["tool"].as_str().unwrap().to_owned();
    let all = steps.iter().zip(holds);
    all.map(|(one, holds)| Step { tool: name(one), args: with_action(one), holds }).collect()
}

/// Runs a scripted model with these steps, one call per round; the script checks the results.
#[track_caller]
fn play(env: &TestEnv, steps: &[Step]) {
    let mut turns = String::new();
    let mut before: Option<&Step> = None;
    for step in steps {
        let mut turn = json!({"calls": [{"tool": step.tool, "args": step.args}]});
        expect(&mut turn, before);
        turns += &format!("  - {turn}\n");
        before = Some(step);
    }
    let mut last = json!({"say": "All of it is done."});
    expect(&mut last, before);
    turns += &format!("  - {last}\n");
    let ended = env.play(&turns, &["--policy", "auto", "--json"]);
    let events: Vec<Value> = ended.stdout.lines().map(support::json).collect();
    let outputs: Vec<&Value> = of_type(&events, "tool")
        .into_iter()
        .filter(|event| event["output"] != Value::Null)
        .map(|event| &event["output"])
        .collect();
    let end = of_type(&events, "run-end");
    let shown = outputs.iter().map(|output| output.to_string() + "\n").collect::<String>();
    assert_eq!(end[0]["text"], "All of it is done.", "{} {}\n{shown}", end[0], ended.stderr);
    assert_eq!(end[0]["calls"], json!(steps.len()));
}

fn expect(turn: &mut Value, before: Option<&Step>) {
    let Some(step) = before else { return };
    let result = json!({"tool": step.tool, "outcome": "succeeded", "contains": step.holds});
    turn["expect"] = json!({"results": [result]});
}

/// Returns the messages of the commits, newest first.
fn log(env: &TestEnv) -> Vec<String> {
    let mut git = Command::new("git");
    let log = git.args(["log", "--format=%s"]).current_dir(env.root()).output().unwrap();
    String::from_utf8(log.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_python_project_is_set_up_and_gets_its_first_test() {
    let Some(programs) = python("pytest", &[]) else { return };
    let env = workspace(programs, &[]);
    let mut steps = of_kit(
        &env,
        "project_setup",
        &[
            "src",
            "tests",
            "pyproject.toml",
            "__init__.py",
            "test_shop.py",
            "",
            "README.md",
            ".gitignore",
            "requirements-dev.txt",
            "pytest",
            "Tests passed: 1 passed",
            "",
            "begin the project",
        ],
    );
    steps.push(shell("git status --short | wc -l; ls -A", "src"));
    play(&env, &steps);
    assert_eq!(log(&env), ["chore: begin the project"]);

    let mut steps = of_kit(
        &env,
        "tdd_workflow",
        &[
            "test_prices.py",
            "Tests FAILED",
            "prices.py",
            "Tests passed: 2 passed",
            "prices.py",
            "Tests passed: 2 passed",
        ],
    );
    steps.push(shell("python3 -c 'import prices; print(prices.total([20, 22]))'", "42"));
    play(&env, &steps);
    assert!(env.read("prices.py").unwrap().contains("\"\"\"The sum of all prices.\"\"\""));
}

#[test]
fn a_fault_in_a_python_project_is_found_and_mended() {
    let Some(programs) = python("pytest", &["pylsp"]) else { return };
    let files = [
        ("shop/__init__.py", ""),
        ("shop/prices.py", "def total(items):\n    return sum(item)\n"),
        (
            "tests/test_prices.py",
            "from shop.prices import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
        ),
        ("pyproject.toml", "[project]\nname = \"shop\"\nversion = \"0.1.0\"\n"),
        (".gitignore", "__pycache__/\n"),
    ];
    let env = workspace(programs, &files);
    committed(&env);
    let steps = of_kit(
        &env,
        "debug_cycle",
        &[
            "Tests FAILED",
            "undefined name 'item'",
            "sum(item)",
            "prices.py",
            "",
            "Tests passed: 1 passed",
            "total sums its own",
        ],
    );
    play(&env, &steps);
    assert_eq!(log(&env), ["fix: total sums its own argument", "begin"]);
}

#[test]
fn what_ruff_finds_in_a_python_project_is_cleaned_up() {
    let Some(programs) = python("pytest", &["ruff", "pylsp"]) else { return };
    let files = [
        ("shop/__init__.py", ""),
        ("shop/prices.py", "import os\ndef total(items):\n    return sum(items)\n"),
        (
            "tests/test_prices.py",
            "from shop.prices import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
        ),
        (".gitignore", "__pycache__/\n.ruff_cache/\n"),
    ];
    let env = workspace(programs, &files);
    committed(&env);
    let steps = of_kit(
        &env,
        "code_quality",
        &[
            "F401",
            "test_prices.py",
            "prices.py",
            "",
            "Tests passed: 1 passed",
            "remove what ruff found",
        ],
    );
    play(&env, &steps);
    assert_eq!(log(&env), ["refactor: remove what ruff found", "begin"]);
}

const MANIFEST: &str = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

#[test]
fn a_rust_project_is_set_up_and_gets_its_first_test() {
    let Some(programs) = rust(&["cargo"]) else { return };
    let env = workspace(programs, &[]);
    let test = "use shop::total;\n\n#[test]\nfn total_is_the_sum() {\n    assert_eq!(total(&[1, 2]), 3);\n}\n";
    let diff = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,4 @@\n+/// The sum of all prices.\n pub fn total(items: &[u32]) -> u32 {\n     items.iter().sum()\n }\n";
    let steps = [
        step("make_dir", json!({"path": "src"}), "src"),
        step("make_dir", json!({"path": "tests"}), "tests"),
        step("write_file", json!({"path": "Cargo.toml", "content": MANIFEST}), "Cargo.toml"),
        step("write_file", json!({"path": "src/lib.rs", "content": ""}), "lib.rs"),
        step("git_manager", json!({"action": "init"}), ""),
        step("write_file", json!({"path": ".gitignore", "content": "target/\n"}), ""),
        step("git_manager", json!({"action": "add"}), ""),
        step("git_manager", json!({"action": "commit", "message": "begin"}), "begin"),
        step("write_file", json!({"path": "tests/total.rs", "content": test}), "total.rs"),
        step("test_runner", json!({}), "unresolved import"),
        step(
            "write_file",
            json!({"path": "src/lib.rs", "content": "pub fn total(items: &[u32]) -> u32 {\n    items.iter().sum()\n}\n"}),
            "lib.rs",
        ),
        step("test_runner", json!({"timeout": 300}), "Tests passed: 1 passed"),
        step("diff_editor", json!({"path": "src/lib.rs", "diff": diff}), "lib.rs"),
        shell("cargo test --offline -q 2>&1 | tail -n 4; git status --short", "?? tests/"),
        step("test_runner", json!({"test_name": "total_is"}), "Tests passed: 1 passed"),
    ];
    play(&env, &steps);
    assert_eq!(log(&env), ["begin"]);
}

#[test]
fn a_fault_in_a_rust_project_is_found_mended_and_cleaned_up() {
    let Some(programs) = rust(&["cargo", "rust-analyzer", "cargo-clippy"]) else { return };
    let lib = "pub fn total(items: &[u32]) -> u32 {\n    let sum: u32 = \"none\";\n    return sum;\n}\n\n#[test]\nfn total_is_the_sum() {\n    assert_eq!(total(&[1, 2]), 3);\n}\n";
    let files =
        [("Cargo.toml", MANIFEST), ("src/lib.rs", lib), (".gitignore", "target/\nCargo.lock\n")];
    let env = workspace(programs, &files);
    committed(&env);
    let cause = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n pub fn total(items: &[u32]) -> u32 {\n-    let sum: u32 = \"none\";\n+    let sum: u32 = items.iter().sum();\n     return sum;\n";
    let clean = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,4 +1,3 @@\n pub fn total(items: &[u32]) -> u32 {\n-    let sum: u32 = items.iter().sum();\n-    return sum;\n+    items.iter().sum()\n }\n";
    let diagnostics = || json!({"action": "diagnostics", "file": "src/lib.rs"});
    let lint = "cargo clippy --offline -q -- -D warnings 2>&1; echo \"clippy: $?\"";
    let steps = [
        step("lsp_manager", diagnostics(), "expected u32"),
        step("read_file", json!({"path": "src/lib.rs"}), "let sum"),
        step("diff_editor", json!({"path": "src/lib.rs", "diff": cause}), "lib.rs"),
        step("lsp_manager", diagnostics(), ""),
        step("test_runner", json!({"timeout": 300}), "Tests passed: 1 passed"),
        step("git_manager", json!({"action": "commit", "all": true, "message": "fix"}), "fix"),
        shell(lint, "needless_return"),
        step("diff_editor", json!({"path": "src/lib.rs", "diff": clean}), "lib.rs"),
        shell(lint, "clippy: 0"),
        step("test_runner", json!({"timeout": 300}), "Tests passed: 1 passed"),
        step("git_manager", json!({"action": "commit", "all": true, "message": "clean"}), "clean"),
    ];
    play(&env, &steps);
    assert_eq!(log(&env), ["clean", "fix", "begin"]);
}
