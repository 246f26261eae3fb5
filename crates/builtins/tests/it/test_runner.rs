//! `test_runner` on small real projects.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use toolcrib_builtins::Builtins;
use toolcrib_builtins::fs::{Roots, Workspace};
use toolcrib_builtins::program_runner::ProgramPolicy;
use toolcrib_core::{ErrorType, ToolError, ToolOutput};

use crate::support::{Bench, call_of, installed};
use crate::text_of;

struct Shop {
    bench: Bench,
}

impl Shop {
    fn with(change: impl FnOnce(ProgramPolicy) -> ProgramPolicy, files: &[(&str, &str)]) -> Self {
        let bench = Bench::with(change);
        for (path, text) in files {
            let path = bench.path("ws").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { bench }
    }

    async fn run(&self, args: Value) -> Result<ToolOutput, ToolError> {
        let roots = Roots::open([self.bench.path("ws")]).unwrap();
        let tools = Builtins::new()
            .with_workspace(Arc::new(Workspace::without_journal(roots)))
            .with_program_runner(Arc::clone(&self.bench.workbench))
            .handlers();
        let tool = tools.iter().find(|tool| tool.spec().name.as_str() == "test_runner").unwrap();
        let mut call = call_of("tests");
        call.deadline = Instant::now() + tool.spec().timeout;
        tool.call(&call, &args).await
    }
}

/// Returns the program if this machine has it; prints a note if not.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        eprintln!("NOT TRIED: {name} is not on this machine");
    }
    found
}

/// Returns a policy with a python3 that the sandbox can see, through a separate folder of programs.
fn python(confines: ProgramPolicy) -> Option<ProgramPolicy> {
    let out = std::process::Command::new(found("python3")?)
        .args(["-c", "import sys; print(sys.base_prefix)"])
        .output()
        .ok()?;
    let prefix = PathBuf::from(String::from_utf8(out.stdout).ok()?.trim());
    Some(ProgramPolicy { path: vec![prefix.join("bin")], readable: vec![prefix], ..confines })
}

#[tokio::test]
async fn python_tests_are_found_run_and_counted() {
    if python(ProgramPolicy::default()).is_none() {
        return;
    }
    let shop = Shop::with(
        |confines| python(confines).unwrap(),
        &[
            ("calc.py", "def add(a, b):\n    return a - b\n"),
            (
                "test_calc.py",
                "import unittest\nfrom calc import add\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n\n    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n",
            ),
        ],
    );
    let output = shop.run(json!({})).await.unwrap();
    let text = text_of(&output);
    assert!(text.starts_with("Tests FAILED (exit code 1): 1 passed, 1 failed."), "{text}");
    assert!(text.contains("Not passed:\ntest_add (test_calc.T"), "{text}");
    assert!(text.contains("AssertionError: -1 != 3"), "{text}");
    let data = output.structured.unwrap();
    assert_eq!(data["success"], false);
    assert_eq!(
        (&data["passed_count"], &data["failed_count"], &data["total_count"]),
        (&json!(1), &json!(1), &json!(2))
    );
    let one = shop.run(json!({"file": "test_calc.py", "test_name": "test_zero"})).await.unwrap();
    assert!(text_of(&one).starts_with("Tests passed: 1 passed."), "{}", text_of(&one));
    fs::write(shop.bench.path("ws/calc.py"), "def add(a, b):\n    return a + b\n").unwrap();
    let output = shop.run(json!({"runner": "unittest"})).await.unwrap();
    assert!(text_of(&output).starts_with("Tests passed: 2 passed."), "{}", text_of(&output));
    assert_eq!(output.structured.unwrap()["success"], true);
}

#[tokio::test]
async fn tests_that_do_not_end_or_flood_are_bounded() {
    if found("make").is_none() {
        return;
    }
    let shop = Shop::with(
        |confines| confines,
        &[
            ("slow/Makefile", "test:\n\t@echo begun\n\t@sleep 100\n"),
            (
                "loud/Makefile",
                "test:\n\t@head -c 30000000 /dev/zero | tr '\\0' x; echo; echo 3 passed in 0.1s\n",
            ),
            ("none/Makefile", "all:\n\ttrue\n"),
        ],
    );
    let text = text_of(&shop.run(json!({"path": "slow", "timeout": 1})).await.unwrap());
    assert!(text.starts_with("Tests did NOT END within 1 s"), "{text}");
    assert!(text.contains("begun"), "{text}");
    let text = text_of(&shop.run(json!({"path": "loud"})).await.unwrap());
    assert!(text.starts_with("Tests passed: 3 passed. Ran: make test"), "{}", &text[..200]);
    assert!(text.len() < 6000 && text.ends_with("3 passed in 0.1s"), "{}", text.len());
    for (args, kind, why) in [
        (json!({"path": "none"}), ErrorType::ExecutionError, "Give runner"),
        (json!({"path": "gone"}), ErrorType::FileNotFound, "not found"),
        (json!({"path": "../out"}), ErrorType::PathNotAllowed, "not allowed"),
        (json!({"file": "--version"}), ErrorType::ValidationError, "cannot be used as file"),
    ] {
        let error = shop.run(args).await.unwrap_err();
        assert_eq!(error.error_type, kind, "{}", error.message);
        assert!(error.message.contains(why), "{}", error.message);
    }
}

