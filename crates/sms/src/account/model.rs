//! The settings of a phone: pure.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::error::SmsError;

/// Name of its password in the vault.
pub(super) const SECRET: &str = "sms-phone";
/// The user name that the app has by default.
const DEFAULT_USER: &str = "sms";
/// Maximum bytes of a user name and of a password.
const MAX_WORD: usize = 200;

/// A phone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmsPhone {
    /// Address of the app's server.
    pub base_url: String,
    /// User name.
    pub user: String,
    /// The name of the phone, as the app says.
    #[serde(default)]
    pub name: String,
    /// Whether SMS may be read.
    #[serde(default)]
    pub read: bool,
    /// Whether drafts of SMS may be written and sent.
    #[serde(default)]
    pub send: bool,
}

impl SmsPhone {
    /// Returns it if SMS may be read.
    ///
    /// # Errors
    /// [`SmsError::Off`].
    pub fn for_reading(self) -> Result<Self, SmsError> {
        let off =
            "Reading SMS is off. The user switches it on with `toolcrib sms set --read true`.";
        if self.read { Ok(self) } else { Err(SmsError::Off(off)) }
    }

    /// Returns it if SMS may be sent.
    ///
    /// # Errors
    /// [`SmsError::Off`].
    pub fn for_sending(self) -> Result<Self, SmsError> {
        let off =
            "Sending SMS is off. The user switches it on with `toolcrib sms set --send true`.";
        if self.send { Ok(self) } else { Err(SmsError::Off(off)) }
    }
}

/// A phone to add.
#[derive(Debug, Clone)]
pub struct NewPhone {
    /// Address of the app's server, such as `http://192.168.1.20:8080`.
    pub base_url: String,
    /// User name; the app's default if it is left out.
    pub user: Option<String>,
    /// Whether SMS may be read.
    pub read: bool,
    /// Whether drafts of SMS may be written and sent.
    pub send: bool,
}

impl NewPhone {
    /// Checks the settings.
    ///
    /// # Errors
    /// [`SmsError::BadPhone`].
    pub fn complete(self) -> Result<SmsPhone, SmsError> {
        let base_url = self.base_url.trim().trim_end_matches('/').to_owned();
        check_address(&base_url)?;
        let user = self.user.unwrap_or_else(|| DEFAULT_USER.to_owned()).trim().to_owned();
        // A colon would end the user name in the header.
        if user.is_empty() || user.contains(':') || !is_word(&user) {
            return Err(SmsError::BadPhone("That is not the user name of the app.".to_owned()));
        }
        let (read, send) = (self.read, self.send);
        Ok(SmsPhone { base_url, user, name: String::new(), read, send })
    }
}

/// Returns whether a user name or a password can be a part of a request.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_WORD && !text.chars().any(char::is_control)
}

/// Checks the address of the app. Its server speaks plain HTTP, so that the password and the SMS
/// can be read on the way: this is allowed only to literal addresses of private networks, which no
/// resolver can lead elsewhere.
fn check_address(base_url: &str) -> Result<(), SmsError> {
    let bad = |text: &str| Err(SmsError::BadPhone(text.to_owned()));
    let url = Url::parse(base_url).ok().filter(|url| {
        matches!(url.scheme(), "https" | "http")
            && url.host().is_some()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    let Some(url) = url else {
        return bad("The address of the app is like http://192.168.1.20:8080.");
    };
    let is_near = match url.host() {
        Some(Host::Ipv4(address)) => is_private(address.into()),
        Some(Host::Ipv6(address)) => is_private(address.into()),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    if url.scheme() == "http" && !is_near {
        return bad(
            "A password is sent over plain http only to an address of a private network, such as http://192.168.1.20:8080. Use https elsewhere.",
        );
    }
    Ok(())
}

/// Returns whether an address is one of this machine, of a private network, or of a network such as
/// Tailscale (100.64.0.0/10).
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            v4.is_loopback() || v4.is_private() || (first == 100 && (64..128).contains(&second))
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base_url: &str, is_good: bool) {
        let new = NewPhone { base_url: base_url.to_owned(), user: None, read: false, send: false };
        assert_eq!(new.complete().is_ok(), is_good, "{base_url}");
    }

    #[test]
    fn a_password_leaves_in_plain_text_only_within_private_networks() {
        for good in [
            "http://192.168.1.20:8080/",
            "http://10.0.0.2:8080",
            "http://100.100.3.4:8080",
            "http://[fd00::2]:8080",
            "http://127.0.0.1:8080",
            "https://phone.example.org",
        ] {
            check(good, true);
        }
        for bad in [
            "http://phone.example.org",
            "http://93.184.216.34:8080",
            "http://169.254.169.254",
            "http://[2001:db8::1]:8080",
            "http://sms:secret@192.168.1.20:8080",
            "http://192.168.1.20:8080/?a=b",
            "ftp://192.168.1.20",
            "192.168.1.20",
            "",
        ] {
            check(bad, false);
        }
    }
}
