//! What the tools work on, and all of them as a source for the registry.

use std::sync::Arc;

use toolcrib_assistant::draft::Drafts;
use toolcrib_assistant::{LabelsOfRuns, WorkspaceFiles};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{ArtifactStore, Entry, Handler, ToolOutput, Trust, TypedHandler};

use super::definition::SOURCE;
use super::{check_email, compose_email, read_email, reply_email, search_email, setup_email};
use crate::account::{MailAccounts, PasswordVault};

/// What the tools work on.
#[derive(Clone)]
pub struct MailTools {
    /// The accounts.
    pub accounts: MailAccounts,
    /// Masks the password of a call before it is recorded.
    pub vault: Arc<dyn PasswordVault>,
    /// The drafts.
    pub drafts: Drafts,
    /// Where files are stored.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Files of the workspace.
    pub files: Arc<dyn WorkspaceFiles>,
    /// Taint labels of open runs.
    pub labels: LabelsOfRuns,
}

impl MailTools {
    /// The tools in declaration order.
    #[must_use]
    pub fn handlers(&self) -> Vec<Arc<dyn Handler>> {
        let tools = || self.clone();
        vec![
            TypedHandler::handler(setup_email::SetupEmail(tools())),
            TypedHandler::handler(check_email::CheckEmail(tools())),
            TypedHandler::handler(read_email::ReadEmail(tools())),
            TypedHandler::handler(search_email::SearchEmail(tools())),
            TypedHandler::handler(compose_email::ComposeEmail(tools())),
            TypedHandler::handler(reply_email::ReplyEmail(tools())),
        ]
    }

    /// The tools as a source for the registry.
    #[must_use]
    pub fn source(&self) -> FixedSource {
        FixedSource::new(SOURCE, self.handlers().into_iter().map(Entry::Local).collect())
    }
}

/// A result with text of mails: it comes from outside.
pub(super) fn from_mail(value: serde_json::Value, account: &str) -> ToolOutput {
    ToolOutput::structured(value).with_origin(Trust::External, format!("mail of {account}"))
}
