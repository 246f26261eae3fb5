//! Adds rules to a file.

use toolcrib_app::rule_files::{self, RuleFile, RulesError};
use toolcrib_app::rules::{Finding, RuleSet, RuleSource, RuleText, Severity, class_names};
use toolcrib_core::similar_names::likely_typos;

use super::edit::{EditedRules, IsRead, change_file};
use super::is_misspelled_name;
use super::lint::RuleFinding;
use super::request_rules::unwritten;
use crate::administration::Act;
use crate::error::OpError;

/// Rules to add.
pub struct AddRulesRequest<'a> {
    /// The file.
    pub place: RuleFile,
    /// The rules.
    pub rules: Vec<RuleText>,
    /// Names of the existing tools ([`super::known_tools`]).
    pub known: &'a [String],
    /// The version of the file that the caller has read; `None` accepts any.
    pub is_read: Option<IsRead<'a>>,
}

/// Adds rules to a file, except those that it already contains. Comments and order stay.
///
/// # Errors
/// [`OpError::Invalid`] for an empty list; [`OpError::Unusable`] for rules that cannot work, that
/// are dangerous, that misspell the name of an existing tool, or that fail their own examples, and
/// for a file that would become invalid; [`OpError::Stale`] for another version. The file is then
/// unchanged.
pub fn add(request: AddRulesRequest<'_>) -> Result<EditedRules, OpError> {
    let AddRulesRequest { place, rules, known, is_read } = request;
    if rules.is_empty() {
        return Err(OpError::Invalid("there is no rule in the list".to_owned()));
    }
    let remarks = check(&place, &rules, known)?;
    let said: Vec<String> =
        rules.iter().map(|rule| format!("{} {}", rule.effect, rule.rule)).collect();
    let change =
        change_file(&place, is_read, |text| rule_files::append_rules(&place, text, &rules))?;
    Ok(EditedRules { place, change, remarks, act: Act::new("rule.add", said.join("; ")) })
}

/// Checks the rules alone first, so that their faults are not lost among those of other rules.
fn check(
    place: &RuleFile,
    rules: &[RuleText],
    known: &[String],
) -> Result<Vec<RuleFinding>, OpError> {
    for rule in rules {
        if let Some(near) = misspelled_class(&rule.rule) {
            let rule = &rule.rule;
            let words = format!("{rule}: there is no tool of this name; did you mean {near}?");
            return Err(OpError::Unusable(words));
        }
    }
    let mut remarks = Vec::new();
    for rule in unwritten(rules.iter().cloned()) {
        let alone = RuleSource { layer: place.layer, ..rule };
        RuleSet::compile(vec![alone.clone()]).map_err(RulesError::Refused)?;
        remarks.extend(RuleSet::lint(std::slice::from_ref(&alone)));
        let unknown = RuleSet::compile_for(vec![alone], known).err().unwrap_or_default();
        if unknown.iter().any(is_misspelled_name) {
            return Err(RulesError::Refused(unknown).into());
        }
        let warning = |fault: toolcrib_app::rules::RuleError| Finding {
            severity: Severity::Warning,
            origin: fault.origin,
            rule: fault.rule,
            what: fault.what,
        };
        remarks.extend(unknown.into_iter().map(warning));
    }
    Ok(remarks.into_iter().map(RuleFinding::from).collect())
}

/// Returns the class of tools that was probably meant, if the name of a rule starts with a capital
/// letter like a class but is not one.
fn misspelled_class(rule: &str) -> Option<&'static str> {
    let name = rule.split('(').next().unwrap_or(rule).trim();
    let is_class_like = name.starts_with(char::is_uppercase) && !name.contains(['*', '_']);
    if !is_class_like || class_names().any(|class| class.eq_ignore_ascii_case(name)) {
        return None;
    }
    likely_typos(name, class_names()).first().copied()
}
