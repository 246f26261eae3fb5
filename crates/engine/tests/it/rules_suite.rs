//! Command lines evaluated by rules: the data file, and properties of every line in it.

use serde_json::{Value, json};
use toolcrib_core::Verdict;
use toolcrib_engine::rules::{Evaluation, Layer, RuleQuery, RuleSet, RuleSource, RuleText};

const SUITE: &str = include_str!("rules_suite.txt");

/// Rules and the lines that are evaluated with them.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) rules: Vec<RuleSource>,
    pub(crate) lines: Vec<(Option<Verdict>, String)>,
}

pub(crate) fn written(effect: Verdict, rule: &str) -> RuleSource {
    let text: RuleText = serde_json::from_value(json!({"effect": effect, "rule": rule})).unwrap();
    RuleSource { text, layer: Layer::User, origin: format!("rules.toml:{rule}") }
}

pub(crate) fn groups(suite: &'static str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut in_rules = true;
    for line in
        suite.lines().filter(|line| !line.is_empty() && !line.starts_with("# ") && *line != "#")
    {
        if let Some(name) = line.strip_prefix("== ") {
            groups.push(Group { name, rules: Vec::new(), lines: Vec::new() });
            in_rules = true;
        } else if line == "--" {
            in_rules = false;
        } else if in_rules {
            let (effect, rule) = line.split_once(' ').unwrap();
            let (rule, is_unsafe) = match rule.strip_suffix(" unsafe") {
                Some(rule) => (rule, true),
                None => (rule, false),
            };
            let mut rule = written(effect.parse().unwrap(), rule);
            rule.text.is_unsafe = is_unsafe;
            groups.last_mut().unwrap().rules.push(rule);
        } else {
            let (verdict, command) = line.split_once(" |").unwrap_or_else(|| panic!("{line}"));
            let verdict = (verdict != "none").then(|| verdict.parse().unwrap());
            let command = command.strip_prefix(' ').unwrap_or(command);
            let command = command.replace('⏎', "\n").replace('␍', "\r").replace('⇥', "\t");
            groups.last_mut().unwrap().lines.push((verdict, command));
        }
    }
    groups
}

pub(crate) fn judge(rules: &RuleSet, command: &str) -> Evaluation {
    judge_args(rules, "shell", &json!({"command": command}))
}

pub(crate) fn judge_args(rules: &RuleSet, tool: &str, args: &Value) -> Evaluation {
    rules.evaluate(&RuleQuery {
        operation: tool,
        tool,
        args,
        agent: "coder",
        channel: "chat",
        workspace: "/a-workspace-that-is-not-there",
        now_ms: 0,
    })
}

/// Strictness where the default is to allow: there silence is as mild as allowing.
fn strictness(verdict: Option<Verdict>) -> Verdict {
    verdict.unwrap_or(Verdict::Allow)
}

#[test]
fn every_line_of_the_suite_is_judged_as_it_should_be() {
    let (mut lines, mut wrong, mut laxer) = (0, Vec::new(), 0);
    for group in groups(SUITE) {
        let rules =
            RuleSet::compile(group.rules).unwrap_or_else(|f| panic!("{}: {f:?}", group.name));
        for (expected, command) in group.lines {
            lines += 1;
            let judged = judge(&rules, &command);
            if judged.verdict != expected {
                // No verdict leaves it to the default, which may allow or deny: each of the other
                // is a step.
                let is_unsafe = strictness(judged.verdict) < strictness(expected)
                    || (judged.verdict == Some(Verdict::Allow) && expected.is_none());
                laxer += usize::from(is_unsafe);
                wrong.push(format!(
                    "{}{}: {command:?} is {:?}, should be {expected:?}: {}",
                    if is_unsafe { "UNSAFE " } else { "" },
                    group.name,
                    judged.verdict,
                    judged.reason
                ));
            }
        }
    }
    assert!(lines >= 300, "{lines} lines");
    assert!(wrong.is_empty(), "{} of {lines}, {laxer} unsafe:\n{}", wrong.len(), wrong.join("\n"));
}

