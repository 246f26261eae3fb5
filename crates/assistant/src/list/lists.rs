//! The lists of all owners, and all operations on them.

use std::sync::Arc;

use jiff::tz::TimeZone;
use toolcrib_core::similar_names::similar_names;
use toolcrib_core::{AssistantRowStore, RowKind};

use super::error::ListError;
use super::model::{List, check_items, check_name, folded, one_line, shown};
use super::request::{ListChange, ListChanged, ListHistoryEntry};
use crate::SecretCheck;
use crate::rows::{RowError, Step, Stored, TypedRows, Writer};
use crate::secret_shapes;
use crate::time::parse_local_time;

/// Maximum lists of one owner.
pub const MAX_LISTS: usize = 200;
/// Maximum changes in a history.
const HISTORY: usize = 100;

/// The lists of all owners. Clones share them.
#[derive(Clone)]
pub struct Lists {
    rows: TypedRows<List>,
    is_secret: SecretCheck,
}

impl Lists {
    /// Creates lists in this store.
    #[must_use]
    pub fn new(store: Arc<dyn AssistantRowStore>, is_secret: SecretCheck) -> Self {
        Self { rows: TypedRows::new(store, RowKind::List), is_secret }
    }

    /// Returns all lists of an owner, the most recently changed first.
    ///
    /// # Errors
    /// [`ListError::Row`].
    pub async fn all(&self, owner: &str) -> Result<Vec<List>, ListError> {
        let mut all = self.rows.all(owner).await?;
        all.sort_by_key(|row| std::cmp::Reverse(row.revision));
        Ok(all.into_iter().map(|row| row.body).collect())
    }

    /// Returns one list by its name, ignoring case; without a name, the most recently changed one.
    ///
    /// # Errors
    /// [`ListError::Unknown`], [`ListError::NoLists`], [`ListError::Row`].
    pub async fn get(&self, owner: &str, name: Option<&str>) -> Result<List, ListError> {
        Ok(self.stored(owner, name).await?.body)
    }

    /// Creates a list.
    ///
    /// # Errors
    /// [`ListError::Exists`], [`ListError::TooManyLists`], and those of the texts.
    pub async fn create(
        &self,
        writer: &Writer,
        name: &str,
        items: &[String],
    ) -> Result<List, ListError> {
        self.check(name, items)?;
        self.check_room(&writer.owner).await?;
        let at = self.rows.now();
        let mut list = List::new(name, at, writer.untrusted.clone());
        let untrusted = writer.untrusted.as_deref();
        list.apply(&ListChange::Add(items.to_vec()), at, untrusted)?;
        let step = Step { key: folded(name), expected: None, body: Some(list.clone()) };
        let note = format!("made the list {}", list.name);
        match self.rows.write(writer, &note, vec![step]).await? {
            true => Ok(list),
            false => Err(ListError::Exists(one_line(name))),
        }
    }

    /// Changes the items of a list. Adding items to an unknown name creates the list.
    ///
    /// # Errors
    /// [`ListError`] if nothing could be changed.
    pub async fn change(
        &self,
        writer: &Writer,
        name: Option<&str>,
        change: &ListChange,
    ) -> Result<(List, ListChanged), ListError> {
        if let Some(items) = change.items() {
            check_items(items)?;
        }
        let adds = matches!(change, ListChange::Add(_));
        let key = match name {
            Some(name) if adds => {
                self.check(name, change.items().unwrap_or_default())?;
                if self.rows.get(&writer.owner, &folded(name)).await?.is_none() {
                    self.check_room(&writer.owner).await?;
                }
                folded(name)
            }
            name => self.stored(&writer.owner, name).await?.key,
        };
        if adds {
            self.check_secrets(change.items().unwrap_or_default())?;
        }
        let at = self.rows.now();
        self.rows
            .change(writer, &key, |before| {
                let new = || name.filter(|_| adds);
                let list = before
                    .or_else(|| new().map(|name| List::new(name, at, writer.untrusted.clone())));
                let mut list =
                    list.ok_or_else(|| ListError::Unknown { name: shown(&key), near: Vec::new() })?;
                let changed = list.apply(change, at, writer.untrusted.as_deref())?;
                let note = change.note(&changed);
                Ok((Some(list.clone()), note, (list, changed)))
            })
            .await
    }

    /// Renames a list.
    ///
    /// # Errors
    /// [`ListError::Unknown`], [`ListError::Exists`], [`ListError::BadName`].
    pub async fn rename(
        &self,
        writer: &Writer,
        name: Option<&str>,
        new_name: &str,
    ) -> Result<List, ListError> {
        self.check(new_name, &[])?;
        let old = self.stored(&writer.owner, name).await?;
        let (key, at) = (folded(new_name), self.rows.now());
        let list = List {
            name: one_line(new_name),
            updated_at: at,
            untrusted: writer.untrusted.clone().or(old.body.untrusted),
            items: old.body.items,
            created_at: old.body.created_at,
        };
        let body = Some(list.clone());
        let steps = if key == old.key {
            vec![Step { key, expected: Some(old.revision), body }]
        } else {
            let gone = Step { key: old.key, expected: Some(old.revision), body: None };
            vec![gone, Step { key: key.clone(), expected: None, body }]
        };
        let note = format!("renamed {} to {}", old.body.name, list.name);
        if self.rows.write(writer, &note, steps).await? {
            return Ok(list);
        }
        match self.rows.get(&writer.owner, &folded(new_name)).await? {
            Some(_) => Err(ListError::Exists(one_line(new_name))),
            None => Err(RowError::Contended(list.name).into()),
        }
    }

