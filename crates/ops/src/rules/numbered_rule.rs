//! Rules by their numbers in the list of all layers, and changes of one of them.

use toolcrib_app::rule_files::{self, RuleFile, RulesError};
use toolcrib_app::rules::{Layer, RuleSource};

use super::edit::{EditedRules, IsRead, change_file};
use super::rule_row::layer_word;
use crate::administration::Act;
use crate::error::{OpError, Resource};

/// A rule in its file.
#[derive(Debug, Clone)]
pub struct NumberedRule {
    /// Its number in the list of all layers, from 1.
    pub number: usize,
    /// The file.
    pub place: RuleFile,
    /// Position in the file, from 0.
    pub index: usize,
    /// The rule.
    pub rule: RuleSource,
}

/// Returns the rules of several files, in the order of their numbers.
///
/// # Errors
/// [`OpError::Unusable`] and [`OpError::Unreadable`] for a file that is not a rule file.
pub fn numbered(files: &[RuleFile]) -> Result<Vec<NumberedRule>, OpError> {
    let mut all = Vec::new();
    for place in files {
        for (index, rule) in place.rules()?.into_iter().enumerate() {
            let number = all.len() + 1;
            all.push(NumberedRule { number, place: place.clone(), index, rule });
        }
    }
    Ok(all)
}

/// The name of a rule in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleName {
    /// By its number, from 1.
    Number(usize),
    /// The exact text of the rule.
    Text(String),
}

impl NumberedRule {
    /// Finds the named rule; with `project`, in the workspace's file.
    ///
    /// # Errors
    /// [`OpError::NotFound`] for a rule that does not exist; [`OpError::Invalid`] for a number of
    /// another layer, and for a text that several rules share.
    pub fn find(files: &[RuleFile], name: &RuleName, project: bool) -> Result<Self, OpError> {
        let all = numbered(files)?;
        match name {
            RuleName::Number(number) => by_number(all, *number, project),
            RuleName::Text(text) => by_text(all, text, project),
        }
    }

    /// Removes the rule from its file, and the comments directly above it. `is_read` checks the
    /// version that the caller has read; `None` uses the version from which the rule was read.
    ///
    /// # Errors
    /// [`OpError::Denied`] for a rule of the operator; [`OpError::Stale`] for a file that changed.
    pub fn remove(self, is_read: Option<IsRead<'_>>) -> Result<EditedRules, OpError> {
        self.edit("rule.remove", is_read, rule_files::remove_rule)
    }

    /// Puts an observed rule into force.
    ///
    /// # Errors
    /// The errors of [`NumberedRule::remove`], and [`OpError::Unusable`] if it contradicts another
    /// rule.
    pub fn enforce(self, is_read: Option<IsRead<'_>>) -> Result<EditedRules, OpError> {
        if !self.rule.text.is_observed {
            return self.edit("rule.enforce", is_read, |_, text, _| Ok(text.to_owned()));
        }
        self.edit("rule.enforce", is_read, rule_files::enforce_rule)
    }

    fn edit(
        self,
        act: &'static str,
        is_read: Option<IsRead<'_>>,
        how: impl FnOnce(&RuleFile, &str, usize) -> Result<String, RulesError>,
    ) -> Result<EditedRules, OpError> {
        let Self { place, index, rule, .. } = self;
        let what = format!("{} {}", rule.text.effect, rule.text.rule);
        if place.layer == Layer::Managed {
            let origin = &rule.origin;
            return Err(OpError::Denied(format!(
                "{what} ({origin}) is a rule of the operator of this machine; it is changed there"
            )));
        }
        let is_same = |text: &str| {
            let now = rule_files::parse_rules(&place.path, text, place.layer);
            now.is_ok_and(|now| now.get(index) == Some(&rule))
        };
        let change = change_file(&place, Some(is_read.unwrap_or(&is_same)), |text| {
            how(&place, text, index)
        })?;
        Ok(EditedRules { place, change, remarks: Vec::new(), act: Act::new(act, what) })
    }

    /// Returns whether the name may refer to the rule: a rule of the workspace's file needs a
    /// number, or `project`.
    fn is_meant(&self, by_number: bool, project: bool) -> bool {
        match self.place.layer {
            Layer::Managed => by_number && !project,
            Layer::User => !project,
            Layer::Project | Layer::Untrusted => project || by_number,
        }
    }
}

fn by_number(
    all: Vec<NumberedRule>,
    number: usize,
    project: bool,
) -> Result<NumberedRule, OpError> {
    let missing = || OpError::not_found(Resource::Rule, format!("number {number}"));
    let found = all.into_iter().find(|rule| rule.number == number).ok_or_else(missing)?;
    if found.is_meant(true, project) {
        return Ok(found);
    }
    let layer = layer_word(found.place.layer);
    let words = format!("rule number {number} is not the workspace's, it is {layer}");
    Err(OpError::Invalid(words))
}

fn by_text(all: Vec<NumberedRule>, text: &str, project: bool) -> Result<NumberedRule, OpError> {
    let is_same = |rule: &NumberedRule| {
        rule.is_meant(false, project) && rule.rule.text.rule.trim() == text.trim()
    };
    let mut found: Vec<NumberedRule> = all.into_iter().filter(is_same).collect();
    match found.as_slice() {
        [] => Err(OpError::not_found(Resource::Rule, text)),
        [_] => Ok(found.remove(0)),
        several => {
            let line = |one: &NumberedRule| {
                let RuleSource { text, origin, .. } = &one.rule;
                format!("{}: {} {} ({origin})", one.number, text.effect, text.rule)
            };
            let lines: Vec<String> = several.iter().map(line).collect();
            let words = "several rules are written so; say which by its number";
            Err(OpError::Invalid(format!("{words}\n{}", lines.join("\n"))))
        }
    }
}
