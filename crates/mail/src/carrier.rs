//! Sends drafts of the kind mail.

use std::sync::Arc;

use toolcrib_assistant::draft::{Carrier, Delivery, Draft, DraftAttachment, DraftKind};
use toolcrib_core::{ArtifactRef, ArtifactStore, BoxFuture};

use crate::account::MailAccounts;
use crate::error::MailError;
use crate::message::{Compose, compose};
use crate::{mailbox, submission};

/// Bytes of all files of one mail; most servers take 25 MB.
pub(crate) const MAX_FILES: u64 = 20 << 20;

/// Sends drafts of the kind mail.
pub struct MailCarrier {
    accounts: MailAccounts,
    artifacts: Arc<dyn ArtifactStore>,
}

impl MailCarrier {
    /// Sends from these accounts, with files from these artifacts.
    #[must_use]
    pub fn new(accounts: MailAccounts, artifacts: Arc<dyn ArtifactStore>) -> Self {
        Self { accounts, artifacts }
    }

    async fn send(&self, owner: &str, draft: &Draft) -> Result<Delivery, MailError> {
        let account = self.accounts.find(Some(&draft.account))?;
        let login = self.accounts.login(account).await?;
        let mut files = Vec::new();
        for file in &draft.attachments {
            files.push(self.content(owner, file).await?);
        }
        let message = compose(Compose { account: &login.account, draft, files })?;
        let delivery = submission::send(&login, &draft.to, &message).await;
        // Gmail keeps sent mail by itself; a second copy would be one too many.
        let keeps_itself = login.account.smtp.host.ends_with("gmail.com");
        if delivery != Delivery::Sent(None) || keeps_itself {
            return Ok(delivery);
        }
        Ok(match mailbox::keep_sent(&login, &message).await {
            Ok(()) => Delivery::Sent(None),
            Err(error) => Delivery::Sent(Some(format!(
                "The mail was sent, but there is no copy in the Sent folder. {error}"
            ))),
        })
    }

    async fn content(&self, owner: &str, file: &DraftAttachment) -> Result<Vec<u8>, MailError> {
        let (artifacts, owner, file) =
            (Arc::clone(&self.artifacts), owner.to_owned(), file.clone());
        let gone = MailError::Argument(format!("The file {} is not there any more.", file.name));
        let read = tokio::task::spawn_blocking(move || {
            let artifact = ArtifactRef(file.artifact);
            let length = usize::try_from(file.bytes.min(MAX_FILES)).ok()?;
            artifacts.read(&artifact, &owner, 0, length).ok()?
        });
        read.await.ok().flatten().ok_or(gone)
    }
}

impl Carrier for MailCarrier {
    fn kind(&self) -> DraftKind {
        DraftKind::Mail
    }

    fn deliver<'a>(&'a self, owner: &'a str, draft: &'a Draft) -> BoxFuture<'a, Delivery> {
        Box::pin(async move {
            let sent = self.send(owner, draft).await;
            sent.unwrap_or_else(|error| Delivery::Failed(error.to_string()))
        })
    }
}
