//! `[calendar]`: the owner's calendar on a CalDAV server.
#![deny(clippy::indexing_slicing)]

use serde::{Deserialize, Deserializer, de};
use toolcrib_assistant::calendar::CalendarSettings;
use toolcrib_store::vault::SecretName;

use crate::config::notifications::{host_and_path, secret};
use crate::config::text_or_secret::TextOrSecret;

/// `[calendar]`
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CalendarSection {
    /// Address of the calendar's collection.
    #[serde(deserialize_with = "collection")]
    url: Option<String>,
    /// Name of the account.
    user: Option<String>,
    /// Its password.
    password: Option<TextOrSecret>,
}

impl CalendarSection {
    /// Returns the calendar; `None` unless address, user and password are set.
    pub(super) fn settings(&self) -> Option<CalendarSettings> {
        Some(CalendarSettings {
            url: self.url.clone()?,
            user: self.user.clone()?,
            password: secret(self.password.as_ref()?),
        })
    }

    /// Returns the password, if it is written in the file.
    pub(super) fn literal_secret(&self) -> Option<&str> {
        match self.password.as_ref()? {
            TextOrSecret::Literal(text) => Some(&text.0),
            TextOrSecret::Secret(_) => None,
        }
    }

    /// Returns the name of the password in the vault.
    pub(super) fn vault_secret(&self) -> Option<(String, &SecretName)> {
        match self.password.as_ref()? {
            TextOrSecret::Secret(name) => Some(("calendar".to_owned(), name)),
            TextOrSecret::Literal(_) => None,
        }
    }
}

fn collection<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    let url = String::deserialize(d)?;
    match host_and_path(&url) {
        Some((_, path)) if !path.contains('?') => Ok(Some(url)),
        _ => Err(de::Error::custom(format!(
            "`{url}` is not a calendar such as https://dav.example.org/ann/home/"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::loader::parse;

    #[test]
    fn a_calendar_needs_address_user_and_password() {
        let of = |text: &str| {
            let text = format!("[calendar]\n{text}");
            parse(Path::new("/c/config.toml"), &text).map_err(|error| error.message)
        };
        let whole = "url = \"https://dav.example.org/ann/home/\"\nuser = \"ann\"\n";
        assert!(of(whole).unwrap().calendar_settings().is_none());
        let named = of(&format!("{whole}password = {{ secret = \"caldav\" }}\n")).unwrap();
        assert_eq!(named.calendar_settings().unwrap().user, "ann");
        let used: Vec<String> =
            named.vault_service_keys().map(|(user, name)| format!("{user} {name}")).collect();
        assert_eq!(used, ["calendar caldav"]);
        let literal = of(&format!("{whole}password = \"hunter2\"\n")).unwrap();
        assert_eq!(literal.literal_service_keys().collect::<Vec<_>>(), ["hunter2"]);
        assert!(!format!("{:?}", literal.calendar_settings()).contains("hunter2"));
        for (bad, part) in [("url = \"dav\"\n", "is not a calendar"), ("mail = 1\n", "known are")] {
            assert!(of(bad).unwrap_err().contains(part), "{bad}");
        }
    }
}
