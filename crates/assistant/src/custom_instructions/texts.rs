//! The texts of all owners.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_core::{AssistantRowStore, Author, RowKind};

use super::error::InstructionsError;
use crate::SecretCheck;
use crate::rows::{TypedRows, Writer};
use crate::secret_shapes;

/// Characters of the text: about 1,000 tokens of every request.
pub const MAX_CHARS: usize = 4_000;
/// The key of the only row of an owner, by its former name: databases have it.
const KEY: &str = "soul";
/// Maximum changes in a history.
const HISTORY: usize = 50;

/// The text of an owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionsText {
    /// The text.
    pub text: String,
    /// Unix time in milliseconds.
    pub updated_at: i64,
}

/// A change of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionsChange {
    /// The text before; `None` = there was none.
    pub before: Option<String>,
    /// The kind of change.
    pub note: String,
    /// Its author.
    pub author: Author,
    /// Unix time in milliseconds.
    pub at: i64,
}

/// The texts of all owners. Clones share them.
#[derive(Clone)]
pub struct CustomInstructions {
    rows: TypedRows<InstructionsText>,
    is_secret: SecretCheck,
}

impl CustomInstructions {
    /// Texts in this store.
    #[must_use]
    pub fn new(store: Arc<dyn AssistantRowStore>, is_secret: SecretCheck) -> Self {
        Self { rows: TypedRows::new(store, RowKind::CustomInstructions), is_secret }
    }

    /// Returns the text of an owner.
    ///
    /// # Errors
    /// [`InstructionsError::Row`].
    pub async fn get(&self, owner: &str) -> Result<Option<InstructionsText>, InstructionsError> {
        Ok(self.rows.get(owner, KEY).await?.map(|row| row.body))
    }

    /// Writes the text.
    ///
    /// # Errors
    /// [`InstructionsError`] if it cannot be used.
    pub async fn set(
        &self,
        writer: &Writer,
        text: &str,
    ) -> Result<InstructionsText, InstructionsError> {
        let text = text.trim();
        self.check(text)?;
        let new = InstructionsText { text: text.to_owned(), updated_at: self.rows.now() };
        self.rows
            .change(writer, KEY, |before| {
                let is_same = before.as_ref().is_some_and(|before| before.text == new.text);
                let after = if is_same { before } else { Some(new.clone()) };
                Ok((after, "wrote the text".to_owned(), new.clone()))
            })
            .await
    }

    /// Appends a paragraph to the text, unless the text already ends with it. `note` is the reason
    /// for the history.
    ///
    /// # Errors
    /// [`InstructionsError`] if the text cannot be used.
    pub async fn append(
        &self,
        writer: &Writer,
        addition: &str,
        note: &str,
    ) -> Result<(), InstructionsError> {
        let (addition, updated_at) = (addition.trim(), self.rows.now());
        self.check(addition)?;
        let append = |before: Option<InstructionsText>| {
            let text = match &before {
                None => addition.to_owned(),
                Some(before) if before.text.ends_with(addition) => before.text.clone(),
                Some(before) => format!("{}\n\n{addition}", before.text),
            };
            if before.as_ref().is_some_and(|before| before.text == text) {
                return Ok::<_, InstructionsError>((before, note.to_owned(), ()));
            }
            self.check(&text)?;
            Ok((Some(InstructionsText { text, updated_at }), note.to_owned(), ()))
        };
        self.rows.change(writer, KEY, append).await
    }

    fn check(&self, text: &str) -> Result<(), InstructionsError> {
        let chars = text.chars().count();
        if text.is_empty() {
            return Err(InstructionsError::Empty);
        }
        if chars > MAX_CHARS {
            return Err(InstructionsError::TooLong(chars));
        }
        if (self.is_secret)(text) || secret_shapes::occur_in(text) {
            return Err(InstructionsError::Secret);
        }
        Ok(())
    }

    /// The author of the last change that can be taken back.
    pub(super) async fn last_author(
        &self,
        owner: &str,
    ) -> Result<Option<Author>, InstructionsError> {
        let changes = self.rows.changes(owner, Some(KEY), HISTORY).await?;
        Ok(changes.into_iter().find(|change| change.can_be_undone).map(|change| change.author))
    }

    /// Removes the text and returns it.
    ///
    /// # Errors
    /// [`InstructionsError::Row`].
    pub async fn clear(
        &self,
        writer: &Writer,
    ) -> Result<Option<InstructionsText>, InstructionsError> {
        let clear = |before| Ok((None, "cleared the text".to_owned(), before));
        self.rows.change(writer, KEY, clear).await
    }

    /// Undoes the last change; returns the current text.
    ///
    /// # Errors
    /// [`crate::RowError::NothingToUndo`], [`InstructionsError::Row`].
    pub async fn undo(
        &self,
        writer: &Writer,
    ) -> Result<Option<InstructionsText>, InstructionsError> {
        let undone = self.rows.undo(writer, Some(KEY)).await?;
        Ok(undone.into_iter().find_map(|(_, text)| text))
    }

    /// Returns the last changes, newest first.
    ///
    /// # Errors
    /// [`InstructionsError::Row`].
    pub async fn history(&self, owner: &str) -> Result<Vec<InstructionsChange>, InstructionsError> {
        let changes = self.rows.changes(owner, Some(KEY), HISTORY).await?;
        let change = |change: toolcrib_core::AssistantRowChange| InstructionsChange {
            before: change
                .before
                .and_then(|body| serde_json::from_value::<InstructionsText>(body).ok())
                .map(|before| before.text),
            note: change.note,
            author: change.author,
            at: change.at,
        };
        Ok(changes.into_iter().map(change).collect())
    }
}
