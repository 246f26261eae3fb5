//! `toolcrib rules add` and `rm`.

use std::path::PathBuf;

use serde_json::json;
use toolcrib_app::rule_files::{self, RuleFile, RulesError};
use toolcrib_app::rules::{Layer, RuleSet, RuleSource, RuleText, class_names};
use toolcrib_core::Verdict;
use toolcrib_core::suggest::likely_typos;

use super::numbered_rule::NumberedRule;
use super::rule_output::layer_word;
use super::rules_context::{RulesContext, path_text};
use crate::clap_args::{RulesAdd, RulesRm, RulesWorkspaceArgs};
use crate::output::{self, Failure};
use crate::rule_layers;
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
    if let Some(near) = misspelled_class(&rule.rule) {
        let (name, near) = (escape_to_line(&rule.rule), near);
        return Err(Failure::configuration(format!(
            "rules add: {name}: there is no tool of this name; did you mean {near}?"
        )));
    }
    // On its own first: what is wrong with it is then not lost among what is wrong with others.
    let alone =
        RuleSource { text: rule.clone(), layer: place.layer, origin: "rules add".to_owned() };
    RuleSet::compile(vec![alone.clone()]).map_err(RulesError::Refused)?;
    let remarks = RuleSet::lint(std::slice::from_ref(&alone));
    let unknown = RuleSet::compile_for(vec![alone], &here.tool_names()?).err().unwrap_or_default();
    if unknown.iter().any(rule_layers::is_misspelled_name) {
        return Err(RulesError::Refused(unknown).into());
    }
    let change = rule_files::add_rules(&place, std::slice::from_ref(&rule))?;
    let added = change.before != change.after;
    let line = rule_origin(&place, &rule)?;
    unknown.iter().for_each(|fault| {
        output::warn(&escape_to_line(&format!("{}: {}", fault.rule, fault.what)), json);
    });
    for remark in remarks {
        output::warn(&escape_to_line(&format!("{}: {}", remark.rule, remark.what)), json);
    }
    if json {
        let value = json!({"added": added, "effect": rule.effect, "rule": rule.rule, "origin": line, "layer": place.layer});
        output::print_json(&value, true)?;
        return Ok(0);
    }
    let what = format!("{} {}", rule.effect, escape_to_line(&rule.rule));
    match added {
        true => output::eprint_line(&format!("toolcrib: added: {what} ({line})")),
        false => output::eprint_line(&format!("toolcrib: it is there already: {what} ({line})")),
    }
    if rule.is_observed && added {
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

/// The class of tools that was probably meant, where the name of a rule begins like one with a
/// capital letter and is none.
fn misspelled_class(rule: &str) -> Option<&'static str> {
    let name = rule.split('(').next().unwrap_or(rule).trim();
    let is_class_like = name.starts_with(char::is_uppercase) && !name.contains(['*', '_']);
    if !is_class_like || class_names().any(|class| class.eq_ignore_ascii_case(name)) {
        return None;
    }
    likely_typos(name, class_names()).first().copied()
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

/// Where a rule stands in a file now.
fn rule_origin(place: &RuleFile, rule: &RuleText) -> Result<String, Failure> {
    let rules = place.rules()?;
    let found = rules
        .iter()
        .rev()
        .find(|found| found.text.effect == rule.effect && found.text.rule.trim() == rule.rule);
    Ok(found.map_or_else(|| path_text(&place.path), |found| found.origin.clone()))
}

pub(super) fn rm(command: &RulesRm, json: bool) -> Result<u8, Failure> {
    let here = RulesContext::load(&command.workspace_args)?;
    let target = find_rule(&here, command)?;
    let RuleSource { text, origin, layer } = &target.rule;
    let what = format!("{} {}", text.effect, escape_to_line(&text.rule));
    if *layer == Layer::Managed {
        let why = format!(
            "{what} ({origin}) is a rule of the operator of this machine; it is changed there"
        );
        return Err(Failure { code: 5, message: why });
    }
    let place = &target.place;
    rule_files::write_rules(place, |now| {
        target.check_unchanged(now)?;
        rule_files::remove_rule(place, now, target.index)
    })?;
    if json {
        let value = json!({"removed": {"effect": text.effect, "rule": text.rule, "origin": origin, "layer": layer}});
        output::print_json(&value, true)?;
    } else {
        output::eprint_line(&format!("toolcrib: taken out: {what} ({origin})"));
    }
    if let Err(faults) = RuleSet::compile(place.rules()?) {
        let left = RulesError::Refused(faults);
        output::warn(&format!("what is left in the file cannot be used yet:\n{left}"), json);
    }
    Ok(0)
}

fn find_rule(here: &RulesContext, command: &RulesRm) -> Result<NumberedRule, Failure> {
    let all = here.numbered_rules()?;
    let number: Option<usize> = command.rule.parse().ok();
    let is_meant = |target: &NumberedRule| match target.place.layer {
        Layer::Managed => number.is_some() && !command.project,
        Layer::User => !command.project,
        Layer::Project | Layer::Untrusted => command.project || number.is_some(),
    };
    let numbered = all.into_iter().zip(1..);
    if let Some(number) = number {
        let found = numbered.map(|(target, at)| (at, target)).find(|(at, _)| *at == number);
        let missing = || {
            Failure::not_found(format!(
                "there is no rule number {number}; `toolcrib rules list` shows them"
            ))
        };
        let (_, target) = found.ok_or_else(missing)?;
        if !is_meant(&target) {
            let layer = layer_word(target.place.layer);
            return Err(Failure::usage(format!(
                "rule number {number} is not the workspace's, it is {layer}"
            )));
        }
        return Ok(target);
    }
    let mut found: Vec<(NumberedRule, usize)> = numbered
        .filter(|(target, _)| {
            is_meant(target) && target.rule.text.rule.trim() == command.rule.trim()
        })
        .collect();
    match (found.pop(), found.is_empty()) {
        (Some((target, _)), true) => Ok(target),
        (None, _) => Err(Failure::not_found(format!(
            "there is no rule {} in {}; `toolcrib rules list` shows them",
            command.rule,
            path_text(&here.file_to_edit(command.project)?.path)
        ))),
        (Some(last), false) => {
            found.push(last);
            let lines: Vec<String> = found
                .iter()
                .map(|(target, number)| {
                    format!(
                        "{number}: {} {} ({})",
                        target.rule.text.effect, target.rule.text.rule, target.rule.origin
                    )
                })
                .collect();
            Err(Failure::usage(format!(
                "several rules are written so; say which by its number\n{}",
                lines.join("\n")
            )))
        }
    }
}
