//! Creates a draft of a person.

use toolcrib_assistant::draft::{DraftKind, NewDraft};
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
    /// `mail` or `webhook`.
    pub kind: String,
    /// The account that sends a mail; `None` selects the only one.
    pub account: Option<String>,
    /// Recipients: mail addresses, or one web address.
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
    let kind: DraftKind = kind
        .parse()
        .map_err(|()| OpError::Invalid(format!("kind is mail or webhook, not \"{kind}\"")))?;
    let (account, message_domain, to) = match kind {
        DraftKind::Mail => {
            let account = ctx.toolcrib.mail_accounts().find(account.as_deref())?;
            let domain = account.domain().to_owned();
            (account.address, domain, recipients(&to.join(", "))?)
        }
        DraftKind::Webhook => (String::new(), DOMAIN.to_owned(), to),
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
