//! The data that the assistant's tools use.

use std::sync::Arc;

use toolcrib_core::{ArtifactStore, Author, CallCtx};

use crate::calendar::CalendarAccount;
use crate::custom_instructions::CustomInstructions;
use crate::document::Documents;
use crate::goal::Goals;
use crate::list::Lists;
use crate::memory::Memories;
use crate::notify::{NewNotification, Notifier};
use crate::task::Tasks;
use crate::time::parse_zone;
use crate::{LabelsOfRuns, WorkspaceFiles, untrusted_source};

/// The data that the tools use.
#[derive(Clone)]
pub struct AssistantTools {
    /// The memories.
    pub memories: Memories,
    /// The texts that people have in the system prompt.
    pub custom_instructions: CustomInstructions,
    /// The tasks.
    pub tasks: Tasks,
    /// The notifications.
    pub notifier: Notifier,
    /// The store for files.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// The owner's calendar; `None` if none is configured.
    pub calendar: Option<CalendarAccount>,
    /// The lists.
    pub lists: Lists,
    /// The goals.
    pub goals: Goals,
    /// The documents.
    pub documents: Documents,
    /// Files of the workspace.
    pub files: Arc<dyn WorkspaceFiles>,
    /// Taint labels of open runs.
    pub labels: LabelsOfRuns,
}

impl AssistantTools {
    /// Notifies the person that a task or goal with this id waits for their approval. If the
    /// notification cannot be sent, nothing else changes: the model gets the same information.
    pub(super) async fn tell_waiting(&self, ctx: &CallCtx, id: &str, subject: &str, command: &str) {
        let subject = subject.lines().next().unwrap_or_default();
        let title: String = format!("Waits for you: {subject}").chars().take(100).collect();
        let new = NewNotification {
            owner: ctx.context.owner.clone(),
            title: title.chars().filter(|c| !c.is_control()).collect(),
            message: format!(
                "Its text comes from a run that had read text from outside. Look at it, then let it run: {command} {id}"
            ),
            tag: Some(id.to_owned()),
            untrusted: self.untrusted(ctx),
            // Not sent as a call: the hourly maximum applies to notifications of models.
            author: Author { call: None, ..author(ctx) },
            ..NewNotification::default()
        };
        self.notifier.send(new).await.ok();
    }

    /// Returns the source that makes a text of this call untrusted.
    pub(super) fn untrusted(&self, ctx: &CallCtx) -> Option<String> {
        untrusted_source(&self.labels, ctx)
    }
}

/// Returns the time zone of the person, if the surface provides it; `None` for this machine's zone.
/// A zone that this machine does not know is ignored: results state their zone, while a model could
/// not correct a call that always fails.
pub(super) fn zone_of(ctx: &CallCtx) -> Option<String> {
    let name = ctx.context.surroundings.zone()?;
    parse_zone(Some(name)).is_ok().then(|| name.to_owned())
}

/// Returns the author of a call's changes: its agent, or the client that made it.
#[must_use]
pub fn author(ctx: &CallCtx) -> Author {
    let context = &ctx.context;
    let names = [&context.agent, &context.device, &context.channel];
    let by = names.into_iter().find(|name| !name.is_empty()).cloned();
    Author { by: by.unwrap_or_else(|| "call".to_owned()), run: ctx.run, call: Some(ctx.call) }
}
