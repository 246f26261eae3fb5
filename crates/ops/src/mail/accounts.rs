//! Adds, lists, tests and removes mail accounts.

use serde::Serialize;
use toolcrib_mail::account::{MailAccount, NewAccount, OauthSettings};
use toolcrib_mail::{DeviceCode, MailError};

use crate::administration::{Act, record};
use crate::context::OpContext;
use crate::error::OpError;

/// An account to add.
pub struct AddMailAccountRequest {
    /// The account.
    pub account: NewAccount,
    /// Its password.
    pub password: String,
}

/// An account to add, with a login by OAuth.
pub struct AddMailOauthRequest {
    /// The account.
    pub account: NewAccount,
    /// Its authorization server.
    pub oauth: OauthSettings,
}

/// The account to test.
#[derive(Debug, Clone)]
pub struct TestMailAccountRequest {
    /// Its id or address; `None` selects the only one.
    pub account: Option<String>,
}

/// An account, without its password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MailAccountReply {
    /// Its short name.
    pub account: String,
    /// Its address.
    pub email: String,
    /// The sender's name.
    pub display_name: String,
    /// Server for reading mail.
    pub imap: String,
    /// Server for sending mail.
    pub smtp: String,
}

impl From<MailAccount> for MailAccountReply {
    fn from(account: MailAccount) -> Self {
        Self {
            imap: account.imap.to_string(),
            smtp: account.smtp.to_string(),
            account: account.id,
            email: account.address,
            display_name: account.display_name,
        }
    }
}

/// Adds an account after a login at both servers; the account is not saved if one of them refuses
/// it.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::Unavailable`] if a server cannot be reached,
/// [`OpError::Denied`] if it refuses the password, [`OpError::Unusable`].
pub async fn add(
    ctx: &OpContext<'_>,
    request: AddMailAccountRequest,
) -> Result<MailAccountReply, OpError> {
    let AddMailAccountRequest { account, password } = request;
    let added = ctx.toolcrib.mail_accounts().add(account, &password).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    record(&ctx.store, secrets, Act::new("mail.add", added.address.as_str())).await?;
    Ok(added.into())
}

/// Adds an account after the person has agreed in a browser, and after a login at both servers.
/// `show` is called once with the address and the code; then the function waits for the person.
///
/// # Errors
/// The errors of [`add`]; [`OpError::Unavailable`] if the person does not agree.
pub async fn add_oauth(
    ctx: &OpContext<'_>,
    request: AddMailOauthRequest,
    show: impl FnOnce(&DeviceCode) + Send,
) -> Result<MailAccountReply, OpError> {
    let AddMailOauthRequest { account, oauth } = request;
    let added = ctx.toolcrib.mail_accounts().add_oauth(account, oauth, show).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    record(&ctx.store, secrets, Act::new("mail.add", added.address.as_str())).await?;
    Ok(added.into())
}

/// Returns all accounts.
///
/// # Errors
/// [`OpError::Unusable`].
pub fn list(ctx: &OpContext<'_>) -> Result<Vec<MailAccountReply>, OpError> {
    Ok(ctx.toolcrib.mail_accounts().list()?.into_iter().map(Into::into).collect())
}

/// Logs in at both servers.
///
/// # Errors
/// The errors of [`add`], and [`OpError::Absent`].
pub async fn test(
    ctx: &OpContext<'_>,
    request: TestMailAccountRequest,
) -> Result<MailAccountReply, OpError> {
    Ok(ctx.toolcrib.mail_accounts().test(request.account.as_deref()).await?.into())
}

/// Removes an account and its password.
///
/// # Errors
/// [`OpError::Absent`], [`OpError::Unusable`].
pub async fn remove(ctx: &OpContext<'_>, account: &str) -> Result<MailAccountReply, OpError> {
    let removed = ctx.toolcrib.mail_accounts().remove(account).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    record(&ctx.store, secrets, Act::new("mail.remove", removed.address.as_str())).await?;
    Ok(removed.into())
}

impl From<MailError> for OpError {
    fn from(error: MailError) -> Self {
        let text = error.to_string();
        match error {
            MailError::NoAccount { .. } | MailError::NoMail(_) => Self::Absent(text),
            MailError::WhichAccount(_) | MailError::BadAccount(_) | MailError::Argument(_) => {
                Self::Invalid(text)
            }
            MailError::NoPassword(_) | MailError::Unusable(_) => Self::Unusable(text),
            MailError::Login { .. } => Self::Denied(text),
            MailError::Unreachable { .. }
            | MailError::Refused { .. }
            | MailError::Answer { .. } => Self::Unavailable(text),
        }
    }
}
