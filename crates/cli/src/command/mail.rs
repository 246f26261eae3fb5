//! `toolcrib mail`: mail accounts of the person.

use serde_json::json;
use toolcrib_app::Toolcrib;
use toolcrib_mail::DeviceCode;
use toolcrib_mail::account::{NewAccount, OauthSettings};
use toolcrib_ops::mail::{
    self, AddMailAccountRequest, AddMailOauthRequest, MailAccountReply, TestMailAccountRequest,
};

use super::library_snapshot;
use super::secret::read_password;
use crate::clap_args::{AddMail, Mail, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context};

pub(crate) fn run(command: Mail, json: bool) -> Result<u8, Failure> {
    // Read the password before the runtime starts, because reading from the terminal uses a
    // separate runtime.
    let password = match &command {
        Mail::Add(new) if new.oauth_client.is_none() => read_password(&new.address)?,
        Mail::Add(_) | Mail::List | Mail::Test { .. } | Mail::Rm { .. } => String::new(),
    };
    bootstrap::block_on(async {
        let toolcrib: Toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            Mail::Add(new) => {
                let added = match oauth_settings(&new) {
                    Some(oauth) => {
                        let request = AddMailOauthRequest { account: account(*new), oauth };
                        mail::add_oauth(&ctx, request, show_code).await?
                    }
                    None => {
                        let request = AddMailAccountRequest { account: account(*new), password };
                        mail::add(&ctx, request).await?
                    }
                };
                print_account(&added, "works and is saved", json)
            }
            Mail::List => print_list(&mail::list(&ctx)?, json),
            Mail::Test { account } => {
                let tested = mail::test(&ctx, TestMailAccountRequest { account }).await?;
                print_account(&tested, "works", json)
            }
            Mail::Rm { account } => {
                print_account(&mail::remove(&ctx, &account).await?, "is removed", json)
            }
        }
    })
}

/// Returns the authorization server, for a login by OAuth.
fn oauth_settings(new: &AddMail) -> Option<OauthSettings> {
    let client_id = new.oauth_client.clone()?;
    let other = (&new.oauth_device_url, &new.oauth_token_url, &new.oauth_scope);
    Some(match other {
        (Some(device_url), Some(token_url), Some(scope)) => OauthSettings {
            device_url: device_url.clone(),
            token_url: token_url.clone(),
            client_id,
            scope: scope.clone(),
        },
        _ => OauthSettings::microsoft(&client_id),
    })
}

fn show_code(code: &DeviceCode) {
    output::eprint_line(&format!(
        "Open {} in a browser and type {}. Waiting for {} minutes ...",
        code.address,
        code.code,
        code.expires_in / 60
    ));
}

fn account(new: AddMail) -> NewAccount {
    NewAccount {
        address: new.address,
        id: new.id,
        display_name: new.name.unwrap_or_default(),
        user: new.user,
        imap_host: new.imap_host,
        imap_port: Some(new.imap_port),
        smtp_host: new.smtp_host,
        smtp_port: Some(new.smtp_port),
        own_network: new.own_network,
        ..NewAccount::default()
    }
}

fn print_account(account: &MailAccountReply, what: &str, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(account), true)?;
        return Ok(0);
    }
    let MailAccountReply { account: id, email, imap, smtp, .. } = account;
    output::print_line(&format!("{id} ({email}) {what}: {imap}, {smtp}"))?;
    Ok(0)
}

fn print_list(all: &[MailAccountReply], json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(all), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::eprint_line("toolcrib: no mail accounts; `toolcrib mail add ADDRESS` adds one");
        return Ok(0);
    }
    let head = ["ACCOUNT", "ADDRESS", "IMAP", "SMTP"].map(str::to_owned).to_vec();
    let row = |one: &MailAccountReply| {
        vec![one.account.clone(), one.email.clone(), one.imap.clone(), one.smtp.clone()]
    };
    let rows: Vec<_> = std::iter::once(head).chain(all.iter().map(row)).collect();
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}
