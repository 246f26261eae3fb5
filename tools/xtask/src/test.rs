//! `cargo xtask test`: everything that has to pass, in one command that also does the set-up.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::flags::flags;
use crate::process::{self, FEATURES};
use crate::{api_fuzz, clients, mcp_conformance, page, setup, start, tidy};

/// Runs the tests, the doc tests, the house checks and the tour, and prints one closing line for
/// each.
pub(crate) fn run(args: &[String]) -> Result<()> {
    if let Some((first, rest)) = args.split_first()
        && first == "--unit"
    {
        return unit(rest);
    }
    let runner_args = match args.split_first() {
        None => &[],
        Some((first, rest)) if first == "--" => rest,
        Some((first, _)) => {
            bail!("unexpected argument `{first}`; arguments for the runner follow `--`")
        }
    };
    setup::for_tests()?;
    let began = Instant::now();
    let mut closing = Vec::new();
    let mut failed = Vec::new();

    let (passed, lines) = tests(runner_args)?;
    closing.extend(lines);
    if !passed {
        failed.push("tests");
    }
    heading("documentation tests");
    let (passed, lines) = doc_tests()?;
    closing.extend(lines);
    if !passed {
        failed.push("documentation tests");
    }
    for (name, step) in STEPS {
        heading(name);
        match step() {
            Ok(None) => closing.push(format!("{name}: passed")),
            Ok(Some(why)) => closing.push(format!("{name}: LEFT OUT, {why}")),
            Err(error) => {
                eprintln!("{error:#}");
                closing.push(format!("{name}: FAILED"));
                failed.push(name);
            }
        }
    }
    println!("\n{}", closing.join("\n"));
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    println!("test: all passed in {} s", began.elapsed().as_secs());
    Ok(())
}

/// Runs the tests inside the crates: they need no server, no other language and no root.
fn unit(args: &[String]) -> Result<()> {
    let [] = flags(args, [])?;
    heading("unit tests");
    let all = ["test", "--workspace", "--lib", "--bins", "--no-fail-fast"];
    let (passed, lines) = runner(&mut process::cargo(&all))?;
    println!("\n{}", lines.join("\n"));
    if !passed {
        bail!("failed: unit tests");
    }
    Ok(())
}

/// What is run after the tests. A text says why it could not be, where that is no fault.
type Step = (&'static str, fn() -> Result<Option<String>>);

const STEPS: [Step; 7] = [
    ("house checks", house_checks),
    ("tour", || start::run(&["--check".to_owned()]).map(|()| None)),
    ("clients", || clients::run(&[]).map(|()| None)),
    ("page built from its sources", page::try_check),
    ("page in a browser", page::try_browser),
    ("interface fuzzed", || api_fuzz::run(&[]).map(|()| None)),
    ("MCP conformance", || mcp_conformance::try_run(&[])),
];

/// All of them; a check that this machine cannot do is named in the closing lines.
fn house_checks() -> Result<Option<String>> {
    let skipped = tidy::checks(false)?;
    Ok((!skipped.is_empty()).then(|| format!("on this machine: {}", skipped.join(", "))))
}

fn heading(name: &str) {
    println!("\n== {name}");
}

/// The tests of the workspace, by the better runner where it is installed.
fn tests(args: &[String]) -> Result<(bool, Vec<String>)> {
    let nextest = process::works("cargo", &["nextest", "--version"]);
    heading(if nextest { "tests (cargo nextest)" } else { "tests (cargo test)" });
    let mut command = if nextest {
        // A test that needs a second try has a fault, and is named below; it does not hold up
        // everybody else meanwhile.
        let mut command =
            process::cargo(&["nextest", "run", "--workspace", "--no-fail-fast", "--retries", "1"]);
        command.args(FEATURES).args(args);
        command
    } else {
        let mut command = process::cargo(&[
            "test",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--no-fail-fast",
        ]);
        command.args(FEATURES).arg("--").args(args);
        command
    };
    runner(&mut command)
}

fn doc_tests() -> Result<(bool, Vec<String>)> {
    let (passed, lines) = runner(&mut process::cargo(&["test", "--workspace", "--doc"]))?;
    Ok((passed, lines.into_iter().map(|line| format!("documentation {line}")).collect()))
}

fn runner(command: &mut Command) -> Result<(bool, Vec<String>)> {
    let (passed, lines) = process::run_keeping(command, is_closing_line)?;
    Ok((passed, sum_up(lines)))
}

/// The lines in which a runner says how it went.
fn is_closing_line(line: &str) -> bool {
    line.contains("tests run:")
        || line.contains("test run:")
        || line.starts_with("test result:")
        || line.trim_start().starts_with("FLAKY ")
}

/// `cargo test` has one such line for every program it ran; they are added up.
fn sum_up(lines: Vec<String>) -> Vec<String> {
    let results: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("test result: ")).collect();
    if results.is_empty() {
        return lines;
    }
    let total = |what: &str| -> u64 { results.iter().map(|line| number_before(line, what)).sum() };
    let verdict = if results.iter().all(|line| line.starts_with("ok.")) { "ok" } else { "FAILED" };
    vec![format!(
        "test result: {verdict}. {} passed; {} failed; {} ignored in {} programs",
        total("passed"),
        total("failed"),
        total("ignored"),
        results.len()
    )]
}

fn number_before(line: &str, what: &str) -> u64 {
    let before = line.split([';', '.']).find_map(|part| part.trim().strip_suffix(what));
    before.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_of_several_programs_are_added_up() {
        let lines = [
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s",
        ];
        let expected = "test result: FAILED. 15 passed; 2 failed; 1 ignored in 2 programs";
        assert_eq!(sum_up(lines.map(str::to_owned).to_vec()), [expected]);
    }

    #[test]
    fn the_line_of_nextest_is_kept_as_it_is() {
        let line = "Summary [   0.050s] 9 tests run: 9 passed, 0 skipped";
        assert!(is_closing_line(line));
        assert_eq!(sum_up(vec![line.to_owned()]), [line]);
        assert!(!is_closing_line("        PASS [   0.003s] xtask test::tests::x"));
    }

    #[test]
    fn words_before_the_separator_are_refused() {
        assert!(run(&["--nocapture".to_owned()]).is_err());
    }
}
