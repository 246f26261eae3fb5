//! What rules say of a call.
#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;

use serde_json::Value;
use toolcrib_core::{ToolSpec, Verdict};

use super::class_table::{self, COMMANDS, Group, SHELL, URLS, Use};
use super::found::{Found, Rules};
use super::host::host_of;
use super::index::Index;
use super::judge_line;
use super::judgement::{Asked, Judgement, SegmentJudgement};
use super::path::{Extent, Fit, Workspace};
use super::rule::What;

/// What is known of the tool beside its name.
#[derive(Clone, Copy, Default)]
pub(super) struct Tool<'a> {
    pub(super) spec: Option<&'a ToolSpec>,
}

impl<'a> Tool<'a> {
    fn aliases(self) -> &'a [String] {
        self.spec.map_or(&[], |spec| &spec.aliases)
    }

    fn parameter_aliases(self) -> &'a [(String, String)] {
        self.spec.map_or(&[], |spec| &spec.parameter_aliases)
    }
}

/// Names of a call's operation: its own, its tool's, the tool's other ones.
fn names<'a>(asked: &Asked<'a>, tool: Tool<'a>) -> impl Iterator<Item = &'a str> + Clone {
    let own = (asked.tool != asked.operation).then_some(asked.tool);
    std::iter::once(asked.operation).chain(own).chain(tool.aliases().iter().map(String::as_str))
}

/// Judges a call.
pub(super) fn judge<'a>(
    index: &'a Index,
    rules: &mut Rules<'a>,
    asked: &Asked<'a>,
    tool: Tool<'a>,
) -> Judgement {
    let mut found = every_call(index, rules, asked, tool);
    let mut about = names(asked, tool).map(class_table::canonical);
    if about.clone().any(|name| name == SHELL) {
        return command_line(index, rules, asked, found);
    }
    let paths = about.find(|name| !class_table::uses(name).is_empty());
    if let Some(operation) = paths {
        return files(index, rules, asked, operation, found);
    }
    addresses(index, rules, asked, tool, &mut found);
    let mut judgement = said(rules, found);
    // A program of somebody's that takes a command line: what is denied stays denied there, but nobody knows what it would do with the rest.
    let runs = tool.spec.is_some_and(|spec| spec.reach.exec);
    if runs && COMMANDS.iter().any(|key| asked.args.get(key).is_some()) {
        let mut every = every_call_named(index, rules, SHELL);
        every.allow = None;
        let line = command_line(index, rules, asked, every);
        let is_stricter = line.verdict > Some(Verdict::Allow).max(judgement.verdict);
        if is_stricter && line.rule.is_some() {
            judgement = line;
        }
    }
    judgement
}

/// Rules that are about every call of an operation, and about single arguments.
fn every_call<'a>(
    index: &'a Index,
    rules: &mut Rules<'a>,
    asked: &Asked<'a>,
    tool: Tool<'a>,
) -> Found {
    let mut found = Found::default();
    for name in names(asked, tool) {
        if let Some(of) = index.of(name) {
            for number in &of.any {
                rules.take(&mut found, *number, Fit::Yes);
            }
            for number in &of.arguments {
                argument(rules, &mut found, *number, asked, tool);
            }
        }
        for number in index.of_pattern(name) {
            argument(rules, &mut found, number, asked, tool);
        }
    }
    found
}

fn every_call_named(index: &Index, rules: &mut Rules<'_>, name: &str) -> Found {
    let mut found = Found::default();
    for number in index.of(name).iter().flat_map(|of| &of.any) {
        rules.take(&mut found, *number, Fit::Yes);
    }
    found
}

fn argument(
    rules: &mut Rules<'_>,
    found: &mut Found,
    number: u32,
    asked: &Asked<'_>,
    tool: Tool<'_>,
) {
    let Some(rule) = rules.get(number) else { return };
    let fits = match &rule.what {
        What::Any => true,
        What::Argument(pattern) => {
            let strictly = rule.effect != Verdict::Allow;
            pattern.matches(asked.args, tool.parameter_aliases(), strictly)
        }
        What::Command(_) | What::Path(_) | What::Host(_) => false,
    };
    rules.take(found, number, if fits { Fit::Yes } else { Fit::No });
}

fn command_line<'a>(
    index: &'a Index,
    rules: &mut Rules<'a>,
    asked: &Asked<'_>,
    every: Found,
) -> Judgement {
    let texts = COMMANDS.iter().filter_map(|key| line_of(asked.args.get(key)?));
    let text = texts.collect::<Vec<_>>().join("\n");
    let line = toolcrib_shell::parse(&text);
    let mut judgement =
        judge_line::judge(index, rules, &line, &Workspace::new(asked.workspace), every);
    if text.trim().is_empty() && judgement.verdict == Some(Verdict::Allow) {
        judgement.verdict = None;
    }
    judgement
}

/// A command line, or words that become one.
fn line_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Array(words) => {
            let quoted = words.iter().map(|word| {
                let text = word.as_str().map_or_else(|| word.to_string(), str::to_owned);
                format!("'{}'", text.replace('\'', "'\\''"))
            });
            Some(quoted.collect::<Vec<_>>().join(" ").into())
        }
        Value::Null => None,
        other => Some(other.to_string().into()),
    }
}

