//! `toolcrib rules import` and `export`: conversion of rules from and to other programs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use similar::TextDiff;
use toolcrib_app::rule_files::{self, ImportFormat, ImportedFile, RulesError, Skipped};
use toolcrib_app::rules::{RuleSet, RuleSource, RuleText};
use toolcrib_ops::rules::{ImportRulesReply, PlannedImport, is_effective, plan_import};

use super::rules_context::{RulesContext, path_text};
use crate::clap_args::{RulesExport, RulesImport};
use crate::json_document;
use crate::output::{self, Failure};
use crate::terminal::{escape_controls, escape_to_line};

pub(super) fn import(command: &RulesImport, json: bool) -> Result<u8, Failure> {
    let here = RulesContext::load(&command.workspace_args)?;
    let place = here.file_to_edit(command.project)?;
    let read = |path: &PathBuf| -> Result<ImportedFile, Failure> {
        Ok(ImportedFile::read(path, source_format(path, command.format)?)?)
    };
    let found = command.files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let plan = plan_import(&place, found, command.is_unsafe)?;
    let (texts, is_changed) = (plan.texts(), plan.before != plan.after);
    if command.write {
        rule_files::write_rules(&place, |now| rule_files::append_rules(&place, now, &texts))?;
    }
    if json {
        let written = command.write && is_changed;
        output::print_json(&import_json(&plan, &path_text(&place.path), written), true)?;
        return Ok(0);
    }
    let PlannedImport { accepted: taken, refused, skipped, before, after } = plan;
    if is_changed {
        output::print_line(&diff(&place.path, &before, &after))?;
    }
    for fault in &refused {
        output::eprint_line(&format!("toolcrib: left out: {}", escape_to_line(&fault.to_string())));
    }
    print_skipped(&skipped);
    let many = match taken.len() {
        1 => "1 rule".to_owned(),
        many => format!("{many} rules"),
    };
    output::eprint_line(&match (!is_changed, command.write) {
        (true, _) => "toolcrib: nothing is to be added".to_owned(),
        (false, true) => format!("toolcrib: {many} written to {}", place.path.display()),
        (false, false) => format!(
            "toolcrib: {many} would be written to {}; --write does it",
            place.path.display()
        ),
    });
    Ok(0)
}

/// The import for machines, with members that only this command has.
fn import_json(plan: &PlannedImport, file: &str, written: bool) -> Value {
    let reply = ImportRulesReply::from(plan);
    let mut all = json_document::with_members(&reply, json!({"file": file, "written": written}));
    let rules = reply.rules.iter().zip(&plan.accepted).map(|(row, rule)| {
        let RuleText { effect, rule, reason, .. } = &rule.text;
        json_document::with_members(row, json!({"effect": effect, "rule": rule, "reason": reason}))
    });
    all["rules"] = rules.collect();
    all
}

fn source_format(path: &Path, said: Option<ImportFormat>) -> Result<ImportFormat, Failure> {
    said.or_else(|| ImportFormat::detect(path)).ok_or_else(|| {
        let path = path.display();
        Failure::usage(format!(
            "{path}: whose rules these are cannot be told from the name; say --format claude or --format codex (config.toml of Codex has no rules)"
        ))
    })
}

fn print_skipped(skipped: &[Skipped]) {
    for Skipped { what, why } in skipped {
        output::eprint_line(&format!(
            "toolcrib: not taken over: {}: {}",
            escape_to_line(what),
            escape_to_line(why)
        ));
    }
}

fn diff(path: &Path, before: &str, after: &str) -> String {
    let name = path_text(path);
    let text = TextDiff::from_lines(before, after);
    escape_controls(&text.unified_diff().header(&name, &name).to_string()).to_string()
}

pub(super) fn export(command: &RulesExport, json: bool) -> Result<u8, Failure> {
    let here = RulesContext::load(&command.workspace_args)?;
    let rules = rule_files::read_rules(&here.rule_files())?;
    RuleSet::compile(rules.clone()).map_err(RulesError::Refused)?;
    // A rule without an effect here must not get one in another program.
    let rules: Vec<RuleSource> = rules
        .into_iter()
        .filter(|rule| rule.text.is_observed || is_effective(rule))
        .map(|rule| RuleSource { text: rule_files::to_portable(&rule), ..rule })
        .collect();
    if command.format == "claude" {
        let (settings, skipped) = rule_files::to_claude(&rules);
        output::print_json(&settings, json)?;
        for Skipped { what, why } in &skipped {
            output::warn(&format!("left out: {}: {why}", escape_to_line(what)), json);
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
        output::print_json(
            &json!({"rules": seen.iter().map(|rule| json!(rule)).collect::<Vec<Value>>()}),
            true,
        )?;
    } else {
        let text: Vec<String> = seen.iter().map(|rule| rule_files::to_toml(rule)).collect();
        output::print_raw(&text.join("\n"))?;
    }
    Ok(0)
}
