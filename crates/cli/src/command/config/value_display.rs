//! Displays values without secrets, and without control characters.

use toml::Value;
use toolcrib_ops::settings::SECRET_MASK;

use crate::config::{ConfigValue, KeyPath, Origin};
use crate::terminal;

/// Returns whether the value of this key is never shown. The name of a secret in the vault is
/// shown.
pub(crate) fn is_secret(key: &KeyPath) -> bool {
    match key.parts().as_slice() {
        ["providers", _, "key" | "headers"]
        | ["tools", _, "config"]
        | ["sandbox", "env", ..]
        | ["web", _, "key"] => true,
        ["providers", _, "headers", _, rest @ ..] | ["tools", _, "config", _, rest @ ..] => {
            rest.last() != Some(&"secret")
        }
        _ => false,
    }
}

/// Returns a value with its secret parts masked.
pub(super) fn mask_secret(key: &KeyPath, value: &Value) -> Value {
    if is_secret(key) && !value.as_table().is_some_and(toml::Table::is_empty) {
        return Value::String(SECRET_MASK.to_owned());
    }
    match (key.parts().as_slice(), value) {
        (["providers", _, "base_url"], Value::String(url)) => Value::String(strip_url_user(url)),
        _ => value.clone(),
    }
}

/// Returns an address without its name and password.
fn strip_url_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match host.rfind('@') {
        Some(at) => format!("{scheme}://{SECRET_MASK}@{}", rest.get(at + 1..).unwrap_or_default()),
        None => url.to_owned(),
    }
}

/// Returns a value on one line, in the format of the file.
pub(super) fn toml_line(value: &Value) -> String {
    terminal::escape_to_line(&value.to_string())
}

/// Returns a value of a file for display, on one line and without secrets.
pub(crate) fn masked_line(key: &KeyPath, value: &Value) -> String {
    toml_line(&mask_secret(key, value))
}

/// Returns a value alone: text without its quotes.
pub(super) fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => terminal::escape_controls(text).into_owned(),
        value => toml_line(value),
    }
}

/// Describes the origin of a value for people.
pub(super) fn origin_text(origin: &Origin) -> String {
    if origin.location.is_empty() {
        return origin.layer.as_str().to_owned();
    }
    format!("{} {}", origin.layer.as_str(), terminal::escape_to_line(&origin.location))
}

/// Renders an entry of `[[hooks]]` on one line.
pub(crate) fn hook_line(held: &ConfigValue) -> String {
    let of = |key: &str| held.value.get(key);
    let text = |key: &str| of(key).and_then(Value::as_str);
    let command = match of("command") {
        Some(Value::String(line)) => line.clone(),
        words => words.map(ToString::to_string).unwrap_or_default(),
    };
    let matcher = text("matcher").unwrap_or("*");
    let event = text("event").unwrap_or_default();
    terminal::escape_to_line(&format!("{event} {matcher}: {command}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let check = |key: &str, value: &str, shown: &str| {
            let key = KeyPath::parse(key).unwrap();
            assert_eq!(
                plain_text(&mask_secret(&key, &Value::String(value.into()))),
                shown,
                "{key}"
            );
        };
        check("providers.a.key", "sk-x", "***");
        check("providers.a.headers.X-Team", "blue", "***");
        check("tools.mail.config.password", "x", "***");
        check("tools.mail.config.secret", "x", "***");
        check("tools.mail.config.password.secret", "MAIL", "MAIL");
        check("providers.a.key.secret", "ACME", "ACME");
        check("providers.a.key_env", "MINE", "MINE");
        check("providers.a.base_url", "https://u:p@h/v1", "https://***@h/v1");
        check("providers.a.base_url", "https://u:p@w@h/v1", "https://***@h/v1");
        check("providers.a.base_url", "https://h/v1?x=a@b", "https://h/v1?x=a@b");
        check("sandbox.env.TOKEN", "x", "***");
        check("policy", "a\u{1b}[2Jb", "a\\u{1b}[2Jb");
    }
}
