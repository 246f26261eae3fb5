//! `setup_email`: adds an account, after a login at its servers.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Assessment, CallCtx, Effect, Reach, Risk, Tool, ToolError, ToolOutput, ToolSpec, Trust,
};

use super::definition::base_spec;
use super::mail_tools::MailTools;
use crate::account::NewAccount;

/// Handler of `setup_email`.
pub(super) struct SetupEmail(pub(super) MailTools);

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// The mail address.
    email: String,
    /// Its password; an app password where the provider has them.
    password: String,
    /// IMAP server. Default: the usual one of the domain.
    imap_host: Option<String>,
    /// Default: 993.
    imap_port: Option<u16>,
    /// SMTP server. Default: the usual one of the domain.
    smtp_host: Option<String>,
    /// Default: 587.
    smtp_port: Option<u16>,
    /// The sender's name in mails.
    display_name: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "setup_email",
        "Set up e-mail",
        "Add a mail account of the user: tests the login, then saves it. Rather ask the user to run `toolcrib mail add ADDRESS`, which keeps the password out of the conversation.",
        (
            "Add my mail account",
            json!({"email": "ada@example.org", "password": "the app password"}),
        ),
    );
    spec.risk = Risk::High;
    spec.effect = Effect::SideEffect;
    spec.reach = Reach { outbound: true, ..Reach::default() };
    spec.trust = Trust::Tool;
    spec.polling = false;
    spec.config = Vec::new();
    spec
}

impl Tool for SetupEmail {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        // Before anything of the call is recorded or shown.
        self.0.vault.mask(&args.password);
        let at = |host: &Option<String>| host.clone().unwrap_or_else(|| "its usual server".into());
        Ok(Assessment::from_spec(spec).with_summary(format!(
            "add the mail account {}; its password is sent to {} and {}",
            args.email,
            at(&args.imap_host),
            at(&args.smtp_host)
        )))
    }

    async fn call(&self, _: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let new = NewAccount {
            address: args.email,
            display_name: args.display_name.unwrap_or_default(),
            imap_host: args.imap_host,
            imap_port: args.imap_port,
            smtp_host: args.smtp_host,
            smtp_port: args.smtp_port,
            ..NewAccount::default()
        };
        let account = self.0.accounts.add(new, &args.password).await?;
        Ok(ToolOutput::structured(json!({
            "account_id": account.id,
            "email": account.address,
            "imap": account.imap.to_string(),
            "smtp": account.smtp.to_string(),
            "note": "The login works and the account is saved. The other mail tools are there from the next start, or when the daemon reads its configuration again.",
        })))
    }
}
