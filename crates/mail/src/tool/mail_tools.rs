//! The accounts, stores and services that the mail tools share.

use std::sync::Arc;

use toolcrib_assistant::draft::Drafts;
use toolcrib_assistant::notify::Notifier;
use toolcrib_assistant::{LabelsOfRuns, WorkspaceFiles};
use toolcrib_core::{ArtifactStore, ToolOutput, Trust};
use toolcrib_net::HttpClient;

use crate::account::{MailAccounts, PasswordVault};

/// The accounts, stores and services of the mail tools.
#[derive(Clone)]
pub struct MailTools {
    /// The accounts.
    pub accounts: MailAccounts,
    /// Masks the password of a call before it is recorded.
    pub vault: Arc<dyn PasswordVault>,
    /// Reaches the addresses of mailing lists.
    pub client: HttpClient,
    /// The drafts.
    pub drafts: Drafts,
    /// Tells the person about drafts.
    pub notifier: Notifier,
    /// Where files are stored.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Files of the workspace.
    pub files: Arc<dyn WorkspaceFiles>,
    /// Taint labels of open runs.
    pub labels: LabelsOfRuns,
}

/// A result with text of mails: it comes from outside.
pub(super) fn from_mail(value: serde_json::Value, account: &str) -> ToolOutput {
    ToolOutput::structured(value).with_origin(Trust::External, format!("mail of {account}"))
}
