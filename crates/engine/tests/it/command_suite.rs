//! Coverage of rules on commands: the table of command lines, and the time for long lines.

use std::time::{Duration, Instant};

use toolcrib_core::Verdict;
use toolcrib_engine::rules::{MAX_COMMAND_LINE_BYTES, RuleSet};

use crate::rules_suite::{groups, judge, written};

const SUITE: &str = include_str!("command_suite.txt");

#[test]
fn every_line_of_the_table_has_its_verdict() {
    let (mut lines, mut exact, mut stricter, mut unsafe_lines) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for mut group in groups(SUITE) {
        group.rules.iter_mut().for_each(|rule| rule.text.is_unsafe = true);
        let rules =
            RuleSet::compile(group.rules).unwrap_or_else(|f| panic!("{}: {f:?}", group.name));
        for (expected, command) in group.lines {
            let judged = judge(&rules, &command);
            // A line that no rule covers asks.
            let verdict = judged.verdict.unwrap_or(Verdict::Ask);
            let expected = expected.unwrap();
            lines += 1;
            exact += usize::from(verdict == expected);
            stricter += usize::from(verdict > expected);
            unsafe_lines += usize::from(verdict < expected);
            if verdict != expected {
                wrong.push(format!(
                    "{}: {command:?} is {verdict}, not {expected}: {}",
                    group.name, judged.reason
                ));
            }
        }
    }
    let report = format!(
        "{lines} lines, {exact} exact, {stricter} stricter, {unsafe_lines} unsafe\n{}",
        wrong.join("\n")
    );
    assert!(lines >= 273 && unsafe_lines == 0 && stricter <= 5, "{report}");
}

/// The commands are repeated to the longest line that is judged (a longer one is denied at once); a
/// quadratic step would take minutes.
#[test]
fn long_lines_take_time_in_proportion() {
    let rules: Vec<_> = ["Bash(timeout:*)", "Bash(find:*)", "Bash(tar:*)"]
        .into_iter()
        .map(|rule| {
            let mut rule = written(Verdict::Allow, rule);
            rule.text.is_unsafe = true;
            rule
        })
        .chain([written(Verdict::Deny, "Bash(rm:*)")])
        .collect();
    let rules = RuleSet::compile(rules).unwrap();
    for (head, part) in [
        ("find .", " -name x"),
        ("find .", " -exec tar -I x ;"),
        ("tar", " -I 'a b'"),
        ("ssh host", " tar find git"),
        ("rm -r", " ~/x"),
        ("ssh host", " rm -r ~/x"),
        ("awk '", "{print $1}"),
        ("sed '", "s/a/b/;"),
        ("make", " X=y"),
        ("curl", " -o x"),
    ] {
        let end = if head.ends_with('\'') { "'" } else { "" };
        let room = MAX_COMMAND_LINE_BYTES - head.len() - end.len();
        let line = format!("{head}{}{end}", part.repeat(room / part.len()));
        let begun = Instant::now();
        judge(&rules, &line);
        assert!(begun.elapsed() < Duration::from_secs(20), "{head}{part}: {:?}", begun.elapsed());
    }
}
