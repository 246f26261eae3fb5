//! `toolcrib mail`: accounts of the person.

use serde_json::json;
use toolcrib_app::Toolcrib;
use toolcrib_mail::account::NewAccount;
use toolcrib_ops::mail::{self, AddMailAccountRequest, MailAccountReply, TestMailAccountRequest};

use super::library_snapshot;
use super::secret::read_password;
use crate::clap_args::{AddMail, Mail, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context};

pub(crate) fn run(command: Mail, json: bool) -> Result<u8, Failure> {
    // Before the runtime: reading from the terminal has one of its own.
    let password = match &command {
        Mail::Add(new) => read_password(&new.address)?,
        Mail::List | Mail::Test { .. } | Mail::Rm { .. } => String::new(),
    };
    bootstrap::block_on(async {
        let toolcrib: Toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            Mail::Add(new) => {
                let request = AddMailAccountRequest { account: account(new), password };
                print_account(&mail::add(&ctx, request).await?, "works and is saved", json)
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
