//! `search_email`: mails of the inbox by sender, subject or date.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{CallCtx, Tool, ToolError, ToolOutput, ToolSpec};

use super::definition::base_spec;
use super::mail_tools::{MailTools, from_mail};
use crate::error::MailError;
use crate::mailbox::{self, quoted};

/// Handler of `search_email`.
pub(super) struct SearchEmail(pub(super) MailTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Id or address of the account. Default: the only one.
    account_id: Option<String>,
    /// Part of the sender's name or address.
    from: Option<String>,
    /// Part of the subject.
    subject: Option<String>,
    /// Mails since this day, such as 01-Jan-2025.
    since: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    base_spec::<Args>(
        "search_email",
        "Search e-mail",
        "Find mails of the inbox by sender, subject or date; the 20 newest. Needs at least one filter.",
        ("Find what the bank wrote", json!({"from": "bank.example"})),
    )
}

impl Tool for SearchEmail {
    type Args = Args;
    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, _: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let query = query(&args)?;
        let account = self.0.accounts.find(args.account_id.as_deref())?;
        let login = self.0.accounts.login(account).await?;
        let (rows, count) = mailbox::search(&login, &query).await?;
        Ok(from_mail(json!({ "found": count, "mails": rows }), &login.account.address))
    }
}

fn query(args: &Args) -> Result<String, MailError> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let mut parts = Vec::new();
    if let Some(from) = given(&args.from) {
        parts.push(format!("FROM {}", quoted(&from)?));
    }
    if let Some(subject) = given(&args.subject) {
        parts.push(format!("SUBJECT {}", quoted(&subject)?));
    }
    if let Some(since) = given(&args.since) {
        parts.push(format!("SINCE {}", day(since.trim())?));
    }
    if parts.is_empty() {
        return Err(MailError::Argument(
            "Pass at least one of from, subject and since.".to_owned(),
        ));
    }
    Ok(parts.join(" "))
}

/// A day as IMAP writes it; days such as 2025-01-31 are taken too.
fn day(text: &str) -> Result<String, MailError> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let bad = || {
        MailError::Argument(format!(
            "since is a day such as 01-Jan-2025, not \"{}\".",
            text.escape_debug()
        ))
    };
    let parts: Vec<&str> = text.split('-').collect();
    let &[first, month, last] = &parts[..] else { return Err(bad()) };
    let (year, day) = if first.len() == 4 { (first, last) } else { (last, first) };
    let named = MONTHS.iter().find(|name| name.eq_ignore_ascii_case(month));
    let numbered = || month.parse::<usize>().ok().and_then(|n| MONTHS.get(n.checked_sub(1)?));
    let month = named.or_else(numbered).ok_or_else(bad)?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let day: u8 = day.parse().ok().filter(|day| (1..=31).contains(day)).ok_or_else(bad)?;
    if year.len() != 4 || !is_number(year) {
        return Err(bad());
    }
    Ok(format!("{day:02}-{month}-{year}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(day(text).ok().as_deref(), expected, "{text}");
    }

    #[test]
    fn days_are_written_as_imap_has_them() {
        check("01-Jan-2025", Some("01-Jan-2025"));
        check("1-jan-2025", Some("01-Jan-2025"));
        check("2025-12-31", Some("31-Dec-2025"));
        for bad in ["yesterday", "2025", "2025-13-01", "32-Jan-2025", "01-Jan-25", "0-0-0"] {
            check(bad, None);
        }
        check("01-Jan-2025 FROM \"x\"", None);
    }

    #[test]
    fn a_search_needs_a_filter_and_quotes_what_it_is_given() {
        let args = |from: Option<&str>| Args {
            account_id: None,
            from: from.map(str::to_owned),
            subject: None,
            since: None,
        };
        assert!(query(&args(None)).is_err());
        assert!(query(&args(Some("a\r\nA2 LOGOUT"))).is_err());
        assert_eq!(query(&args(Some("a\" \\ ALL"))).unwrap(), "FROM \"a\\\" \\\\ ALL\"");
    }
}
