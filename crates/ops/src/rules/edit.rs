//! A changed rule file, and putting it into force.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rule_files::{self, FileChange, RuleFile, RulesError};

use super::lint::RuleFinding;
use super::rule_row::{RuleRow, list};
use crate::administration::{Act, Recorder};
use crate::error::OpError;
use crate::settings::Configuration;

/// Returns whether the text of a file is the version that the caller has read.
pub type IsRead<'a> = &'a dyn Fn(&str) -> bool;

/// A changed rule file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RulesChanged {
    /// The current rules of the file.
    pub rules: Vec<RuleRow>,
    /// Whether the file has changed: a rule that already exists is not written twice.
    pub changed: bool,
    /// Remarks on the added rules, such as that one has expired.
    pub remarks: Vec<RuleFinding>,
    /// Settings that changed meanwhile and take effect only after a restart.
    pub needs_restart: Vec<String>,
}

/// A changed rule file that is not in force yet.
#[derive(Debug, Clone)]
pub struct EditedRules {
    pub(super) place: RuleFile,
    pub(super) change: FileChange,
    pub(super) remarks: Vec<RuleFinding>,
    pub(super) act: Act,
}

impl EditedRules {
    /// Returns the current text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.change.after
    }

    /// Returns the reply, for a process that has no rules in force.
    ///
    /// # Errors
    /// [`OpError::Unusable`]: the rest of the file is invalid.
    pub fn reply(self) -> Result<RulesChanged, OpError> {
        let rules =
            rule_files::parse_rules(&self.place.path, &self.change.after, self.place.layer)?;
        Ok(RulesChanged {
            rules: list(&rules),
            changed: self.change.before != self.change.after,
            remarks: self.remarks,
            needs_restart: Vec::new(),
        })
    }
}

/// Changes a file under its lock, if it is still the version that the caller has read.
pub(super) fn change_file(
    place: &RuleFile,
    is_read: Option<IsRead<'_>>,
    how: impl FnOnce(&str) -> Result<String, RulesError>,
) -> Result<FileChange, OpError> {
    let mut is_stale = false;
    let changed = rule_files::write_rules(place, |text| {
        if is_read.is_some_and(|is_read| !is_read(text)) {
            is_stale = true;
            return Ok(text.to_owned());
        }
        how(text)
    })?;
    if is_stale {
        return Err(stale());
    }
    Ok(changed)
}

/// Returns the error for a file that is not the version that the caller has read.
#[must_use]
pub fn stale() -> OpError {
    let words = "the file of rules was changed since it was read; read it again";
    OpError::Stale(words.to_owned())
}

/// Puts a changed file into force and records the change. A file that cannot be used together with
/// the rest of the configuration is restored.
///
/// # Errors
/// [`OpError::Invalid`] with the reason why the file was restored; the errors of reading the
/// configuration; [`OpError::Unrecorded`].
pub async fn put_in_force(
    edited: EditedRules,
    configuration: &dyn Configuration,
    recorder: &Recorder<'_>,
) -> Result<RulesChanged, OpError> {
    let is_changed = edited.change.before != edited.change.after;
    let reloaded = match configuration.reload().await {
        Ok(reloaded) => reloaded,
        Err(error) if is_changed => {
            restore(edited).await?;
            return Err(OpError::Invalid(format!("the file is as it was: {error}")));
        }
        Err(error) => return Err(error),
    };
    let act = edited.act.clone();
    let changed = edited.reply()?;
    if is_changed {
        recorder.record(act).await?;
    }
    Ok(RulesChanged { needs_restart: reloaded.needs_restart, ..changed })
}

async fn restore(edited: EditedRules) -> Result<(), OpError> {
    let EditedRules { place, change: FileChange { before, after, .. }, .. } = edited;
    let undone = move |now: &str| Ok(if now == after { before } else { now.to_owned() });
    match tokio::task::spawn_blocking(move || rule_files::write_rules(&place, undone)).await {
        Ok(restored) => Ok(restored.map(drop)?),
        Err(error) => Err(OpError::Internal(format!("the file could not be restored: {error}"))),
    }
}

impl From<RulesError> for OpError {
    fn from(error: RulesError) -> Self {
        match &error {
            RulesError::Malformed { .. } | RulesError::Refused(_) => {
                Self::Unusable(error.to_string())
            }
            RulesError::Unreadable { .. } => Self::Unreadable(error.to_string()),
            RulesError::Unwritable { .. } => Self::Unavailable(error.to_string()),
        }
    }
}
