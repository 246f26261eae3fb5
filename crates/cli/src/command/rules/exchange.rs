//! `toolcrib rules import` and `export`: rules of other programs, and for them.

use std::path::Path;

use serde_json::{Value, json};
use similar::TextDiff;
use toolcrib_app::rule_files::{self, Foreign, ForeignFormat, Imported, RulesError, Skipped};
use toolcrib_app::rules::{RuleSet, RuleText, Written};

use super::{Here, counts, shown};
use crate::cli::{RulesExport, RulesImport};
use crate::output::{self, Failure};
use crate::terminal::{one_line, visible};

pub(super) fn import(command: &RulesImport, json: bool) -> Result<u8, Failure> {
    let here = Here::of(&command.at)?;
    let place = here.target(command.project)?;
    let (mut rules, mut skipped) = (Vec::new(), Vec::new());
    for path in &command.files {
        let found = Foreign::read(path, format(path, command.format)?)?;
        rules.extend(found.rules);
        skipped.extend(found.skipped);
    }
    let Imported { taken, refused } = rule_files::import(rules, &place, command.is_unsafe)?;
    let texts: Vec<RuleText> = taken.iter().map(|rule| rule.text.clone()).collect();
    let before = place.text()?;
    let after = rule_files::append(&place, &before, &texts)?;
    if command.write {
        rule_files::store(&place, |now| rule_files::append(&place, now, &texts))?;
    }
    if json {
        let rule = |rule: &Written| json!({"effect": rule.text.effect, "rule": rule.text.rule, "reason": rule.text.reason, "from": rule.origin});
        let value = json!({
            "file": shown(&place.path),
            "written": command.write && before != after,
            "rules": taken.iter().map(rule).collect::<Vec<_>>(),
            "left_out": refused.iter().map(|fault| json!({"from": fault.origin, "rule": fault.rule, "why": fault.what})).collect::<Vec<_>>(),
            "not_rules": skipped.iter().map(|skipped| json!({"what": skipped.what, "why": skipped.why})).collect::<Vec<_>>(),
        });
        output::document(&value, true)?;
        return Ok(0);
    }
    if before != after {
        output::data(&diff(&place.path, &before, &after))?;
    }
    for fault in &refused {
        output::note(&format!("toolcrib: left out: {}", one_line(&fault.to_string())));
    }
    beside(&skipped);
    let many = match taken.len() {
        1 => "1 rule".to_owned(),
        many => format!("{many} rules"),
    };
    output::note(&match (before == after, command.write) {
        (true, _) => "toolcrib: nothing is to be added".to_owned(),
        (false, true) => format!("toolcrib: {many} written to {}", place.path.display()),
        (false, false) => format!(
            "toolcrib: {many} would be written to {}; --write does it",
            place.path.display()
        ),
    });
    Ok(0)
}

fn format(path: &Path, said: Option<ForeignFormat>) -> Result<ForeignFormat, Failure> {
    said.or_else(|| ForeignFormat::of(path)).ok_or_else(|| {
        let path = path.display();
        Failure::usage(format!(
            "{path}: whose rules these are cannot be told from the name; say --format claude or --format codex (config.toml of Codex has no rules)"
        ))
    })
}

fn beside(skipped: &[Skipped]) {
    for Skipped { what, why } in skipped {
        output::note(&format!("toolcrib: not taken over: {}: {}", one_line(what), one_line(why)));
    }
}

fn diff(path: &Path, before: &str, after: &str) -> String {
    let name = shown(path);
    let text = TextDiff::from_lines(before, after);
    visible(&text.unified_diff().header(&name, &name).to_string()).to_string()
}

pub(super) fn export(command: &RulesExport, json: bool) -> Result<u8, Failure> {
    let here = Here::of(&command.at)?;
    let rules = rule_files::read_all(&here.places())?;
    RuleSet::compile(rules.clone()).map_err(RulesError::Refused)?;
    // What has no say here must not get one elsewhere.
    let rules: Vec<Written> = rules
        .into_iter()
        .filter(counts)
        .map(|rule| Written { text: rule_files::portable(&rule), ..rule })
        .collect();
    if command.format == "claude" {
        let (settings, skipped) = rule_files::to_claude(&rules);
        output::document(&settings, json)?;
        for Skipped { what, why } in &skipped {
            output::remark(&format!("left out: {}: {why}", one_line(what)), json);
        }
        return Ok(0);
    }
    let mut seen: Vec<&RuleText> = Vec::new();
    for rule in &rules {
        if !seen.contains(&&rule.text) {
            seen.push(&rule.text);
        }
    }
    if json {
        output::document(
            &json!({"rules": seen.iter().map(|rule| json!(rule)).collect::<Vec<Value>>()}),
            true,
        )?;
    } else {
        let text: Vec<String> = seen.iter().map(|rule| rule_files::to_toml(rule)).collect();
        output::exactly(&text.join("\n"))?;
    }
    Ok(0)
}
