//! `toolcrib rules lint` and `test`: what is wrong with files of rules.

use serde_json::json;
use toolcrib_app::rule_files::{self, RuleFile, RulesError};
use toolcrib_app::rules::{Finding, Layer, RuleSet, RuleSource, Severity};

use super::rules_context::RulesContext;
use crate::clap_args::RulesFilesArgs;
use crate::output::{self, Failure};
use crate::terminal::escape_to_line;

/// The rules of the files that are meant.
fn read_files(
    command: &RulesFilesArgs,
    here: &RulesContext,
) -> Vec<Result<Vec<RuleSource>, RulesError>> {
    let places = match command.files.as_slice() {
        [] => here.rule_files(),
        files => files
            .iter()
            .map(|path| RuleFile { must_exist: true, ..RuleFile::new(Layer::User, path) })
            .collect(),
    };
    let read = |place: &RuleFile| rule_files::parse_any_format(&place.path, &place.text()?);
    let of_layer = |place: &RuleFile| {
        let rules = read(place)?;
        Ok(rules.into_iter().map(|rule| RuleSource { layer: place.layer, ..rule }).collect())
    };
    places.iter().map(of_layer).collect()
}

/// What was found.
#[derive(Default)]
struct Findings {
    /// Files that are no rules at all.
    broken: Vec<String>,
    found: Vec<Finding>,
    rules: Vec<RuleSource>,
}

impl Findings {
    fn collect(command: &RulesFilesArgs) -> Result<Self, Failure> {
        let here = RulesContext::load(&command.workspace_args)?;
        let known = here.tool_names()?;
        let mut all = Self::default();
        for rules in read_files(command, &here) {
            match rules {
                Err(error) => all.broken.push(error.to_string()),
                Ok(rules) => {
                    all.found.extend(lint_rules(&rules, &known));
                    all.rules.extend(rules);
                }
            }
        }
        Ok(all)
    }

    fn of_severity(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        self.found.iter().filter(move |finding| finding.severity == severity)
    }
}

/// What is wrong with rules. A tool that is not there may be there tomorrow, so its rules are only
/// warned of.
fn lint_rules(rules: &[RuleSource], known: &[String]) -> Vec<Finding> {
    let anywhere = RuleSet::lint(rules);
    let mut here = RuleSet::lint_for(rules, known);
    for finding in here.iter_mut().filter(|finding| !anywhere.contains(finding)) {
        finding.severity = Severity::Warning;
    }
    // What a rule for an unknown tool would have been told besides.
    let missed: Vec<Finding> =
        anywhere.into_iter().filter(|finding| !here.contains(finding)).collect();
    here.into_iter().chain(missed).collect()
}

fn line(finding: &Finding) -> String {
    let Finding { origin, rule, what, .. } = finding;
    escape_to_line(&format!("{origin}: {rule}: {what}"))
}

pub(super) fn lint(command: &RulesFilesArgs, json: bool) -> Result<u8, Failure> {
    let all = Findings::collect(command)?;
    let errors: Vec<String> =
        all.broken.iter().cloned().chain(all.of_severity(Severity::Error).map(line)).collect();
    let warnings: Vec<String> = all.of_severity(Severity::Warning).map(line).collect();
    if json {
        let value = json!({"rules": all.rules.len(), "broken": all.broken, "findings": all.found});
        output::print_json(&value, true)?;
    } else {
        let lines = errors.iter().map(|text| format!("error: {text}"));
        let lines: Vec<String> =
            lines.chain(warnings.iter().map(|text| format!("warning: {text}"))).collect();
        if !lines.is_empty() {
            output::print_line(&lines.join("\n"))?;
        }
        output::eprint_line(&format!(
            "toolcrib: {}, {}, {}",
            count(all.rules.len(), "rule"),
            count(errors.len(), "error"),
            count(warnings.len(), "warning")
        ));
    }
    Ok(if errors.is_empty() { 0 } else { 3 })
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

pub(super) fn test(command: &RulesFilesArgs, json: bool) -> Result<u8, Failure> {
    let all = Findings::collect(command)?;
    let (mut examples, mut tested, mut failed, mut unusable) =
        (0, 0, Vec::new(), all.broken.clone());
    for rule in &all.rules {
        let own = rule.text.matches.len() + rule.text.not_match.len();
        let faults = RuleSet::compile(vec![rule.clone()]).err().unwrap_or_default();
        examples += own;
        tested += usize::from(own > 0);
        // What is wrong with it without its examples is wrong with the rule.
        let mut bare = rule.clone();
        (bare.text.matches, bare.text.not_match) = (Vec::new(), Vec::new());
        let without = RuleSet::compile(vec![bare]).err().unwrap_or_default();
        for fault in faults {
            let list = if without.contains(&fault) { &mut unusable } else { &mut failed };
            list.push(fault.to_string());
        }
    }
    if json {
        let value = json!({
            "rules": all.rules.len(), "rules_with_examples": tested, "examples": examples,
            "failed": failed, "unusable": unusable,
        });
        output::print_json(&value, true)?;
    } else {
        let lines: Vec<&str> = unusable.iter().chain(&failed).map(String::as_str).collect();
        if !lines.is_empty() {
            output::print_line(&lines.join("\n"))?;
        }
        output::eprint_line(&format!(
            "toolcrib: {}, {} with examples; {}, {} failed",
            count(all.rules.len(), "rule"),
            tested,
            count(examples, "example"),
            failed.len()
        ));
    }
    Ok(match (unusable.is_empty(), failed.is_empty()) {
        (false, _) => 3,
        (true, false) => 1,
        (true, true) => 0,
    })
}
