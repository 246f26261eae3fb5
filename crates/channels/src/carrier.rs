//! Sends drafts of the kind chat.

use toolcrib_assistant::draft::{Carrier, Delivery, Draft, DraftKind, chat_recipient};
use toolcrib_core::BoxFuture;

use crate::account::ChannelAccounts;
use crate::error::ChannelError;
use crate::split_text::split_text;

/// Sends drafts of the kind chat.
pub struct ChatCarrier {
    accounts: ChannelAccounts,
}

impl ChatCarrier {
    /// Creates a carrier that sends from these accounts.
    #[must_use]
    pub fn new(accounts: ChannelAccounts) -> Self {
        Self { accounts }
    }

    async fn send(&self, draft: &Draft) -> Delivery {
        let to = draft.to.first().map(String::as_str).unwrap_or_default();
        let opened = self.accounts.find(&draft.account).and_then(|account| {
            let channel = self.accounts.open(&account)?;
            Ok((account, channel))
        });
        let (account, channel) = match opened {
            Ok(opened) => opened,
            Err(error) => return Delivery::Failed(error.to_string()),
        };
        let user = chat_recipient(to).filter(|(kind, _)| *kind == account.kind.as_str());
        let Some((_, user)) = user else {
            return Delivery::Failed(format!("{to} is not a person of {}.", account.kind));
        };
        let room = match channel.room_of(user).await {
            Ok(room) => room,
            Err(error) => return Delivery::Failed(error.to_string()),
        };
        match channel.is_private(&room).await {
            Ok(true) => {}
            Ok(false) => return Delivery::Failed(format!("Others are in the room with {user}.")),
            Err(error) => return Delivery::Failed(error.to_string()),
        }
        let parts = split_text(&draft.body, channel.max_chars());
        for (at, part) in parts.iter().enumerate() {
            let key = format!("{}-{at}", draft.id);
            if let Err(error) = channel.send_text(&room, part, &key).await {
                return judge(&error, at, parts.len());
            }
        }
        Delivery::Sent(None)
    }
}

/// Interprets an error after `sent` of `all` messages.
fn judge(error: &ChannelError, sent: usize, all: usize) -> Delivery {
    let is_certain = match error {
        ChannelError::Unreachable { unsent, .. } => *unsent,
        ChannelError::Refused { status, .. } => *status < 500,
        ChannelError::Answer { .. } => false,
        _ => true,
    };
    match (is_certain, sent) {
        (true, 0) => Delivery::Failed(error.to_string()),
        (true, sent) => Delivery::Unknown(format!("Only {sent} of {all} messages left: {error}")),
        (false, _) => Delivery::Unknown(error.to_string()),
    }
}

impl Carrier for ChatCarrier {
    fn kind(&self) -> DraftKind {
        DraftKind::Chat
    }

    fn deliver<'a>(&'a self, _: &'a str, draft: &'a Draft) -> BoxFuture<'a, Delivery> {
        Box::pin(self.send(draft))
    }
}
