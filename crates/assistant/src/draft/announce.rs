//! Notifies the person that a model's draft waits for them.

use toolcrib_core::Author;

use super::model::{Draft, DraftStatus};
use crate::notify::{MAX_TITLE_CHARS, NewNotification, Notifier};
use crate::rows::Writer;

/// Maximum recipients that a notification names.
const NAMED: usize = 3;

/// Notifies the person about a waiting draft; a later notification about it replaces this one. If
/// it cannot be sent, nothing else changes: the draft is still listed.
pub async fn announce(notifier: &Notifier, writer: &Writer, draft: &Draft) {
    if draft.status != DraftStatus::Draft {
        return;
    }
    let subject = draft.subject.trim();
    let what = if subject.is_empty() { draft.kind.as_str() } else { subject };
    let title: String = format!("Draft: {what}").chars().take(MAX_TITLE_CHARS).collect();
    let mut to = draft.to.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if let Some(more) = draft.to.len().checked_sub(NAMED).filter(|more| *more > 0) {
        to += &format!(" and {more} more");
    }
    let to: String = to.chars().take(300).collect();
    let new = NewNotification {
        owner: writer.owner.clone(),
        title,
        message: format!(
            "To {to}. It leaves when you send it: toolcrib draft show {id}, toolcrib draft send {id}",
            id = draft.id
        ),
        tag: Some(draft.id.clone()),
        link: Some(format!("#/drafts/{}", draft.id)),
        untrusted: draft.untrusted.clone(),
        // Not sent as a call: the hourly maximum applies to notifications of models.
        author: Author { call: None, ..writer.author.clone() },
        ..NewNotification::default()
    };
    notifier.send(new).await.ok();
}