    /// Deletes a list and returns it; [`Lists::undo`] restores it.
    ///
    /// # Errors
    /// [`ListError::Unknown`], [`ListError::NoLists`], [`ListError::Row`].
    pub async fn delete(&self, writer: &Writer, name: Option<&str>) -> Result<List, ListError> {
        let Stored { key, .. } = self.stored(&writer.owner, name).await?;
        self.rows
            .change(writer, &key, |before| {
                let list = before
                    .ok_or_else(|| ListError::Unknown { name: shown(&key), near: Vec::new() })?;
                Ok((None, format!("deleted the list {}", list.name), list))
            })
            .await
    }

    /// Undoes the last change, of one list if its name is given. Returns the names of the changed
    /// lists, each with its current state.
    ///
    /// # Errors
    /// [`RowError::NothingToUndo`], [`RowError::Store`].
    pub async fn undo(
        &self,
        writer: &Writer,
        name: Option<&str>,
    ) -> Result<Vec<(String, Option<List>)>, ListError> {
        let key = name.map(folded);
        Ok(self.rows.undo(writer, key.as_deref()).await?)
    }

    /// Returns the last changes of a list, newest first, and the source that makes them untrusted.
    /// A deleted list keeps its history.
    ///
    /// # Errors
    /// [`ListError::Unknown`], [`ListError::Time`], [`ListError::Row`].
    pub async fn history(
        &self,
        owner: &str,
        name: Option<&str>,
        since: Option<&str>,
    ) -> Result<(String, Vec<ListHistoryEntry>, Option<String>), ListError> {
        let since = match since {
            Some(since) => Some(parse_local_time(since, &TimeZone::system())?.instant),
            None => None,
        };
        let current = self.stored(owner, name).await;
        let key = match (&current, name) {
            (Ok(list), _) => list.key.clone(),
            (Err(_), Some(name)) => folded(name),
            (Err(_), None) => return Err(ListError::NoLists),
        };
        let changes = self.rows.changes(owner, Some(&key), HISTORY).await?;
        if changes.is_empty()
            && let Err(error) = current
        {
            return Err(error);
        }
        let before = changes.iter().filter_map(|change| change.before.clone());
        let earlier = before.filter_map(|body| serde_json::from_value::<List>(body).ok());
        let mut states = current.ok().map(|row| row.body).into_iter().chain(earlier).peekable();
        let name = states.peek().map_or(key, |list| list.name.clone());
        let outside = states.find_map(|list| list.outside_source().map(str::to_owned));
        let is_recent = |at: i64| since.is_none_or(|since| at >= since.as_millisecond());
        let entries = changes.into_iter().filter(|change| is_recent(change.at));
        let entry = |change: toolcrib_core::AssistantRowChange| ListHistoryEntry {
            note: change.note,
            author: change.author,
            at: change.at,
        };
        Ok((name, entries.map(entry).collect(), outside))
    }

    async fn stored(&self, owner: &str, name: Option<&str>) -> Result<Stored<List>, ListError> {
        let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
            let all = self.rows.all(owner).await?;
            let last = all.into_iter().max_by_key(|row| row.revision);
            return last.ok_or(ListError::NoLists);
        };
        match self.rows.get(owner, &folded(name)).await? {
            Some(list) => Ok(list),
            None => Err(self.unknown(owner, name).await?),
        }
    }

    /// Creates the error for an unknown name, with similar names. Untrusted names are not
    /// suggested.
    async fn unknown(&self, owner: &str, name: &str) -> Result<ListError, ListError> {
        let all = self.all(owner).await?;
        let trusted = all.iter().filter(|list| list.untrusted.is_none());
        let near = similar_names(name, trusted.map(|list| list.name.as_str()));
        let near = near.into_iter().map(str::to_owned).collect();
        Ok(ListError::Unknown { name: shown(name), near })
    }

    async fn check_room(&self, owner: &str) -> Result<(), ListError> {
        if self.rows.all(owner).await?.len() < MAX_LISTS {
            Ok(())
        } else {
            Err(ListError::TooManyLists)
        }
    }

    fn check(&self, name: &str, items: &[String]) -> Result<(), ListError> {
        check_name(name)?;
        if !items.is_empty() {
            check_items(items)?;
        }
        self.check_secrets(&[name.to_owned()])?;
        self.check_secrets(items)
    }

    fn check_secrets(&self, texts: &[String]) -> Result<(), ListError> {
        let is_secret = |text: &String| (self.is_secret)(text) || secret_shapes::occur_in(text);
        if texts.iter().any(is_secret) { Err(ListError::Secret) } else { Ok(()) }
    }
}
