//! Parses test output: counts of passed, failed and broken tests, and names of those that did not
//! pass.
//!
//! The output comes from the project's own code, which can print anything, so the exit code
//! determines whether the run succeeded.
#![deny(clippy::indexing_slicing)]

use std::sync::LazyLock;

use regex::Regex;

use super::Runner;

/// Maximum number of names of failed tests.
const MAX_NAMES: usize = 50;
/// Characters of a name.
const MAX_NAME: usize = 200;

/// Test counts; `None` if the output has no such number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    pub(crate) passed: Option<u64>,
    pub(crate) failed: Option<u64>,
    /// Tests or test files that could not be run.
    pub(crate) errors: Option<u64>,
    pub(crate) skipped: Option<u64>,
    /// Names of failed or broken tests; the first few.
    pub(crate) failing: Vec<String>,
}

impl TestCounts {
    pub(crate) fn total(&self) -> Option<u64> {
        let all = [self.passed, self.failed, self.errors, self.skipped];
        all.iter().any(Option::is_some).then(|| all.iter().flatten().sum())
    }

    fn add(&mut self, what: &str, count: u64) {
        let slot = match what {
            "passed" | "passing" | "pass" | "ok" => &mut self.passed,
            "failed" | "failing" | "fail" | "failures" => &mut self.failed,
            "error" | "errors" => &mut self.errors,
            "skipped" | "ignored" | "pending" | "skip" | "todo" => &mut self.skipped,
            _ => return,
        };
        *slot = Some(slot.unwrap_or(0).saturating_add(count));
    }

    fn name(&mut self, name: &str) {
        let name: String = name.trim().chars().take(MAX_NAME).collect();
        if self.failing.len() < MAX_NAMES && !name.is_empty() && !self.failing.contains(&name) {
            self.failing.push(name);
        }
    }
}