#[tokio::test]
async fn a_runner_that_is_not_there_says_what_to_do() {
    let nowhere =
        |confines| ProgramPolicy { env: vec![("PATH".into(), "/nowhere".into())], ..confines };
    let shop = Shop::with(nowhere, &[("notes.md", "")]);
    for (runner, program) in [
        ("pytest", "python3"),
        ("unittest", "python3"),
        ("cargo", "cargo"),
        ("go", "go"),
        ("npm", "npm"),
        ("make", "make"),
    ] {
        let error = shop.run(json!({"runner": runner})).await.unwrap_err();
        assert_eq!(error.error_type, ErrorType::ExecutionError, "{}", error.message);
        let expected =
            format!("The program {program} is not there, so nothing was run. Tell the user");
        assert!(error.message.starts_with(&expected), "{}", error.message);
    }
}

/// Runs the tests of a project of this program: one passes and one called `wrong` fails; then runs
/// only the first.
async fn one_of_two_passes(program: &str, runner: &str, files: &[(&str, &str)], right: &str) {
    let Some((path, around)) = installed(program) else { return };
    let change = |confines| ProgramPolicy { path: vec![path], readable: around, ..confines };
    let shop = Shop::with(change, files);
    let output = shop.run(json!({})).await.unwrap();
    let text = text_of(&output);
    assert!(text.starts_with("Tests FAILED (exit code 1): 1 passed, 1 failed"), "{text}");
    let data = output.structured.unwrap();
    assert_eq!(data["runner"], runner, "{data}");
    assert_eq!(
        [&data["passed_count"], &data["failed_count"], &data["total_count"]],
        [&json!(1), &json!(1), &json!(2)]
    );
    let failing = data["failing"].as_array().unwrap();
    assert!(failing.len() == 1 && failing[0].as_str().unwrap().contains("wrong"), "{data}");
    let one = shop.run(json!({"test_name": right})).await.unwrap();
    assert!(text_of(&one).starts_with("Tests passed: 1 passed"), "{}", text_of(&one));
}

#[tokio::test]
async fn pytest_tests_are_counted() {
    let files = [
        ("pytest.ini", "[pytest]\n"),
        (
            "test_a.py",
            "def test_right():\n    assert True\n\ndef test_wrong():\n    assert 1 == 2\n",
        ),
    ];
    one_of_two_passes("pytest", "pytest", &files, "right").await;
}

#[tokio::test]
async fn go_tests_are_counted() {
    let files = [
        ("go.mod", "module example.com/small\n\ngo 1.18\n"),
        (
            "a_test.go",
            "package small\n\nimport \"testing\"\n\nfunc TestRight(t *testing.T) {}\n\nfunc Test_wrong(t *testing.T) { t.Fatal(\"no\") }\n",
        ),
    ];
    one_of_two_passes("go", "go", &files, "TestRight").await;
}

#[tokio::test]
async fn npm_tests_are_counted() {
    // Node's own test runner uses another option to select tests by name than most runners.
    let files = [
        (
            "package.json",
            r#"{"name": "small", "version": "1.0.0", "scripts": {"test": "node --test --test-reporter=tap"}}"#,
        ),
        (
            "a.test.js",
            "const test = require('node:test');\nconst assert = require('node:assert');\ntest('right', () => {});\ntest('wrong', () => assert.equal(1, 2));\n",
        ),
    ];
    one_of_two_passes("npm", "npm", &files, "right").await;
}

#[tokio::test]
async fn cargo_tests_are_counted() {
    let Some(cargo) = found("cargo") else { return };
    let home = std::env::var("HOME").unwrap_or_default();
    let folder = |name: &str, usual: &str| {
        std::env::var_os(name).map_or_else(|| PathBuf::from(&home).join(usual), PathBuf::from)
    };
    let (cargo_home, rustup) = (folder("CARGO_HOME", ".cargo"), folder("RUSTUP_HOME", ".rustup"));
    let toolchain = std::env::var("RUSTUP_TOOLCHAIN").unwrap_or_default();
    let mut env = vec![("RUSTUP_HOME".to_owned(), rustup.display().to_string())];
    if !toolchain.is_empty() {
        env.push(("RUSTUP_TOOLCHAIN".to_owned(), toolchain));
    }
    let shop = Shop::with(
        |confines| ProgramPolicy {
            path: vec![cargo.parent().unwrap().to_owned()],
            readable: vec![cargo_home.join("bin"), rustup],
            env,
            ..confines
        },
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
            ),
            ("src/lib.rs", "#[test]\nfn works() {}\n#[test]\nfn fails() { assert_eq!(1, 2); }\n"),
        ],
    );
    let output = shop.run(json!({})).await.unwrap();
    let text = text_of(&output);
    assert!(text.starts_with("Tests FAILED (exit code 101): 1 passed, 1 failed"), "{text}");
    assert_eq!(output.structured.unwrap()["failing"], json!(["fails"]));
    fs::write(shop.bench.path("ws/src/lib.rs"), "fn broken( {}\n").unwrap();
    let text = text_of(&shop.run(json!({})).await.unwrap());
    assert!(text.contains("broken"), "{text}");
}
