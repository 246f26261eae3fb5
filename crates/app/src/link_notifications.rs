//! Links for people at pages and clients: each link becomes a notification.

use toolcrib_assistant::LabelsOfRuns;
use toolcrib_assistant::notify::{NewNotification, Notifier};
use toolcrib_builtins::ShowLink;
use toolcrib_core::{Author, BoxFuture, CallCtx, ToolError};

/// Title of the notification.
const TITLE: &str = "Open this link";
/// Maximum number of characters of an address in the message; the link contains the complete
/// address.
const SHOWN_CHARS: usize = 300;

/// Shows links as notifications.
pub(crate) struct LinkNotifications {
    pub(crate) notifier: Notifier,
    pub(crate) labels: LabelsOfRuns,
}

impl ShowLink for LinkNotifications {
    fn show_link<'a>(
        &'a self,
        ctx: &'a CallCtx,
        url: &'a str,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        let labels = ctx.run.and_then(|run| (self.labels)(run));
        let untrusted = labels.and_then(|labels| labels.untrusted);
        let context = &ctx.context;
        let new = NewNotification {
            owner: context.owner.clone(),
            title: TITLE.to_owned(),
            message: url.chars().take(SHOWN_CHARS).collect(),
            link: Some(url.to_owned()),
            untrusted: untrusted.map(|source| source.to_string()),
            author: Author { by: context.agent.clone(), run: ctx.run, call: Some(ctx.call) },
            ..NewNotification::default()
        };
        Box::pin(async move {
            self.notifier.send(new).await?;
            Ok(())
        })
    }
}