/// Judges each path of a call: one denied path denies the call, and it is allowed when every path is.
fn files<'a>(
    index: &'a Index,
    rules: &mut Rules<'a>,
    asked: &Asked<'_>,
    operation: &str,
    every: Found,
) -> Judgement {
    let Some(numbers) = index.of(operation).map(|of| &of.paths).filter(|paths| !paths.is_empty())
    else {
        return said(rules, every);
    };
    let workspace = Workspace::new(asked.workspace);
    let recursive = asked.args.get("recursive") == Some(&Value::Bool(true));
    let mut strictest = Found { allow: None, ..every };
    let mut allowing = None;
    let mut all_allowed = true;
    let mut segments = Vec::new();
    for one in class_table::uses(operation) {
        for (name, text) in texts(asked.args, one) {
            let extent = Extent { within: one.within, tree: one.tree, recursive };
            let subject = workspace.subject(&text, extent);
            let mut found = Found::default();
            let parts = subject.first_parts(&workspace);
            for number in numbers.about(parts.as_deref()) {
                let Some(rule) = rules.get(number) else { continue };
                let What::Path(pattern) = &rule.what else { continue };
                let fit = match rule.effect {
                    Verdict::Allow if allows(rule.target.group(), one) => {
                        if pattern.fits_loosely(&subject, &workspace) { Fit::Yes } else { Fit::No }
                    }
                    Verdict::Allow => Fit::No,
                    _ if concerns(rule.target.group(), one) => {
                        pattern.fits_strictly(&subject, &workspace)
                    }
                    _ => Fit::No,
                };
                rules.take(&mut found, number, fit);
            }
            allowing = allowing.or(found.allow);
            all_allowed &= found.allow.is_some();
            let said = found.verdict();
            segments.push(SegmentJudgement {
                text: format!("{name}: {text}"),
                verdict: said.map(|(verdict, _)| verdict),
                rule: said.and_then(|(_, rule)| rules.named(rule)).cloned(),
                reason: found.is_perhaps().then(|| PERHAPS_PATH.to_owned()),
            });
            rules.join(&mut strictest, Found { allow: None, ..found });
        }
    }
    strictest.allow = every.allow.or(allowing.filter(|_| all_allowed));
    let mut judgement = said(rules, strictest);
    if let Some(deciding) = segments.iter().find(|segment| {
        segment.verdict == judgement.verdict
            && segment.rule.is_some()
            && segment.rule == judgement.rule
    }) {
        judgement.reason = match (&deciding.reason, judgement.verdict) {
            (Some(why), _) => format!("{} ({why})", deciding.text),
            (None, Some(Verdict::Allow)) => "rules allow every path of it".to_owned(),
            (None, _) => format!("a rule says so of {}", deciding.text),
        };
    }
    judgement.segments = segments;
    judgement
}

const PERHAPS_PATH: &str = "it may hold, or lead to, what the rule is about";

/// Whether a deny or ask rule of a group is about this use of a path.
fn concerns(group: Option<Group>, one: &Use) -> bool {
    match group {
        Some(Group::Read) => one.reads,
        Some(Group::Edit) => one.writes,
        Some(Group::Own) | None => true,
    }
}

/// Whether an allow rule of a group covers this use of a path.
fn allows(group: Option<Group>, one: &Use) -> bool {
    match group {
        Some(Group::Read) => one.reads && !one.writes,
        Some(Group::Edit) => one.writes && !one.destroys,
        Some(Group::Own) | None => true,
    }
}

/// The paths that a call gives, with the name of their argument.
fn texts<'a>(args: &'a Value, one: &Use) -> Vec<(&'static str, Cow<'a, str>)> {
    let mut found: Vec<(&'static str, Cow<'a, str>)> = Vec::new();
    for name in one.arguments {
        match args.get(name) {
            Some(Value::String(path)) => found.push((name, path.into())),
            Some(Value::Array(paths)) => {
                found.extend(
                    paths.iter().filter_map(Value::as_str).map(|path| (*name, path.into())),
                );
            }
            _ => {}
        }
    }
    if found.is_empty()
        && let (Some(default), Some(name)) = (one.default, one.arguments.first())
    {
        found.push((name, default.into()));
    }
    found
}

/// Adds what rules say of the host that a call goes to.
fn addresses<'a>(
    index: &'a Index,
    rules: &mut Rules<'a>,
    asked: &Asked<'a>,
    tool: Tool<'a>,
    found: &mut Found,
) {
    let mut numbers =
        names(asked, tool).filter_map(|name| index.of(name)).flat_map(|of| &of.hosts).peekable();
    if numbers.peek().is_none() {
        return;
    }
    let addresses = URLS.iter().filter_map(|key| asked.args.get(key)?.as_str());
    let hosts: Vec<Option<String>> = addresses.map(host_of).collect();
    for number in numbers {
        let Some(rule) = rules.get(*number) else { continue };
        let What::Host(pattern) = &rule.what else { continue };
        let strictly = rule.effect != Verdict::Allow;
        let one = |host: &Option<String>| match host {
            Some(host) if pattern.matches(host, strictly) => Fit::Yes,
            Some(_) => Fit::No,
            None => Fit::Could,
        };
        // A call with several addresses is allowed when each is.
        let fit = match strictly {
            true => hosts.iter().map(one).max(),
            false => hosts.iter().map(one).min(),
        };
        rules.take(found, *number, fit.unwrap_or(Fit::No));
    }
}

/// What was found, in words.
fn said(rules: &Rules<'_>, found: Found) -> Judgement {
    let Some((verdict, number)) = found.verdict() else {
        return Judgement {
            verdict: None,
            rule: None,
            reason: "no rule speaks of it".to_owned(),
            segments: Vec::new(),
        };
    };
    let reason = match verdict {
        Verdict::Allow => "a rule allows it",
        Verdict::Ask if found.is_perhaps() => "it may be what a rule is about",
        Verdict::Ask => "a rule asks",
        Verdict::Deny => "a rule denies it",
    };
    Judgement {
        verdict: Some(verdict),
        rule: rules.named(number).cloned(),
        reason: reason.to_owned(),
        segments: Vec::new(),
    }
}
