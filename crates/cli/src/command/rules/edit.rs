//! `toolcrib rules add` and `rm`.

use std::path::PathBuf;

use serde_json::json;
use toolcrib_app::core::Verdict;
use toolcrib_app::rule_files::{self, Place, RulesError};
use toolcrib_app::rules::{Layer, RuleSet, RuleText, Written};

use super::{Here, layer_word, shown};
use crate::cli::{RulesAdd, RulesAt, RulesRm};
use crate::output::{self, Failure};
use crate::rules;
use crate::terminal::one_line;

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
    let here = Here::of(&RulesAt { workspace })?;
    let place = here.target(command.project)?;
    let rule = rule(command)?;
    // On its own first: what is wrong with it is then not lost among what is wrong with others.
    let alone = Written { text: rule.clone(), layer: place.layer, origin: "rules add".to_owned() };
    RuleSet::compile(vec![alone.clone()]).map_err(RulesError::Refused)?;
    let unknown = RuleSet::compile_for(vec![alone], &here.tools()?).err().unwrap_or_default();
    if unknown.iter().any(rules::is_slip) {
        return Err(RulesError::Refused(unknown).into());
    }
    let change = rule_files::add(&place, std::slice::from_ref(&rule))?;
    let added = change.before != change.after;
    let line = line(&place, &rule)?;
    unknown.iter().for_each(|fault| {
        output::remark(&one_line(&format!("{}: {}", fault.rule, fault.what)), json);
    });
    if json {
        let value = json!({"added": added, "effect": rule.effect, "rule": rule.rule, "origin": line, "layer": place.layer});
        output::document(&value, true)?;
        return Ok(0);
    }
    let what = format!("{} {}", rule.effect, one_line(&rule.rule));
    match added {
        true => output::note(&format!("toolcrib: added: {what} ({line})")),
        false => output::note(&format!("toolcrib: it is there already: {what} ({line})")),
    }
    if place.layer == Layer::Untrusted && rule.effect == Verdict::Allow {
        output::note(
            "toolcrib: it counts for nothing yet: name the workspace in `trusted_workspaces` of config.toml if you trust what is in it",
        );
    }
    Ok(0)
}

fn rule(command: &RulesAdd) -> Result<RuleText, Failure> {
    let folder = |path: &PathBuf| {
        let path = path
            .canonicalize()
            .map_err(|error| Failure::usage(format!("--workspace {}: {error}", path.display())))?;
        Ok(shown(&path))
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
    })
}

/// Where a rule stands in a file now.
fn line(place: &Place, rule: &RuleText) -> Result<String, Failure> {
    let rules = place.rules()?;
    let found = rules
        .iter()
        .rev()
        .find(|found| found.text.effect == rule.effect && found.text.rule.trim() == rule.rule);
    Ok(found.map_or_else(|| shown(&place.path), |found| found.origin.clone()))
}

/// A rule in its file.
struct Target {
    place: Place,
    /// Place in the file, from 0.
    index: usize,
    rule: Written,
}

pub(super) fn rm(command: &RulesRm, json: bool) -> Result<u8, Failure> {
    let here = Here::of(&command.at)?;
    let target = target(&here, command)?;
    let Written { text, origin, layer } = &target.rule;
    let what = format!("{} {}", text.effect, one_line(&text.rule));
    if *layer == Layer::Managed {
        let why = format!(
            "{what} ({origin}) is a rule of whoever runs this machine; it is changed there"
        );
        return Err(Failure { code: 5, message: why });
    }
    let place = &target.place;
    rule_files::store(place, |now| {
        // Somebody may have written it since it was looked at.
        let still = rule_files::parse(&place.path, now, place.layer)?;
        if still.get(target.index) != Some(&target.rule) {
            let what = "it was changed by somebody else just now; look again".to_owned();
            return Err(RulesError::Malformed { path: place.path.clone(), line: 1, what });
        }
        rule_files::remove(place, now, target.index)
    })?;
    if json {
        let value = json!({"removed": {"effect": text.effect, "rule": text.rule, "origin": origin, "layer": layer}});
        output::document(&value, true)?;
    } else {
        output::note(&format!("toolcrib: taken out: {what} ({origin})"));
    }
    if let Err(faults) = RuleSet::compile(place.rules()?) {
        let left = RulesError::Refused(faults);
        output::remark(&format!("what is left in the file cannot be used yet:\n{left}"), json);
    }
    Ok(0)
}

fn target(here: &Here, command: &RulesRm) -> Result<Target, Failure> {
    let mut all = Vec::new();
    for place in here.places() {
        for (index, rule) in place.rules()?.into_iter().enumerate() {
            all.push(Target { place: place.clone(), index, rule });
        }
    }
    let number: Option<usize> = command.rule.parse().ok();
    let is_meant = |target: &Target| match target.place.layer {
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
    let mut found: Vec<(Target, usize)> = numbered
        .filter(|(target, _)| {
            is_meant(target) && target.rule.text.rule.trim() == command.rule.trim()
        })
        .collect();
    match (found.pop(), found.is_empty()) {
        (Some((target, _)), true) => Ok(target),
        (None, _) => Err(Failure::not_found(format!(
            "there is no rule {} in {}; `toolcrib rules list` shows them",
            command.rule,
            shown(&here.target(command.project)?.path)
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
