//! `check_email`: the newest unread mails of each account.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{CallCtx, Tool, ToolError, ToolOutput, ToolSpec};

use super::definition::base_spec;
use super::mail_tools::{MailTools, from_mail};
use crate::account::MailAccount;
use crate::mailbox;

/// Handler of `check_email`.
pub(super) struct CheckEmail(pub(super) MailTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Id or address of an account. Default: all accounts.
    account_id: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    base_spec::<Args>(
        "check_email",
        "Check e-mail",
        "List the 20 newest unread mails of each account. read_email reads one.",
        ("Is there new mail?", json!({})),
    )
}

impl Tool for CheckEmail {
    type Args = Args;
    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, _: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let accounts = match args.account_id.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
            Some(id) => vec![self.0.accounts.find(Some(id))?],
            None => self.0.accounts.list()?,
        };
        if accounts.is_empty() {
            self.0.accounts.find(None)?;
        }
        let checks = accounts.into_iter().map(|account| self.check(account));
        // One account that does not work does not hide the others.
        let rows = futures_util::future::join_all(checks).await;
        Ok(from_mail(json!({ "accounts": rows }), "all accounts"))
    }
}

impl CheckEmail {
    async fn check(&self, account: MailAccount) -> Value {
        let (id, email) = (account.id.clone(), account.address.clone());
        let found = match self.0.accounts.login(account).await {
            Ok(login) => mailbox::search(&login, "UNSEEN").await,
            Err(error) => Err(error),
        };
        match found {
            Ok((rows, count)) => {
                json!({ "account_id": id, "email": email, "unread": count, "mails": rows })
            }
            Err(error) => json!({ "account_id": id, "email": email, "error": error.to_string() }),
        }
    }
}
