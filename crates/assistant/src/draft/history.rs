//! Earlier versions of a draft, and the differences between two versions.

use similar::TextDiff;
use toolcrib_core::Author;

use super::drafts::{Drafts, unknown};
use super::error::DraftError;
use super::model::Draft;

/// Maximum examined changes of one draft. The store keeps 300 of all drafts of an owner.
const CHANGES: usize = 300;
/// Context lines around a change of the text.
const CONTEXT_LINES: usize = 2;
/// Maximum lines of a difference; further lines are only counted.
const MAX_LINES: usize = 200;

/// A version of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftVersion {
    /// The kind of change: `made`, `changed`, `sending`, `ended`, `discarded`.
    pub note: String,
    /// The author of the change.
    pub author: Author,
    /// Unix time in milliseconds.
    pub at: i64,
    /// The draft after the change.
    pub draft: Draft,
}

/// The difference in one part of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftDifference {
    /// `account`, `to`, `subject`, `files` or `text`.
    pub part: &'static str,
    /// Lines that begin with `-` (before), `+` (after) or a space (the same).
    pub diff: String,
}

impl Drafts {
    /// Returns the stored versions of a draft, the newest first.
    ///
    /// # Errors
    /// [`DraftError::Unknown`], [`DraftError::Row`].
    pub async fn history(&self, owner: &str, id: &str) -> Result<Vec<DraftVersion>, DraftError> {
        let id = id.trim();
        let now = self.rows.get(owner, id).await?.ok_or_else(|| unknown(id))?;
        let mut after = Some(now.body);
        let mut versions = Vec::new();
        for change in self.rows.changes(owner, Some(id), CHANGES).await? {
            let before = change.before.and_then(|body| serde_json::from_value(body).ok());
            if let Some(draft) = std::mem::replace(&mut after, before) {
                // The number of a change is the version that it creates.
                let draft = Draft { version: change.number, ..draft };
                let (note, author, at) = (change.note, change.author, change.at);
                versions.push(DraftVersion { note, author, at, draft });
            }
        }
        Ok(versions)
    }

    /// Returns the differences in a draft since the version that a person saw.
    ///
    /// # Errors
    /// [`DraftError::Unknown`], [`DraftError::NoVersion`], [`DraftError::Row`].
    pub async fn changed_since(
        &self,
        owner: &str,
        id: &str,
        version: i64,
    ) -> Result<Vec<DraftDifference>, DraftError> {
        let versions = self.history(owner, id).await?;
        let seen = versions.iter().find(|one| one.draft.version == version);
        match (versions.first(), seen) {
            (Some(now), Some(seen)) => Ok(differences(&seen.draft, &now.draft)),
            _ => Err(DraftError::NoVersion(version)),
        }
    }

    /// Lists the owners that have drafts.
    ///
    /// # Errors
    /// [`DraftError::Row`].
    pub async fn owners(&self) -> Result<Vec<String>, DraftError> {
        Ok(self.rows.owners().await?)
    }

    /// Returns the drafts that any process changed after the change with this number, and the
    /// number of the last change.
    ///
    /// # Errors
    /// [`DraftError::Row`].
    pub async fn changes_after(
        &self,
        owner: &str,
        number: i64,
    ) -> Result<(i64, Vec<String>), DraftError> {
        let newest = self.rows.changes(owner, None, 1).await?;
        let Some(newest) = newest.first().filter(|change| change.number > number) else {
            return Ok((number, Vec::new()));
        };
        let last = newest.number;
        let mut ids = Vec::new();
        for change in self.rows.changes(owner, None, CHANGES).await? {
            if change.number > number && !ids.contains(&change.key) {
                ids.push(change.key);
            }
        }
        Ok((last, ids))
    }

    /// Waits until this process writes a draft. One task may wait at a time.
    pub async fn written(&self) {
        self.written.notified().await;
    }
}

/// Returns the differences between two versions of a draft, part by part.
#[must_use]
pub fn differences(before: &Draft, after: &Draft) -> Vec<DraftDifference> {
    let files = |draft: &Draft| {
        let line = |file: &super::DraftAttachment| format!("{} ({} bytes)", file.name, file.bytes);
        draft.attachments.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let parts = [
        ("account", before.account.clone(), after.account.clone()),
        ("to", before.to.join("\n"), after.to.join("\n")),
        ("subject", before.subject.clone(), after.subject.clone()),
        ("files", files(before), files(after)),
        ("text", before.body.clone(), after.body.clone()),
    ];
    let differ = parts.into_iter().filter(|(_, before, after)| before != after);
    differ
        .map(|(part, before, after)| DraftDifference { part, diff: diff(&before, &after) })
        .collect()
}

fn diff(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT_LINES) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            lines.push(format!(
                "{}{}",
                change.tag(),
                change.value().trim_end_matches(['\r', '\n'])
            ));
        }
    }
    if lines.len() > MAX_LINES {
        let more = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!(" and {more} more lines"));
    }
    lines.join("\n")
}
