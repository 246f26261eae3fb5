//! `toolcrib rules lint` and `test`: faults in rule files.

use serde_json::json;
use toolcrib_app::rule_files::{self, RuleFile, RulesError};
use toolcrib_app::rules::{Layer, RuleSource};
use toolcrib_ops::rules::{self, LintReply, RuleFinding};

use super::rules_context::RulesContext;
use crate::clap_args::RulesFilesArgs;
use crate::output::{self, Failure};
use crate::terminal::escape_to_line;

/// The rules of the selected files.
#[derive(Default)]
struct ReadFiles {
    /// Rules that are in force together: those of all layers, or those of each named file.
    groups: Vec<Vec<RuleSource>>,
    /// Files that could not be read as rules, each with the reason.
    broken: Vec<String>,
}

impl ReadFiles {
    fn read(command: &RulesFilesArgs, here: &RulesContext) -> Self {
        let named = command.files.iter();
        let named =
            named.map(|path| RuleFile { must_exist: true, ..RuleFile::new(Layer::User, path) });
        let layers = here.rule_files();
        let mut all = Self::default();
        let groups: Vec<Vec<RuleFile>> = match command.files.as_slice() {
            [] => vec![layers],
            _ => named.map(|place| vec![place]).collect(),
        };
        for group in groups {
            let mut rules = Vec::new();
            for place in group {
                match read(&place) {
                    Ok(found) => rules.extend(found),
                    Err(error) => all.broken.push(error.to_string()),
                }
            }
            all.groups.push(rules);
        }
        all
    }
}

fn read(place: &RuleFile) -> Result<Vec<RuleSource>, RulesError> {
    let rules = rule_files::parse_any_format(&place.path, &place.text()?)?;
    Ok(rules.into_iter().map(|rule| RuleSource { layer: place.layer, ..rule }).collect())
}

fn line(finding: &RuleFinding) -> String {
    let RuleFinding { origin, rule, what, .. } = finding;
    escape_to_line(&format!("{origin}: {rule}: {what}"))
}

pub(super) fn lint(command: &RulesFilesArgs, json: bool) -> Result<u8, Failure> {
    let here = RulesContext::load(&command.workspace_args)?;
    let known = here.tool_names()?;
    let ReadFiles { groups, broken } = ReadFiles::read(command, &here);
    let mut reply = LintReply { broken, ..LintReply::default() };
    groups.iter().for_each(|rules| reply.extend(rules::lint(rules, &known)));
    let (errors, warnings): (Vec<&RuleFinding>, Vec<&RuleFinding>) =
        reply.findings.iter().partition(|finding| finding.is_error());
    let errors: Vec<String> =
        reply.broken.iter().cloned().chain(errors.into_iter().map(line)).collect();
    if json {
        output::print_json(&json!(reply), true)?;
    } else {
        let lines = errors.iter().map(|text| format!("error: {text}"));
        let lines: Vec<String> =
            lines.chain(warnings.iter().map(|one| format!("warning: {}", line(one)))).collect();
        if !lines.is_empty() {
            output::print_line(&lines.join("\n"))?;
        }
        output::eprint_line(&format!(
            "toolcrib: {}, {}, {}",
            count(reply.rules, "rule"),
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
    let here = RulesContext::load(&command.workspace_args)?;
    let ReadFiles { groups, broken } = ReadFiles::read(command, &here);
    let mut reply = rules::test(&groups.concat());
    reply.unusable.splice(0..0, broken);
    if json {
        output::print_json(&json!(reply), true)?;
    } else {
        let lines: Vec<&str> =
            reply.unusable.iter().chain(&reply.failed).map(String::as_str).collect();
        if !lines.is_empty() {
            output::print_line(&lines.join("\n"))?;
        }
        output::eprint_line(&format!(
            "toolcrib: {}, {} with examples; {}, {} failed",
            count(reply.rules, "rule"),
            reply.rules_with_examples,
            count(reply.examples, "example"),
            reply.failed.len()
        ));
    }
    Ok(match (reply.unusable.is_empty(), reply.failed.is_empty()) {
        (false, _) => 3,
        (true, false) => 1,
        (true, true) => 0,
    })
}
