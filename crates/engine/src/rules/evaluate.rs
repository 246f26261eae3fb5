//! Evaluates rules for a call.
#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;

use serde_json::Value;
use toolcrib_core::{ToolSpec, Verdict};
use toolcrib_shell_parser::MAX_LINE_BYTES;

use super::evaluate_line;
use super::evaluation::{Evaluation, RuleQuery, SegmentEvaluation};
use super::host_pattern::host_of;
use super::index::Index;
use super::matches::{CallerRules, RuleMatches};
use super::operation_classes::{self, COMMANDS, PathAccess, PathUse, SHELL, URLS};
use super::path_pattern::{Extent, MatchKind, Workspace};
use super::rule::RulePattern;
use super::same_command::{command_text, same_command};

/// Known properties of the tool besides its name.
#[derive(Clone, Copy, Default)]
pub(super) struct ToolContext<'a> {
    pub(super) spec: Option<&'a ToolSpec>,
}

impl<'a> ToolContext<'a> {
    fn aliases(self) -> &'a [String] {
        self.spec.map_or(&[], |spec| &spec.aliases)
    }

    fn parameter_aliases(self) -> &'a [(String, String)] {
        self.spec.map_or(&[], |spec| &spec.parameter_aliases)
    }
}

/// Returns the names of a call's operation: its own name, its tool's name, and the tool's aliases.
fn names<'a>(
    asked: &RuleQuery<'a>,
    tool: ToolContext<'a>,
) -> impl Iterator<Item = &'a str> + Clone {
    let own = (asked.tool != asked.operation).then_some(asked.tool);
    std::iter::once(asked.operation).chain(own).chain(tool.aliases().iter().map(String::as_str))
}

/// Evaluates a call, and its command if it runs one.
pub(super) fn evaluate<'a>(
    index: &'a Index,
    rules: &mut CallerRules<'a>,
    asked: &RuleQuery<'a>,
    tool: ToolContext<'a>,
) -> Evaluation {
    let own = evaluate_call(index, rules, asked, tool);
    let operation = operation_classes::canonical(asked.operation);
    let Some(same) = same_command(operation, asked.tool, asked.args) else { return own };
    let workspace = Workspace::new(asked.workspace);
    let judged: Vec<Evaluation> = same
        .commands
        .iter()
        .map(|words| {
            let line = toolcrib_shell_parser::parse(&command_text(words));
            evaluate_line::evaluate(index, rules, &line, &workspace, RuleMatches::default())
        })
        .collect();
    with_command(own, judged, same.is_certain)
}

/// Combines the evaluation of a call with that of its command.
fn with_command(own: Evaluation, judged: Vec<Evaluation>, is_certain: bool) -> Evaluation {
    let all_allow = judged.iter().all(|one| one.verdict == Some(Verdict::Allow));
    let speaks = |one: &Evaluation| match one.verdict {
        Some(Verdict::Allow) => all_allow,
        Some(Verdict::Ask | Verdict::Deny) => one.rule.is_some() || one.always_asks,
        None => false,
    };
    let mut result = own;
    let mut segments = std::mem::take(&mut result.segments);
    for mut one in judged.into_iter().filter(speaks) {
        if one.verdict == Some(Verdict::Deny) && !is_certain {
            one.verdict = Some(Verdict::Ask);
            one.segments.iter_mut().for_each(|part| part.verdict = Some(Verdict::Ask));
            one.reason = format!("it may be what a rule denies: {}", one.reason);
        }
        segments.extend(std::mem::take(&mut one.segments));
        let always_asks = result.always_asks || one.always_asks;
        if one.verdict > result.verdict {
            result = one;
        }
        result.always_asks = always_asks && result.verdict == Some(Verdict::Ask);
    }
    Evaluation { segments, ..result }
}

fn evaluate_call<'a>(
    index: &'a Index,
    rules: &mut CallerRules<'a>,
    asked: &RuleQuery<'a>,
    tool: ToolContext<'a>,
) -> Evaluation {
    let mut found = every_call(index, rules, asked, tool);
    let mut about = names(asked, tool).map(operation_classes::canonical);
    if about.clone().any(|name| name == SHELL) {
        return command_line(index, rules, asked, found);
    }
    let paths = about.find(|name| !operation_classes::uses(name).is_empty());
    if let Some(operation) = paths {
        return files(index, rules, asked, operation, found);
    }
    addresses(index, rules, asked, tool, &mut found);
    let mut judgement = evaluation(rules, found);
    // An external tool that takes a command line: deny rules apply to it, but allow rules cannot
    // cover it, because its interpretation of the line is unknown.
    let runs = tool.spec.is_some_and(|spec| spec.reach.exec);
    if runs && COMMANDS.iter().any(|key| asked.args.get(key).is_some()) {
        let mut every = every_call_named(index, rules, SHELL);
        every.allow = None;
        let line = command_line(index, rules, asked, every);
        let is_stricter = line.verdict > Some(Verdict::Allow).max(judgement.verdict);
        let is_too_long = line.verdict == Some(Verdict::Deny);
        if is_stricter && (line.rule.is_some() || line.always_asks || is_too_long) {
            judgement = line;
        }
    }
    judgement
}

