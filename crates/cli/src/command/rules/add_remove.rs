//! `toolcrib rules add`, `rm` and `enforce`: changes of rule files.

use std::path::PathBuf;

use serde_json::{Value, json};
use toolcrib_app::rule_files::RulesError;
use toolcrib_app::rules::{Layer, RuleSet, RuleText};
use toolcrib_core::Verdict;
use toolcrib_ops::rules::{
    self, AddRulesRequest, NumberedRule, RuleName, RuleRow, RulesChanged, layer_word,
};
use toolcrib_ops::{OpError, Resource};

use super::rules_context::{RulesContext, path_text};
use crate::clap_args::{RulesAdd, RulesEnforce, RulesRm, RulesWorkspaceArgs};
use crate::output::{self, Failure};
use crate::terminal::escape_to_line;

pub(super) fn add(command: &RulesAdd, json: bool) -> Result<u8, Failure> {
    let workspace = match command.workspace.as_slice() {
        [_, _, ..] if command.project => {
            return Err(Failure::usage(
                "--project writes into the file of one workspace; name one",
            ));
        }
        [only] if command.project => Some(only.clone()),
        _ => None,
    };
    let here = RulesContext::load(&RulesWorkspaceArgs { workspace })?;
    let place = here.file_to_edit(command.project)?;
    let rule = rule_from_args(command)?;
    let known = here.tool_names()?;
    let request = AddRulesRequest {
        place: place.clone(),
        rules: vec![rule.clone()],
        known: &known,
        is_read: None,
    };
    let changed = rules::add(request)?.reply()?;
    for remark in &changed.remarks {
        output::warn(&escape_to_line(&format!("{}: {}", remark.rule, remark.what)), json);
    }
    let row = added_row(&changed, &rule);
    let line = row.map_or_else(|| path_text(&place.path), |row| row.origin.clone());
    if json {
        let one = json!({"added": changed.changed, "effect": rule.effect, "rule": rule.rule, "origin": line, "layer": place.layer});
        output::print_json(&with_fields(&changed, &one), true)?;
        return Ok(0);
    }
    let what = format!("{} {}", rule.effect, escape_to_line(&rule.rule));
    match changed.changed {
        true => output::eprint_line(&format!("toolcrib: added: {what} ({line})")),
        false => output::eprint_line(&format!("toolcrib: it is there already: {what} ({line})")),
    }
    if rule.is_observed && changed.changed {
        output::eprint_line(
            "toolcrib: it decides nothing yet: `toolcrib rules replay` shows what it would have decided, `toolcrib rules enforce` puts it in force",
        );
    }
    if place.layer == Layer::Untrusted && rule.effect == Verdict::Allow {
        output::eprint_line(
            "toolcrib: it has no effect yet: name the workspace in `trusted_workspaces` of config.toml if you trust what is in it",
        );
    }
    Ok(0)
}

/// Adds fields about the only rule of the command to the reply.
fn with_fields(changed: &RulesChanged, one: &Value) -> Value {
    let mut all = json!(changed);
    if let (Some(all), Some(one)) = (all.as_object_mut(), one.as_object()) {
        all.extend(one.clone());
    }
    all
}

/// Returns the row of the rule that was just added.
fn added_row<'a>(changed: &'a RulesChanged, rule: &RuleText) -> Option<&'a RuleRow> {
    let mut rows = changed.rules.iter().rev();
    rows.find(|row| row.effect == rule.effect && row.rule.trim() == rule.rule)
}

fn rule_from_args(command: &RulesAdd) -> Result<RuleText, Failure> {
    let folder = |path: &PathBuf| {
        let path = path
            .canonicalize()
            .map_err(|error| Failure::usage(format!("--workspace {}: {error}", path.display())))?;
        Ok(path_text(&path))
    };
    let limits: &[PathBuf] = if command.project { &[] } else { &command.workspace };
    Ok(RuleText {
        effect: command.effect,
        rule: command.rule.trim().to_owned(),
        agents: command.agent.clone(),
        channels: command.channel.clone(),
        workspaces: limits.iter().map(folder).collect::<Result<_, Failure>>()?,
        reason: command.reason.clone(),
        matches: command.matches.clone(),
        not_match: command.not_match.clone(),
        expires: command.expires.clone(),
        is_unsafe: command.is_unsafe,
        is_observed: command.is_observed,
    })
}

/// Renders the rule for people: its effect, its text and its position.
fn rule_text(target: &NumberedRule) -> String {
    let rule = &target.rule;
    format!("{} {} ({})", rule.text.effect, escape_to_line(&rule.text.rule), rule.origin)
}

pub(super) fn rm(command: &RulesRm, json: bool) -> Result<u8, Failure> {
    let here = RulesContext::load(&command.workspace_args)?;
    let name = match command.rule.parse() {
        Ok(number) => RuleName::Number(number),
        Err(_) => RuleName::Text(command.rule.clone()),
    };
    let target = NumberedRule::find(&here.rule_files(), &name, command.project)?;
    let (what, rule, place) = (rule_text(&target), target.rule.clone(), target.place.clone());
    target.remove(None)?;
    if json {
        let removed = json!({"effect": rule.text.effect, "rule": rule.text.rule, "origin": rule.origin, "layer": layer_word(rule.layer)});
        output::print_json(&json!({ "changed": true, "removed": removed }), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: taken out: {what}"));
    }
    if let Err(faults) = RuleSet::compile(place.rules()?) {
        let left = RulesError::Refused(faults);
        output::warn(&format!("what is left in the file cannot be used yet:\n{left}"), json);
    }
    Ok(0)
}

pub(super) fn enforce(command: &RulesEnforce, json: bool) -> Result<u8, Failure> {
    let here = RulesContext::load(&command.workspace_args)?;
    // Its number identifies a rule of any layer.
    let all = rules::numbered(&here.rule_files())?;
    let missing = || OpError::not_found(Resource::Rule, format!("number {}", command.number));
    let target = all.into_iter().find(|rule| rule.number == command.number).ok_or_else(missing)?;
    let (what, rule) = (rule_text(&target), target.rule.clone());
    let changed = target.enforce(None)?.reply()?;
    if json {
        let one = json!({"enforced": changed.changed, "effect": rule.text.effect, "rule": rule.text.rule, "origin": rule.origin});
        output::print_json(&with_fields(&changed, &one), true)?;
    } else if changed.changed {
        output::eprint_line(&format!("toolcrib: in force: {what}"));
    } else {
        output::eprint_line(&format!("toolcrib: it is in force already: {what}"));
    }
    Ok(0)
}
