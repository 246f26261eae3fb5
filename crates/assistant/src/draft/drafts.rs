//! The drafts of all owners: creating, changing and discarding them.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Notify;
use toolcrib_core::{AssistantRowStore, CallStore, RowKind, TaskId};

use super::error::DraftError;
use super::kind::DraftKind;
use super::limits::MAX_WAITING;
use super::model::{Draft, DraftChange, DraftStatus, NewDraft, check};
use super::rule::SendRule;
use super::sending::Carrier;
use crate::SecretCheck;
use crate::rows::{RowError, Step, Stored, TypedRows, Writer};
use crate::secret_shapes;

/// Maximum stored drafts of one owner; the oldest finished ones are removed.
const KEPT: usize = 200;

/// The drafts of all owners. Clones share them.
#[derive(Clone)]
pub struct Drafts {
    pub(super) rows: TypedRows<Draft>,
    pub(super) claims: Arc<dyn CallStore>,
    pub(super) carriers: Arc<[Arc<dyn Carrier>]>,
    rules: Arc<RwLock<Vec<SendRule>>>,
    is_secret: SecretCheck,
    pub(super) written: Arc<Notify>,
}

impl Drafts {
    /// Creates drafts in this store, with their carriers. `claims` determines which processes are
    /// alive.
    #[must_use]
    pub fn new(
        store: Arc<dyn AssistantRowStore>,
        claims: Arc<dyn CallStore>,
        carriers: Vec<Arc<dyn Carrier>>,
        is_secret: SecretCheck,
    ) -> Self {
        let rows = TypedRows::new(store, RowKind::Draft);
        let (rules, written) = (Arc::default(), Arc::default());
        Self { rows, claims, carriers: carriers.into(), rules, is_secret, written }
    }