/// Evaluates rules about every call of an operation and about single arguments.
fn every_call<'a>(
    index: &'a Index,
    rules: &mut CallerRules<'a>,
    asked: &RuleQuery<'a>,
    tool: ToolContext<'a>,
) -> RuleMatches {
    let mut found = RuleMatches::default();
    for name in names(asked, tool) {
        if let Some(of) = index.for_operation(name) {
            for number in &of.any {
                rules.add(&mut found, *number, MatchKind::Yes);
            }
            for number in &of.arguments {
                argument(rules, &mut found, *number, asked, tool);
            }
        }
        for number in index.for_patterns(name) {
            argument(rules, &mut found, number, asked, tool);
        }
    }
    found
}

fn every_call_named(index: &Index, rules: &mut CallerRules<'_>, name: &str) -> RuleMatches {
    let mut found = RuleMatches::default();
    for number in index.for_operation(name).iter().flat_map(|of| &of.any) {
        rules.add(&mut found, *number, MatchKind::Yes);
    }
    found
}

fn argument(
    rules: &mut CallerRules<'_>,
    found: &mut RuleMatches,
    number: u32,
    asked: &RuleQuery<'_>,
    tool: ToolContext<'_>,
) {
    let Some(rule) = rules.get(number) else { return };
    let fits = match &rule.what {
        RulePattern::Any => true,
        RulePattern::Argument(pattern) => {
            let strictly = rule.effect != Verdict::Allow;
            pattern.matches(asked.args, tool.parameter_aliases(), strictly)
        }
        RulePattern::Command(_) | RulePattern::Path(_) | RulePattern::Host(_) => false,
    };
    rules.add(found, number, if fits { MatchKind::Yes } else { MatchKind::No });
}

fn command_line<'a>(
    index: &'a Index,
    rules: &mut CallerRules<'a>,
    asked: &RuleQuery<'_>,
    every: RuleMatches,
) -> Evaluation {
    let texts = COMMANDS.iter().filter_map(|key| line_of(asked.args.get(key)?));
    let text = texts.collect::<Vec<_>>().join("\n");
    if text.len() > MAX_LINE_BYTES {
        return too_long(text.len());
    }
    let line = toolcrib_shell_parser::parse(&text);
    let mut judgement =
        evaluate_line::evaluate(index, rules, &line, &Workspace::new(asked.workspace), every);
    if text.trim().is_empty() && judgement.verdict == Some(Verdict::Allow) {
        judgement.verdict = None;
    }
    judgement
}

/// Denies a line that is too long. A person cannot review such a line either, so it does not ask.
fn too_long(bytes: usize) -> Evaluation {
    Evaluation {
        verdict: Some(Verdict::Deny),
        rule: None,
        reason: format!(
            "the command line has {bytes} bytes, and rules are compared with at most \
             {MAX_LINE_BYTES}; write the text into a file and run a command that reads the file"
        ),
        segments: Vec::new(),
        always_asks: false,
    }
}

/// Returns the command line of a value, which is a text or a list of words.
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

