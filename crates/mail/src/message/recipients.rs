//! Addresses of recipients, as people and models write them.

use lettre::Address;

use crate::error::MailError;

/// The addresses of a text such as `Ann <ann@example.org>, bob@example.org`.
///
/// # Errors
/// [`MailError::Argument`] for a part that is no mail address, and for a text without one.
pub fn recipients(text: &str) -> Result<Vec<String>, MailError> {
    let mut found = Vec::new();
    for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        let address = match (part.rfind('<'), part.strip_suffix('>')) {
            (Some(open), Some(inner)) => inner.get(open + 1..).unwrap_or_default(),
            _ => part,
        };
        let parsed: Result<Address, _> = address.trim().parse();
        let parsed = parsed.map_err(|_| {
            MailError::Argument(format!(
                "\"{}\" is not a mail address. Pass addresses such as ann@example.org, with commas between them.",
                part.escape_debug()
            ))
        })?;
        found.push(parsed.to_string());
    }
    found.dedup();
    if found.is_empty() {
        return Err(MailError::Argument("`to` needs a mail address.".to_owned()));
    }
    Ok(found)
}
