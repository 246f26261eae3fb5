//! Rules by the numbers that `rules list` shows.

use toolcrib_app::rule_files::{self, RuleFile, RulesError};
use toolcrib_app::rules::RuleSource;

use super::rules_context::RulesContext;
use crate::output::Failure;

/// A rule in its file.
pub(super) struct NumberedRule {
    /// The file.
    pub(super) place: RuleFile,
    /// Place in the file, from 0.
    pub(super) index: usize,
    /// The rule.
    pub(super) rule: RuleSource,
}

impl NumberedRule {
    /// Refuses a file that another process has changed since the rule was read from it.
    pub(super) fn check_unchanged(&self, now: &str) -> Result<(), RulesError> {
        let still = rule_files::parse_rules(&self.place.path, now, self.place.layer)?;
        if still.get(self.index) == Some(&self.rule) {
            return Ok(());
        }
        let what = "another process changed the file just now; list the rules again".to_owned();
        Err(RulesError::Malformed { path: self.place.path.clone(), line: 1, what })
    }
}

impl RulesContext {
    /// The rules of all layers, in the order of their numbers.
    pub(super) fn numbered_rules(&self) -> Result<Vec<NumberedRule>, Failure> {
        let mut all = Vec::new();
        for place in self.rule_files() {
            for (index, rule) in place.rules()?.into_iter().enumerate() {
                all.push(NumberedRule { place: place.clone(), index, rule });
            }
        }
        Ok(all)
    }

    /// The rule with this number, from 1.
    pub(super) fn numbered_rule(&self, number: usize) -> Result<NumberedRule, Failure> {
        let at = number.checked_sub(1);
        at.and_then(|at| self.numbered_rules().map(|all| all.into_iter().nth(at)).transpose())
            .unwrap_or_else(|| {
                Err(Failure::not_found(format!(
                    "there is no rule number {number}; `toolcrib rules list` shows them"
                )))
            })
    }
}