/// Evaluates each path of a call: one denied path denies the call, and the call is allowed if every
/// path is.
fn files<'a>(
    index: &'a Index,
    rules: &mut CallerRules<'a>,
    asked: &RuleQuery<'_>,
    operation: &str,
    every: RuleMatches,
) -> Evaluation {
    let Some(numbers) =
        index.for_operation(operation).map(|of| &of.paths).filter(|paths| !paths.is_empty())
    else {
        return evaluation(rules, every);
    };
    let workspace = Workspace::new(asked.workspace);
    let recursive = asked.args.get("recursive") == Some(&Value::Bool(true));
    let mut strictest = RuleMatches { allow: None, ..every };
    let mut allowing = None;
    let mut all_allowed = true;
    let mut segments = Vec::new();
    for one in operation_classes::uses(operation) {
        for (name, text) in texts(asked.args, one) {
            let extent = Extent { within: one.within, tree: one.tree, recursive };
            let subject = workspace.subject(&text, extent);
            let mut found = RuleMatches::default();
            let parts = subject.first_parts(&workspace);
            for number in numbers.candidates(parts.as_deref()) {
                let Some(rule) = rules.get(number) else { continue };
                let RulePattern::Path(pattern) = &rule.what else { continue };
                let fit = match rule.effect {
                    Verdict::Allow if allows(rule.target.group(), one) => {
                        if pattern.may_match(&subject, &workspace) {
                            MatchKind::Yes
                        } else {
                            MatchKind::No
                        }
                    }
                    Verdict::Allow => MatchKind::No,
                    _ if concerns(rule.target.group(), one) => {
                        pattern.match_strictly(&subject, &workspace)
                    }
                    _ => MatchKind::No,
                };
                rules.add(&mut found, number, fit);
            }
            allowing = allowing.or(found.allow);
            all_allowed &= found.allow.is_some();
            let said = found.verdict();
            segments.push(SegmentEvaluation {
                text: format!("{name}: {text}"),
                verdict: said.map(|(verdict, _)| verdict),
                rule: said.and_then(|(_, rule)| rules.rule_ref(rule)).cloned(),
                reason: found.is_uncertain().then(|| PERHAPS_PATH.to_owned()),
            });
            rules.join(&mut strictest, RuleMatches { allow: None, ..found });
        }
    }
    strictest.allow = every.allow.or(allowing.filter(|_| all_allowed));
    let mut judgement = evaluation(rules, strictest);
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

/// Returns whether a deny or ask rule of a group applies to this use of a path.
fn concerns(group: Option<PathAccess>, one: &PathUse) -> bool {
    match group {
        Some(PathAccess::Read) => one.reads,
        Some(PathAccess::Edit) => one.writes,
        Some(PathAccess::Own) | None => true,
    }
}

/// Returns whether an allow rule of a group covers this use of a path.
fn allows(group: Option<PathAccess>, one: &PathUse) -> bool {
    match group {
        Some(PathAccess::Read) => one.reads && !one.writes,
        Some(PathAccess::Edit) => one.writes && !one.destroys,
        Some(PathAccess::Own) | None => true,
    }
}

/// Returns the paths in the arguments of a call, with the name of their argument.
fn texts<'a>(args: &'a Value, one: &PathUse) -> Vec<(&'static str, Cow<'a, str>)> {
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

/// Adds the rules about the hosts that a call connects to.
fn addresses<'a>(
    index: &'a Index,
    rules: &mut CallerRules<'a>,
    asked: &RuleQuery<'a>,
    tool: ToolContext<'a>,
    found: &mut RuleMatches,
) {
    let mut numbers = names(asked, tool)
        .filter_map(|name| index.for_operation(name))
        .flat_map(|of| &of.hosts)
        .peekable();
    if numbers.peek().is_none() {
        return;
    }
    let addresses = URLS.iter().filter_map(|key| asked.args.get(key)?.as_str());
    let hosts: Vec<Option<String>> = addresses.map(host_of).collect();
    for number in numbers {
        let Some(rule) = rules.get(*number) else { continue };
        let RulePattern::Host(pattern) = &rule.what else { continue };
        let strictly = rule.effect != Verdict::Allow;
        let one = |host: &Option<String>| match host {
            Some(host) if pattern.matches(host, strictly) => MatchKind::Yes,
            Some(_) => MatchKind::No,
            None => MatchKind::Could,
        };
        // A call with several addresses is allowed if each of them is.
        let fit = match strictly {
            true => hosts.iter().map(one).max(),
            false => hosts.iter().map(one).min(),
        };
        rules.add(found, *number, fit.unwrap_or(MatchKind::No));
    }
}

/// Converts the matches to an evaluation with a reason.
fn evaluation(rules: &CallerRules<'_>, found: RuleMatches) -> Evaluation {
    let Some((verdict, number)) = found.verdict() else {
        return Evaluation {
            verdict: None,
            rule: None,
            always_asks: false,
            reason: "no rule speaks of it".to_owned(),
            segments: Vec::new(),
        };
    };
    let reason = match verdict {
        Verdict::Allow => "a rule allows it",
        Verdict::Ask if found.is_uncertain() => "it may be what a rule is about",
        Verdict::Ask => "a rule asks",
        Verdict::Deny => "a rule denies it",
    };
    Evaluation {
        verdict: Some(verdict),
        rule: rules.rule_ref(number).cloned(),
        always_asks: false,
        reason: reason.to_owned(),
        segments: Vec::new(),
    }
}