/// Parses the output of a framework. `make` and `npm` may start any of them, so all parsers are
/// tried.
pub(crate) fn parse_output(runner: Runner, output: &str) -> TestCounts {
    match runner {
        Runner::Pytest => pytest(output),
        Runner::Unittest => unittest(output),
        Runner::Cargo => cargo(output),
        Runner::Go => go(output),
        Runner::Npm | Runner::Make => {
            let mut all = [javascript, pytest, cargo, go, unittest].iter().map(|read| read(output));
            all.find(|counts| counts.total().is_some()).unwrap_or_default()
        }
    }
}

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        /// Never `None`: the patterns are constants with a test each.
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(NUMBERED, r"(\d+) (passed|failed|errors?|skipped|ignored|xfailed|xpassed|deselected)\b");
pattern!(PYTEST_END, r"^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [0-9.]+s");
pattern!(PYTEST_NAME, r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$");
pattern!(UNITTEST_RAN, r"^Ran (\d+) tests? in");
pattern!(UNITTEST_END, r"(failures|errors|skipped)=(\d+)");
pattern!(UNITTEST_NAME, r"^(?:FAIL|ERROR): (.+)$");
pattern!(CARGO_END, r"^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored");
pattern!(CARGO_NAME, r"^test (.+?)(?: - should panic)? \.\.\. FAILED$");
pattern!(GO_LINE, r"^\s*--- (PASS|FAIL|SKIP): (\S+)");
pattern!(JEST, r"^\s*Tests:?\s+(.*\d+ (?:passed|failed|skipped|todo).*)$");
pattern!(MOCHA, r"^\s*(\d+) (passing|failing|pending)\b");
pattern!(TAP, r"^\s*(?:#|ℹ) (pass|fail|skipped|todo) (\d+)$");
pattern!(JS_NAME, r"^\s*(?:✖|✕|×|not ok \d+ -|●|FAIL) (.+?)(?: \(?[0-9.]+ ?ms\)?)?$");

/// Calls a function with the captures of each matching line, in order.
fn each<'t>(
    pattern: &'static LazyLock<Option<Regex>>,
    text: &'t str,
    mut found: impl FnMut(&[&'t str]),
) {
    let Some(pattern) = pattern.as_ref() else { return };
    for line in text.lines() {
        if let Some(captures) = pattern.captures(line) {
            let parts: Vec<&str> =
                captures.iter().skip(1).map(|part| part.map_or("", |part| part.as_str())).collect();
            found(&parts);
        }
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

/// Parses `2 passed, 1 failed` and similar.
fn numbered(counts: &mut TestCounts, text: &str) {
    let Some(pattern) = NUMBERED.as_ref() else { return };
    for captures in pattern.captures_iter(text) {
        if let (Some(count), Some(what)) = (captures.get(1), captures.get(2)) {
            counts.add(what.as_str(), number(count.as_str()));
        }
    }
}

fn pytest(output: &str) -> TestCounts {
    let mut counts = TestCounts::default();
    let mut end = None;
    each(&PYTEST_END, output, |parts| end = parts.first().copied());
    let Some(end) = end else { return counts };
    numbered(&mut counts, end);
    each(&PYTEST_NAME, output, |parts| parts.iter().for_each(|name| counts.name(name)));
    counts
}

fn unittest(output: &str) -> TestCounts {
    let mut counts = TestCounts::default();
    let mut ran = None;
    each(&UNITTEST_RAN, output, |parts| ran = parts.first().map(|count| number(count)));
    let Some(ran) = ran else { return counts };
    let last = output.lines().rfind(|line| line.starts_with("OK") || line.starts_with("FAILED"));
    if let (Some(last), Some(pattern)) = (last, UNITTEST_END.as_ref()) {
        for captures in pattern.captures_iter(last) {
            if let (Some(what), Some(count)) = (captures.get(1), captures.get(2)) {
                counts.add(what.as_str(), number(count.as_str()));
            }
        }
    }
    let others = counts.total().unwrap_or(0);
    counts.passed = Some(ran.saturating_sub(others));
    each(&UNITTEST_NAME, output, |parts| parts.iter().for_each(|name| counts.name(name)));
    counts
}

fn cargo(output: &str) -> TestCounts {
    let mut counts = TestCounts::default();
    each(&CARGO_END, output, |parts| {
        for (what, count) in ["passed", "failed", "ignored"].iter().zip(parts) {
            counts.add(what, number(count));
        }
    });
    each(&CARGO_NAME, output, |parts| parts.iter().for_each(|name| counts.name(name)));
    let broken = output.lines().filter(|line| line.starts_with("error: could not compile")).count();
    if broken > 0 {
        counts.add("errors", broken as u64);
    }
    counts
}

fn go(output: &str) -> TestCounts {
    let mut counts = TestCounts::default();
    each(&GO_LINE, output, |parts| {
        if let [what, name] = parts {
            match *what {
                "PASS" => counts.add("passed", 1),
                "SKIP" => counts.add("skipped", 1),
                _ => {
                    counts.add("failed", 1);
                    counts.name(name);
                }
            }
        }
    });
    let broken = |line: &&str| line.starts_with("FAIL") && line.ends_with("[build failed]");
    let broken = output.lines().filter(broken).count();
    if broken > 0 {
        counts.add("errors", broken as u64);
    }
    counts
}

/// Parses the output of Jest, Vitest, Mocha and the Node.js test runner.
fn javascript(output: &str) -> TestCounts {
    let mut counts = TestCounts::default();
    each(&JEST, output, |parts| parts.iter().for_each(|text| numbered(&mut counts, text)));
    if counts.total().is_none() {
        each(&MOCHA, output, |parts| {
            if let [count, what] = parts {
                counts.add(what, number(count));
            }
        });
    }
    if counts.total().is_none() {
        each(&TAP, output, |parts| {
            if let [what, count] = parts {
                counts.add(what, number(count));
            }
        });
    }
    if counts.failed.is_some_and(|failed| failed > 0) {
        each(&JS_NAME, output, |parts| parts.iter().for_each(|name| counts.name(name)));
    }
    counts
}
