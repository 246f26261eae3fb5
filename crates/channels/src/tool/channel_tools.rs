//! The accounts, stores and services that the tools share.

use toolcrib_assistant::LabelsOfRuns;
use toolcrib_assistant::draft::Drafts;
use toolcrib_assistant::notify::Notifier;

use crate::account::ChannelAccounts;

/// Id of the source of these tools.
pub const SOURCE: &str = "channels";
/// The configuration value that says that there is an account.
pub const ACCOUNT_KEY: &str = "account";

/// The accounts, stores and services of the tools.
#[derive(Clone)]
pub struct ChannelTools {
    /// The accounts.
    pub accounts: ChannelAccounts,
    /// The drafts.
    pub drafts: Drafts,
    /// Notifies the person about drafts.
    pub notifier: Notifier,
    /// Taint labels of open runs.
    pub labels: LabelsOfRuns,
}
