//! Detection of test frameworks, and parsing of their real outputs.

use proptest::prelude::*;

use super::*;

fn detected(files: &[(&str, &str)], file: Option<&str>) -> Option<Runner> {
    let names = files.iter().map(|(name, _)| (*name).to_owned()).collect();
    let text = |wanted: &str| {
        files.iter().find(|(name, _)| *name == wanted).map(|(_, text)| (*text).to_owned())
    };
    Runner::detect(&Project { names, text: &text }, file)
}

#[test]
fn projects_are_told_by_their_files() {
    for (files, file, expected) in [
        (&[("Cargo.toml", "")][..], None, Some(Runner::Cargo)),
        (&[("go.mod", "")], None, Some(Runner::Go)),
        (&[("test_x.py", "def test_x(): pass")], None, Some(Runner::Pytest)),
        (&[("test_x.py", "import unittest")], None, Some(Runner::Unittest)),
        (&[("test_x.py", "import unittest"), ("pytest.ini", "")], None, Some(Runner::Pytest)),
        (&[("pyproject.toml", "[tool.pytest.ini_options]")], None, Some(Runner::Pytest)),
        (&[("package.json", r#"{"scripts": {"test": "node --test"}}"#)], None, Some(Runner::Npm)),
        (&[("package.json", "{}"), ("Makefile", "all:\n")], None, None),
        (&[("Makefile", "test: all\n\ttrue\n")], None, Some(Runner::Make)),
        (&[("Cargo.toml", ""), ("tests", "")], Some("tests/test_x.py"), Some(Runner::Pytest)),
        (&[("tests/test_x.py", "def test_x(): pass")], None, Some(Runner::Pytest)),
        (&[("tests/test_x.py", "import unittest")], None, Some(Runner::Pytest)),
        (
            &[("tests/test_x.py", "import unittest"), ("tests/__init__.py", "")],
            None,
            Some(Runner::Unittest),
        ),
        (&[("tests/x.py", "")], None, None),
        (&[], None, None),
    ] {
        assert_eq!(detected(files, file), expected, "{files:?}");
    }
}

#[test]
fn commands_name_files_and_tests() {
    for (runner, file, test, expected) in [
        (
            Runner::Pytest,
            Some("-x.py"),
            Some("a or b"),
            "python3 -m pytest -rfE --tb=short --color=no -p no:cacheprovider -k a or b -- -x.py",
        ),
        (
            Runner::Cargo,
            Some("tests/it.rs"),
            Some("name"),
            "cargo test --no-fail-fast --color=never --test it -- name",
        ),
        (Runner::Cargo, Some("src/lib.rs"), None, "cargo test --no-fail-fast --color=never"),
        (Runner::Go, Some("pkg/x_test.go"), Some("TestX"), "go test -v -run TestX ./pkg"),
        (Runner::Go, None, None, "go test -v ./..."),
        (Runner::Npm, None, None, "npm test --silent"),
        (Runner::Npm, Some("a.test.js"), Some("adds"), "npm test --silent -- -t adds a.test.js"),
        (Runner::Make, Some("x"), None, "make test"),
    ] {
        assert_eq!(runner.command(file, test, "-t").join(" "), expected);
    }
}

fn check(runner: Runner, output: &str, counts: [Option<u64>; 4], failing: &[&str]) {
    let read = parse_output(runner, output);
    assert_eq!([read.passed, read.failed, read.errors, read.skipped], counts, "{output}");
    assert_eq!(read.failing, failing, "{output}");
}

#[test]
fn outputs_of_real_programs() {
    check(
        Runner::Pytest,
        "tests/test_a.py .F.s  [100%]\n=== FAILURES ===\nE   assert 1 == 2\n=== short test summary info ===\nFAILED tests/test_a.py::test_two[a b] - assert 1 == 2\nERROR tests/test_b.py - ImportError: no\n=== 1 failed, 2 passed, 1 skipped, 1 warning, 1 error in 0.12s ===\n",
        [Some(2), Some(1), Some(1), Some(1)],
        &["tests/test_a.py::test_two[a b]", "tests/test_b.py"],
    );
    check(Runner::Pytest, "5 passed in 0.01s\n", [Some(5), None, None, None], &[]);
    check(Runner::Pytest, "no tests ran in 0.01s\n", [None; 4], &[]);
    check(
        Runner::Unittest,
        "test_a (t.T.test_a) ... FAIL\n======\nFAIL: test_a (t.T.test_a)\n------\nRan 3 tests in 0.000s\n\nFAILED (failures=1, skipped=1)\n",
        [Some(1), Some(1), None, Some(1)],
        &["test_a (t.T.test_a)"],
    );
    check(Runner::Unittest, "Ran 2 tests in 0.1s\n\nOK\n", [Some(2), None, None, None], &[]);
    check(
        Runner::Cargo,
        "test a::works ... ok\ntest a::fails ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured\ntest result: ok. 3 passed; 0 failed; 2 ignored; 0 measured\n",
        [Some(4), Some(1), None, Some(2)],
        &["a::fails"],
    );
    check(
        Runner::Cargo,
        "error[E0425]: cannot find value\nerror: could not compile `x` (lib test) due to 1 previous error\n",
        [None, None, Some(1), None],
        &[],
    );
    check(
        Runner::Go,
        "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n    --- FAIL: TestB/sub (0.00s)\n--- SKIP: TestC (0.00s)\nFAIL\nFAIL\texample/x\t0.1s\nFAIL\texample/y [build failed]\n",
        [Some(1), Some(2), Some(1), Some(1)],
        &["TestB", "TestB/sub"],
    );
    check(
        Runner::Npm,
        "✔ adds (0.5ms)\n✖ subtracts (0.3ms)\nℹ tests 2\nℹ pass 1\nℹ fail 1\n",
        [Some(1), Some(1), None, None],
        &["subtracts"],
    );
    check(
        Runner::Npm,
        "Tests:       1 failed, 2 passed, 3 total\n",
        [Some(2), Some(1), None, None],
        &[],
    );
    check(Runner::Npm, " Tests  2 passed (2)\n", [Some(2), None, None, None], &[]);
    check(Runner::Npm, "  2 passing (5ms)\n  1 failing\n", [Some(2), Some(1), None, None], &[]);
    check(Runner::Make, "3 passed in 0.01s\n", [Some(3), None, None, None], &[]);
    check(Runner::Make, "nothing to see\n", [None; 4], &[]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any output can be parsed, and names and lists stay bounded.
    #[test]
    fn any_output_is_read(output in "((FAILED |ERROR |test |--- FAIL: |[0-9]{1,30} (passed|failed)|Ran |[a-z✖ .:-]{0,20}| in 1s)\n?){0,40}") {
        for runner in [Runner::Pytest, Runner::Unittest, Runner::Cargo, Runner::Go, Runner::Npm] {
            let counts = parse_output(runner, &output);
            prop_assert!(counts.failing.len() <= 50);
            counts.total();
        }
    }
}