    /// Replaces the rules that allow sending drafts without approval.
    pub fn set_rules(&self, rules: Vec<SendRule>) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
    }

    /// Returns whether the person's rules allow sending a draft to these recipients without
    /// approval.
    #[must_use]
    pub fn has_rule_for(&self, kind: DraftKind, recipients: &[String]) -> bool {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        SendRule::covers(&rules, kind, recipients)
    }

    /// Creates a draft without sending it.
    ///
    /// # Errors
    /// [`DraftError`] if it is invalid.
    pub async fn create(&self, writer: &Writer, new: NewDraft) -> Result<Draft, DraftError> {
        let all = self.list(&writer.owner).await?;
        if all.iter().filter(|draft| draft.status.is_open()).count() >= MAX_WAITING {
            return Err(DraftError::Full);
        }
        let now = self.rows.now();
        // Ids of tasks are unique and sort by time; a draft has its own prefix.
        let id = TaskId::fresh().to_string().replacen("task_", "draft_", 1);
        let unique = id.trim_start_matches("draft_");
        let draft = Draft {
            kind: new.kind,
            status: DraftStatus::Draft,
            account: new.account,
            to: new.to,
            subject: new.subject,
            body: new.body,
            attachments: new.attachments,
            in_reply_to: new.in_reply_to,
            references: new.references,
            message_id: format!("<{unique}@{}>", new.message_domain),
            untrusted: writer.untrusted.clone(),
            author: writer.author.clone(),
            attempt: None,
            note: None,
            created_at: now,
            changed_at: now,
            version: 0,
            id,
        };
        self.check(&draft)?;
        self.put(writer, "made", None, &draft).await?;
        self.remove_oldest(writer, &all).await?;
        self.get(&writer.owner, &draft.id).await
    }

    /// Lists all drafts of an owner, the newest first.
    ///
    /// # Errors
    /// [`DraftError::Row`].
    pub async fn list(&self, owner: &str) -> Result<Vec<Draft>, DraftError> {
        let mut all = Vec::new();
        for row in self.rows.all(owner).await? {
            all.push(self.settled(owner, draft_of(row)).await?);
        }
        all.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        Ok(all)
    }

    /// Returns one draft.
    ///
    /// # Errors
    /// [`DraftError::Unknown`], [`DraftError::Row`].
    pub async fn get(&self, owner: &str, id: &str) -> Result<Draft, DraftError> {
        let found = self.rows.get(owner, id.trim()).await?.ok_or_else(|| unknown(id))?;
        self.settled(owner, draft_of(found)).await
    }

    /// Changes a draft that was not sent yet; with a `version`, only if the draft has this version.
    ///
    /// # Errors
    /// [`DraftError`] if it cannot be changed, or not in this way.
    pub async fn edit(
        &self,
        writer: &Writer,
        id: &str,
        version: Option<i64>,
        change: &DraftChange,
    ) -> Result<Draft, DraftError> {
        self.change_text(writer, id, version, change, |_| Ok(())).await
    }

    async fn change_text(
        &self,
        writer: &Writer,
        id: &str,
        version: Option<i64>,
        change: &DraftChange,
        may: impl Fn(&Draft) -> Result<(), DraftError>,
    ) -> Result<Draft, DraftError> {
        let is_person = writer.author.run.is_none() && writer.author.call.is_none();
        self.change(writer, id, version, "changed", |draft| {
            may(&draft)?;
            if !draft.status.is_editable() {
                return Err(refused(&draft, "changed"));
            }
            let text_is_new = change.body.is_some() || change.subject.is_some();
            let draft = Draft {
                status: DraftStatus::Draft,
                note: None,
                author: writer.author.clone(),
                // The draft stays marked as untrusted until a person writes a new text.
                untrusted: match (&writer.untrusted, text_is_new) {
                    (Some(source), _) => Some(source.clone()),
                    (None, true) if is_person => None,
                    (None, _) => draft.untrusted.clone(),
                },
                ..change.applied_to(draft)
            };
            self.check(&draft)?;
            Ok(draft)
        })
        .await
    }

    /// Changes a draft that the same agent wrote, if no person has changed it since.
    ///
    /// # Errors
    /// As [`Self::edit`], and [`DraftError::NotOwn`].
    pub async fn rewrite(
        &self,
        writer: &Writer,
        id: &str,
        change: &DraftChange,
    ) -> Result<Draft, DraftError> {
        self.change_text(writer, id, None, change, |draft| {
            let is_own = draft.is_by_a_model() && draft.author.by == writer.author.by;
            if is_own { Ok(()) } else { Err(DraftError::NotOwn(draft.id.clone())) }
        })
        .await
    }

    /// Discards a draft: it stays readable for a while, but cannot be sent.
    ///
    /// # Errors
    /// [`DraftError::Unknown`], [`DraftError::State`] if it is finished or being sent.
    pub async fn discard(&self, writer: &Writer, id: &str) -> Result<Draft, DraftError> {
        self.change(writer, id, None, "discarded", |draft| {
            if !draft.status.is_open() || draft.status == DraftStatus::Sending {
                return Err(refused(&draft, "discarded"));
            }
            Ok(Draft { status: DraftStatus::Discarded, ..draft })
        })
        .await
    }

    /// Changes a draft; retries if another process changes it meanwhile.
    pub(super) async fn change(
        &self,
        writer: &Writer,
        id: &str,
        version: Option<i64>,
        note: &str,
        next: impl Fn(Draft) -> Result<Draft, DraftError>,
    ) -> Result<Draft, DraftError> {
        for _ in 0..ATTEMPTS {
            let before = self.get(&writer.owner, id).await?;
            if version.is_some_and(|version| version != before.version) {
                return Err(DraftError::Stale(before.id));
            }
            let expected = before.version;
            let after = Draft { changed_at: self.rows.now(), ..next(before)? };
            if self.put(writer, note, Some(expected), &after).await? {
                return self.get(&writer.owner, id).await;
            }
        }
        Err(RowError::Contended(id.to_owned()).into())
    }

    /// Writes a draft; `false` if it does not have the expected version.
    pub(super) async fn put(
        &self,
        writer: &Writer,
        note: &str,
        expected: Option<i64>,
        draft: &Draft,
    ) -> Result<bool, DraftError> {
        let step = Step { key: draft.id.clone(), expected, body: Some(draft.clone()) };
        let is_written = self.rows.write(writer, note, vec![step]).await?;
        if is_written {
            self.written.notify_one();
        }
        Ok(is_written)
    }

    fn check(&self, draft: &Draft) -> Result<(), DraftError> {
        check(draft)?;
        let is_secret = |text: &str| (self.is_secret)(text) || secret_shapes::occur_in(text);
        if is_secret(&draft.body) || is_secret(&draft.subject) {
            return Err(DraftError::Secret);
        }
        Ok(())
    }

    async fn remove_oldest(&self, writer: &Writer, all: &[Draft]) -> Result<(), DraftError> {
        let over = all.iter().filter(|draft| !draft.status.is_open());
        for draft in over.skip(KEPT) {
            let step = Step { key: draft.id.clone(), expected: Some(draft.version), body: None };
            self.rows.write(writer, "removed", vec![step]).await?;
        }
        Ok(())
    }
}

/// Maximum attempts at a change while others change the same draft.
pub(super) const ATTEMPTS: usize = 8;

pub(super) fn draft_of(row: Stored<Draft>) -> Draft {
    Draft { version: row.revision, ..row.body }
}

pub(super) fn unknown(id: &str) -> DraftError {
    DraftError::Unknown(id.chars().filter(|c| !c.is_control()).take(60).collect())
}

/// Creates the error for an action that the state of a draft does not allow.
pub(super) fn refused(draft: &Draft, what: &str) -> DraftError {
    let (id, status) = (&draft.id, draft.status.as_str());
    DraftError::State(format!("The draft {id} is {status}, so it cannot be {what}."))
}