/// Other spellings of the same command.
const DRESSES: &[&str] = &[
    "sudo {}",
    "env A=b {}",
    "A=b {}",
    "timeout 5 {}",
    "nohup {}",
    "nice -n 3 {}",
    "({})",
    "{ {}; }",
    "true && {}",
    "{}; true",
    "true | {}",
    "! {}",
    "echo $({})",
    "echo \"`{}`\"",
    "if true; then {}; fi",
    "f() { {}; }; f",
    "cat <({})",
    "time {}",
    "{} > /dev/null",
    "{} &",
];

#[test]
fn another_dress_never_makes_a_line_laxer() {
    for group in groups(SUITE) {
        let rules = RuleSet::compile(group.rules).unwrap();
        for (_, command) in &group.lines {
            // Only lines that can be part of another command.
            let fits = !command.contains(['\n', '#'])
                && toolcrib_shell_parser::parse(command).fault.is_none();
            let begins_plain = command.starts_with(|c: char| c.is_ascii_lowercase())
                && ![
                    "if ", "for ", "while ", "until ", "case ", "f()", "function", "select",
                    "coproc", "time", "a=",
                ]
                .iter()
                .any(|word| command.starts_with(word));
            let is_single = toolcrib_shell_parser::parse(command).segments.len() == 1;
            if !fits || !begins_plain || !is_single || command.ends_with('&') {
                continue;
            }
            let plain = judge(&rules, command);
            for dress in DRESSES {
                if dress.contains('`') && command.contains(['`', '"', '\\', '$']) {
                    continue;
                }
                let dressed = dress.replace("{}", command);
                let judged = judge(&rules, &dressed);
                assert!(
                    strictness(judged.verdict) >= strictness(plain.verdict)
                        && (plain.verdict.is_some() || judged.verdict != Some(Verdict::Allow)),
                    "{}: {command:?} is {:?}, but {dressed:?} is {:?}",
                    group.name,
                    plain.verdict,
                    judged.verdict
                );
            }
            let quoted = format!("bash -c '{}'", command.replace('\'', "'\\''"));
            let judged = judge(&rules, &quoted);
            assert!(strictness(judged.verdict) >= strictness(plain.verdict), "{quoted}");
        }
    }
}

#[test]
fn one_more_deny_rule_never_makes_a_line_laxer() {
    let more: Vec<RuleSource> = groups(SUITE)
        .into_iter()
        .flat_map(|group| group.rules)
        .filter(|rule| rule.text.effect != Verdict::Allow)
        // Enough of them to be many kinds, few enough to be quick.
        .step_by(4)
        .map(|rule| written(Verdict::Deny, &rule.text.rule))
        .collect();
    for group in groups(SUITE) {
        let before = RuleSet::compile(group.rules.clone()).unwrap();
        let verdicts: Vec<_> =
            group.lines.iter().map(|(_, command)| judge(&before, command).verdict).collect();
        for rule in &more {
            let mut rules = group.rules.clone();
            rules.push(rule.clone());
            // One that is there already, or shadows an allow rule, is refused.
            let Ok(after) = RuleSet::compile(rules) else { continue };
            for ((_, command), before) in group.lines.iter().zip(&verdicts) {
                let judged = judge(&after, command).verdict;
                assert!(
                    strictness(judged) >= strictness(*before),
                    "{} {command:?}",
                    rule.text.rule
                );
                assert!(before.is_some() || judged != Some(Verdict::Allow), "{command:?}");
            }
        }
    }
}

#[test]
fn an_untrusted_workspace_never_loosens() {
    for group in groups(SUITE) {
        let nothing_allows = |rules: &[RuleSource]| {
            let strict = rules.iter().filter(|rule| rule.text.effect != Verdict::Allow);
            RuleSet::compile(strict.cloned().collect()).unwrap()
        };
        let without = nothing_allows(&group.rules);
        let mut rules = group.rules.clone();
        for rule in &mut rules {
            rule.layer = Layer::Untrusted;
        }
        let untrusted = RuleSet::compile(rules).unwrap();
        for (_, command) in &group.lines {
            let judged = judge(&untrusted, command).verdict;
            assert_ne!(judged, Some(Verdict::Allow), "{command:?}");
            assert_eq!(judged, judge(&without, command).verdict, "{command:?}");
        }
    }
}
