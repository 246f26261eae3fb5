//! Creates a draft of a person.

use toolcrib_assistant::draft::{DraftKind, NewDraft, chat_recipient, sms_number};
use toolcrib_mail::recipients;

use super::row::DraftReply;
use crate::context::OpContext;
use crate::error::OpError;
use crate::lists::writer;

/// The part of a Message-ID after the `@` for kinds without an account.
const DOMAIN: &str = "toolcrib";

/// A draft to create.
#[derive(Debug, Clone, Default)]
pub struct CreateDraftRequest {
    /// `mail`, `webhook`, `chat` or `sms`.
    pub kind: String,
    /// The account that sends a mail, or the channel that sends a message; `None` selects the only
    /// one.
    pub account: Option<String>,
    /// Recipients: mail addresses, one web address, one person such as `telegram:123456789`, or one
    /// phone number.
    pub to: Vec<String>,
    /// Subject of a mail.
    pub subject: String,
    /// Text; for a webhook, the sent body.
    pub body: String,
}

/// Creates a draft. Nothing is sent.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::Absent`] without such an account, [`OpError::Conflict`] if too
/// many wait, [`OpError::Store`].
pub async fn create(
    ctx: &OpContext<'_>,
    request: CreateDraftRequest,
) -> Result<DraftReply, OpError> {
    let CreateDraftRequest { kind, account, to, subject, body } = request;
    let kind: DraftKind = kind.parse().map_err(|()| {
        OpError::Invalid(format!("kind is mail, webhook, chat or sms, not \"{kind}\""))
    })?;
    let (account, message_domain, to) = match kind {
        DraftKind::Mail => {
            let account = ctx.toolcrib.mail_accounts().find(account.as_deref())?;
            let domain = account.domain().to_owned();
            (account.address, domain, recipients(&to.join(", "))?)
        }
        DraftKind::Webhook => (String::new(), DOMAIN.to_owned(), to),
        DraftKind::Chat => {
            let account = channel_of(ctx, account.as_deref(), &to)?;
            (account, DOMAIN.to_owned(), to)
        }
        DraftKind::Sms => {
            let phone = ctx.toolcrib.sms().phones.find()?.for_sending()?;
            let to = to.into_iter().map(|to| sms_number(&to).unwrap_or(to)).collect();
            (phone.name, DOMAIN.to_owned(), to)
        }
    };
    let new = NewDraft {
        kind,
        account,
        to,
        subject,
        body,
        attachments: Vec::new(),
        in_reply_to: None,
        references: Vec::new(),
        message_domain,
    };
    let made = ctx.toolcrib.drafts().create(&writer(&ctx.store), new).await?;
    Ok(DraftReply::new(&ctx.store, made))
}

/// Returns the channel that sends a message: the named one, or the only one of the service of the
/// recipient.
fn channel_of(ctx: &OpContext<'_>, name: Option<&str>, to: &[String]) -> Result<String, OpError> {
    let accounts = ctx.toolcrib.channel_accounts();
    if let Some(name) = name {
        return Ok(accounts.find(name)?.id);
    }
    let service = to.first().and_then(|to| chat_recipient(to)).map_or("", |(service, _)| service);
    let mut fitting = accounts.list()?;
    fitting.retain(|one| one.kind.as_str() == service);
    match &fitting[..] {
        [only] => Ok(only.id.clone()),
        [] => Err(OpError::Absent(format!(
            "there is no channel for {}; a recipient is like telegram:123456789",
            to.join(", ")
        ))),
        _ => {
            Err(OpError::Invalid("there are several channels; name one as the account".to_owned()))
        }
    }
}
