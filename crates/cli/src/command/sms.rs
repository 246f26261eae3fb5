//! `toolcrib sms`: the phone for SMS.

use serde::Serialize;
use serde_json::json;
use toolcrib_app::Toolcrib;
use toolcrib_core::display_text::escape_to_line;
use toolcrib_ops::sms::{self, AddPhoneRequest, PhoneDetails, PhoneReply, SetPhoneRequest};
use toolcrib_sms::account::NewPhone;

use super::secret::read_password;
use crate::clap_args::{AddPhone, SetPhone, Sms, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context};

pub(crate) fn run(command: Sms, json: bool) -> Result<u8, Failure> {
    // Read the password before the runtime starts, because reading from the terminal uses a
    // separate runtime.
    let password = match &command {
        Sms::Add(_) => read_password("the app on the phone")?,
        _ => String::new(),
    };
    bootstrap::block_on(async {
        let toolcrib: Toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            Sms::Add(AddPhone { base_url, user, read, send }) => {
                let phone = NewPhone { base_url, user, read, send };
                let added = sms::add(&ctx, AddPhoneRequest { phone, password }).await?;
                print_phone(&added, "works and is saved", json)
            }
            Sms::Show => {
                let details = sms::show(&ctx).await?;
                if json { print(&details) } else { print_details(&details) }
            }
            Sms::Test => print_phone(&sms::test(&ctx).await?, "works", json),
            Sms::Set(SetPhone { read, send }) => {
                let changed = sms::set(&ctx, SetPhoneRequest { read, send }).await?;
                print_phone(&changed, "is changed", json)
            }
            Sms::Remove => print_phone(&sms::remove(&ctx).await?, "is removed", json),
        }
    })
}

fn print(value: &impl Serialize) -> Result<u8, Failure> {
    output::print_json(&json!(value), true)?;
    Ok(0)
}

fn print_phone(reply: &PhoneReply, what: &str, json: bool) -> Result<u8, Failure> {
    if json {
        return print(reply);
    }
    let on = |on: bool| if on { "on" } else { "off" };
    output::print_line(&format!(
        "{} {what}: {}, reading {}, sending {}",
        escape_to_line(&reply.phone),
        reply.base_url,
        on(reply.read),
        on(reply.send)
    ))?;
    Ok(0)
}

fn print_details(details: &PhoneDetails) -> Result<u8, Failure> {
    print_phone(&details.phone, "is set up", false)?;
    output::print_line(&format!("  {} SMS stored, {} unread", details.stored, details.unread))?;
    if let Some(problem) = &details.problem {
        output::print_line(&format!("  problem: {}", escape_to_line(problem)))?;
    }
    Ok(0)
}
