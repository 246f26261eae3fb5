//! Checks of rules when they are loaded: rules that can never match, that allow more than they seem
//! to, or that fail their own examples.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_core::Verdict;

use super::dangerous_patterns;
use super::evaluation::RuleQuery;
use super::operation_classes::{self, PathAccess, SHELL, SpecifierKind};
use super::rule::{Rule, RulePattern};
use super::rule_scope::RuleScope;
use super::rule_set::RuleSet;
use super::rule_source::{Layer, RuleError, RuleSource};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The rule is accepted, with a note for its author.
    Warning,
    /// The rule, and with it its file, is rejected.
    Error,
}

/// A finding about a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Severity.
    pub severity: Severity,
    /// Location of the rule: `PATH:LINE`.
    pub origin: String,
    /// The rule as written.
    pub rule: String,
    /// The problem, and the correct spelling.
    pub what: String,
}

impl From<Finding> for RuleError {
    fn from(finding: Finding) -> Self {
        Self { origin: finding.origin, rule: finding.rule, what: finding.what }
    }
}

/// Folders of the root that people mean if they write paths such as `/etc/passwd`.
const OF_ROOT: &[&str] = &["etc", "usr", "home", "root", "proc", "sys", "dev", "boot", "Users"];

/// Note that no sandbox can hide this data from a program that may read a repository.
const GIT_KEEPS: &str = "programs in a sandbox find nothing there, but git keeps what was committed, and they can read that from the objects of the repository; your own tools and hooks, and commands that you allow without a sandbox, are not confined";

/// Returns the findings about rules, and the rules that can be parsed.
pub(super) fn check(written: &[RuleSource], known: Option<&[String]>) -> (Vec<Finding>, Vec<Rule>) {
    let mut findings = Vec::new();
    let mut rules = Vec::with_capacity(written.len());
    let mut find = |written: &RuleSource, severity, what: String| {
        let (origin, rule) = (written.origin.clone(), written.text.rule.clone());
        findings.push(Finding { severity, origin, rule, what });
    };
    let now_ms = Timestamp::now().as_millisecond();
    // For rules about the same calls: effect, layer and location.
    let mut about: HashMap<String, Vec<usize>> = HashMap::new();
    let mut read: Vec<(usize, Rule)> = Vec::with_capacity(written.len());
    for (at, one) in written.iter().enumerate() {
        let rule = match Rule::parse(one, known) {
            Ok(rule) => rule,
            Err(what) => {
                find(one, Severity::Error, what);
                continue;
            }
        };
        if let Some(what) = dangerous(&rule) {
            find(one, Severity::Error, what);
        }
        for what in examples(one, &rule) {
            find(one, Severity::Error, what);
        }
        for what in remarks(one, &rule, now_ms) {
            find(one, Severity::Warning, what);
        }
        // An observed rule is checked but does not interact with others.
        if one.text.is_observed {
            continue;
        }
        about.entry(rule.about()).or_default().push(read.len());
        read.push((at, rule));
    }
    for same in about.values().filter(|same| same.len() > 1) {
        let same: Vec<&(usize, Rule)> = same.iter().filter_map(|at| read.get(*at)).collect();
        for (severity, at, what) in check_interactions(written, &same, now_ms) {
            if let Some(one) = written.get(at) {
                find(one, severity, what);
            }
        }
    }
    rules.extend(read.into_iter().map(|(_, rule)| rule));
    let line: HashMap<&str, usize> =
        written.iter().enumerate().map(|(at, one)| (one.origin.as_str(), at)).collect();
    findings.sort_by_key(|finding| line.get(finding.origin.as_str()).copied());
    (findings, rules)
}

/// Adds findings about rules that apply to the same calls.
fn check_interactions(
    written: &[RuleSource],
    same: &[&(usize, Rule)],
    now_ms: i64,
) -> Vec<(Severity, usize, String)> {
    let mut said = Vec::new();
    let origin = |at: usize| written.get(at).map(|one| one.origin.as_str()).unwrap_or_default();
    let mut first: HashMap<(Verdict, Layer, &RuleScope), usize> = HashMap::new();
    for (at, rule) in same {
        let key = (rule.effect, rule.layer, &rule.scope);
        match first.get(&key) {
            Some(before) => {
                let what =
                    format!("the same rule exists at {}; remove one of them", origin(*before));
                said.push((Severity::Error, *at, what));
            }
            None => {
                first.insert(key, *at);
            }
        }
    }
    for (at, rule) in same.iter().filter(|(_, rule)| rule.effect == Verdict::Allow) {
        let shadow = same.iter().find(|(_, deny)| {
            deny.effect == Verdict::Deny
                && !deny.scope.has_ended(now_ms)
                && deny.scope.holds_wherever(&rule.scope)
        });
        if let Some((by, deny)) = shadow {
            let severity =
                if deny.layer == rule.layer { Severity::Error } else { Severity::Warning };
            let what = format!(
                "it never allows anything: the deny rule at {} is about the same calls, and deny wins; remove one of them",
                origin(*by)
            );
            said.push((severity, *at, what));
        }
    }
    said
}

