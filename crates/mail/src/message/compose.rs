//! A draft as a message (RFC 5322).

use mail_builder::MessageBuilder;
use mail_builder::headers::address::Address;
use mail_builder::headers::message_id::MessageId;
use mail_builder::headers::raw::Raw;
use toolcrib_assistant::draft::Draft;
use toolcrib_core::Notification;

use crate::account::MailAccount;
use crate::error::MailError;

/// What becomes a message.
pub(crate) struct Compose<'a> {
    pub(crate) account: &'a MailAccount,
    pub(crate) draft: &'a Draft,
    /// The content of each file of the draft.
    pub(crate) files: Vec<Vec<u8>>,
}

/// The message: only ASCII, whatever is in it, so that every server takes it.
pub(crate) fn compose(what: Compose<'_>) -> Result<Vec<u8>, MailError> {
    let Compose { account, draft, files } = what;
    let to: Vec<Address<'_>> =
        draft.to.iter().map(|to| Address::new_address(None::<&str>, to.as_str())).collect();
    let mut message = MessageBuilder::new()
        .from(sender(account))
        .to(Address::new_list(to))
        .subject(draft.subject.as_str())
        .message_id(bare(&draft.message_id))
        .text_body(draft.body.as_str());
    if let Some(id) = &draft.in_reply_to {
        message = message.in_reply_to(bare(id));
    }
    if !draft.references.is_empty() {
        let ids = draft.references.iter().map(|id| bare(id));
        message = message.references(MessageId::new_list(ids));
    }
    for (file, bytes) in draft.attachments.iter().zip(files) {
        message = message.attachment(file.media_type.as_str(), file.name.as_str(), bytes);
    }
    write(message)
}

/// A notification as a mail of the account to itself. Programs that answer mail leave it alone
/// (RFC 3834).
pub(crate) fn compose_notification(
    account: &MailAccount,
    notification: &Notification,
) -> Result<Vec<u8>, MailError> {
    let id = format!("{}@{}", notification.id, account.domain());
    let link = notification.web_link().map(|link| format!("\n\n{link}")).unwrap_or_default();
    let outside = match &notification.untrusted {
        Some(source) => format!("\n\nText from outside is in it: {source}"),
        None => String::new(),
    };
    let message = MessageBuilder::new()
        .from(sender(account))
        .to(Address::new_address(None::<&str>, account.address.as_str()))
        .subject(notification.title.as_str())
        .message_id(id)
        .header("Auto-Submitted", Raw::new("auto-generated"))
        .text_body(format!("{}{link}{outside}\n", notification.message));
    write(message)
}

fn sender(account: &MailAccount) -> Address<'_> {
    let name = (!account.display_name.is_empty()).then_some(account.display_name.as_str());
    Address::new_address(name, account.address.as_str())
}

fn write(message: MessageBuilder<'_>) -> Result<Vec<u8>, MailError> {
    let written = message.write_to_vec();
    written.map_err(|error| MailError::Argument(format!("The mail cannot be written: {error}")))
}

/// A Message-ID without its angle brackets, which the writer adds.
fn bare(id: &str) -> &str {
    id.trim().trim_start_matches('<').trim_end_matches('>')
}