fn dangerous(rule: &Rule) -> Option<String> {
    if rule.effect != Verdict::Allow || rule.is_unsafe {
        return None;
    }
    match &rule.what {
        RulePattern::Any if rule.target.names.iter().any(|name| name == SHELL) => Some(
            "it allows every command line; name the commands, as in Bash(git status:*), or say unsafe = true"
                .to_owned(),
        ),
        RulePattern::Command(pattern) => dangerous_patterns::danger_of(pattern),
        RulePattern::Host(pattern) if pattern.is_every() => Some(
            "it allows every host; write WebFetch if that is meant, or name the hosts, as in WebFetch(domain:example.com)"
                .to_owned(),
        ),
        _ => None,
    }
}

fn remarks(written: &RuleSource, rule: &Rule, now_ms: i64) -> Vec<String> {
    let mut said = Vec::new();
    if rule.scope.has_ended(now_ms) {
        let end = written.text.expires.as_deref().unwrap_or_default();
        said.push(format!("it has ended ({end}), so it matches nothing any more; remove it"));
    }
    if let RulePattern::Command(pattern) = &rule.what
        && rule.effect == Verdict::Allow
        && !rule.is_unsafe
    {
        said.extend(dangerous_patterns::warning(pattern));
    }
    if let RulePattern::Path(_) = &rule.what
        && let Some((_, specifier)) = written.text.rule.split_once('(')
        && let Some(rest) = specifier.strip_prefix('/').filter(|rest| !rest.starts_with('/'))
        && OF_ROOT.contains(&rest.split(['/', ')']).next().unwrap_or_default())
    {
        said.push(format!(
            "one / begins at the folder of the rule file; for the root of the disk write //{}",
            rest.trim_end_matches(')')
        ));
    }
    if rule.denies_paths() && rule.target.group() == Some(PathAccess::Read) {
        said.push(GIT_KEEPS.to_owned());
    }
    if rule.effect == Verdict::Allow && rule.layer == Layer::Untrusted {
        said.push(
            "this installation does not trust the workspace, so the engine ignores its allow rules; read them, then run \"toolcrib trust\" in its folder".to_owned(),
        );
    }
    said
}

/// Returns the examples that a rule fails.
fn examples(written: &RuleSource, rule: &Rule) -> Vec<String> {
    let text = &written.text;
    if text.matches.is_empty() && text.not_match.is_empty() {
        return Vec::new();
    }
    // The rule is evaluated alone, for all callers and as if it were in force.
    let mut alone = rule.clone();
    alone.scope = RuleScope::default();
    alone.layer = Layer::Managed;
    let set = RuleSet::of_rules(vec![alone]);
    let expected = [(&text.matches, true), (&text.not_match, false)];
    let mut failed = Vec::new();
    for (examples, must) in expected {
        for example in examples {
            let verdict = verdict_of(&set, rule, example);
            let does = verdict == Some(rule.effect);
            let may = verdict.is_some() && rule.effect != Verdict::Allow;
            if must && !does {
                failed.push(format!("it does not match its own example {example:?} (match)"));
            } else if !must && (does || may) {
                failed.push(format!("it matches its own counter-example {example:?} (not_match)"));
            }
        }
    }
    failed
}

fn verdict_of(set: &RuleSet, rule: &Rule, example: &str) -> Option<Verdict> {
    let Some(args) = args_of(rule, example) else {
        // Without a specifier, the examples are names.
        let covers = [example, operation_classes::canonical(example)]
            .into_iter()
            .chain(crate::tool_names::remote_spelling(example).as_deref())
            .any(|name| rule.target.covers(name));
        return covers.then_some(rule.effect);
    };
    let name = rule.target.names.first().map_or("", String::as_str);
    // Rules that allow changes do not cover deletion, so the example is checked as a write.
    let operation = if rule.target.names.len() > 1
        && operation_classes::uses(name).iter().any(|one| one.writes)
    {
        "write_file"
    } else {
        name
    };
    let tool = operation.split('.').next().unwrap_or(operation);
    set.evaluate(&RuleQuery {
        operation,
        tool,
        args: &args,
        agent: "",
        channel: "chat",
        workspace: "",
        now_ms: 0,
    })
    .verdict
}

/// Returns the arguments of the call that an example represents; `None` if the example is the name
/// of a tool.
fn args_of(rule: &Rule, example: &str) -> Option<Value> {
    Some(match (&rule.what, rule.target.subject) {
        (RulePattern::Command(_), _) | (RulePattern::Any, SpecifierKind::Command) => {
            json!({"command": example})
        }
        (RulePattern::Path(_), _) => {
            let name = rule.target.names.first().map_or("", String::as_str);
            let uses = operation_classes::uses(name);
            let given = uses.iter().map(|one| {
                (one.arguments.first().copied().unwrap_or("path").to_owned(), example.into())
            });
            Value::Object(given.collect())
        }
        (RulePattern::Host(_), _) => {
            let host = example.strip_prefix("domain:").unwrap_or(example);
            let scheme = if host.contains("://") { "" } else { "https://" };
            json!({"url": format!("{scheme}{host}")})
        }
        (RulePattern::Argument(pattern), _) => {
            let key = pattern.keys.first()?;
            let value = example.strip_prefix(&format!("{key}:")).unwrap_or(example);
            json!({key: value})
        }
        (RulePattern::Any, _) => return None,
    })
}

#[cfg(test)]
mod tests;
