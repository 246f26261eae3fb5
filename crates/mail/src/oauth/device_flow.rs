//! The person agrees in a browser of any device, while this one waits (RFC 8628).

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use toolcrib_net::HttpClient;
use url::Url;

use super::endpoint::{Answer, host_of, post};
use super::settings::OauthSettings;
use super::tokens::Tokens;
use crate::error::MailError;

/// The grant of a device (RFC 8628, 3.4).
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Seconds between two questions unless the server says otherwise, and what `slow_down` adds
/// (RFC 8628, 3.2 and 3.5).
const INTERVAL: u64 = 5;
/// Longest time between two questions.
const LONGEST: u64 = 60;
/// Longest time that is waited for the person.
const PATIENCE: u64 = 30 * 60;

/// What the person is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCode {
    /// The address to open.
    pub address: String,
    /// The code to type there.
    pub code: String,
    /// Seconds until it ends.
    pub expires_in: u64,
}

/// Asks for a code, shows it, and waits until the person has agreed.
pub(crate) async fn agree(
    client: &HttpClient,
    settings: &OauthSettings,
    show: impl FnOnce(&DeviceCode),
) -> Result<Tokens, MailError> {
    settings.check()?;
    let server = host_of(&settings.device_url);
    let form = [("client_id", settings.client_id.as_str()), ("scope", &settings.scope)];
    let answer = match post(client, &settings.device_url, &form).await? {
        Answer::Ok(answer) => answer,
        Answer::Error(error) => return Err(refused(&server, &error)),
    };
    let (device, shown) = read(&answer).ok_or_else(|| MailError::Answer {
        server: server.clone(),
        reason: "it has no code and https address".to_owned(),
    })?;
    let interval = answer["interval"].as_u64().unwrap_or(INTERVAL);
    let end = Instant::now() + Duration::from_secs(shown.expires_in);
    show(&shown);
    wait(client, settings, &device, interval, end).await
}

/// Asks until the person has decided.
async fn wait(
    client: &HttpClient,
    settings: &OauthSettings,
    device: &str,
    mut interval: u64,
    end: Instant,
) -> Result<Tokens, MailError> {
    let server = host_of(&settings.token_url);
    let form = [("grant_type", GRANT), ("device_code", device), ("client_id", &settings.client_id)];
    loop {
        tokio::time::sleep(Duration::from_secs(interval.min(LONGEST))).await;
        if Instant::now() >= end {
            return Err(refused(&server, "expired_token"));
        }
        match post(client, &settings.token_url, &form).await {
            Ok(Answer::Ok(answer)) => return Tokens::read(&answer, None, &server),
            Ok(Answer::Error(error)) if error == "authorization_pending" => {}
            Ok(Answer::Error(error)) if error == "slow_down" => interval += INTERVAL,
            Ok(Answer::Error(error)) => return Err(refused(&server, &error)),
            // The person may be in the browser still: a lost request is asked again (RFC 8628,
            // 3.5).
            Err(MailError::Unreachable { .. }) => interval = interval.saturating_mul(2).max(1),
            Err(error) => return Err(error),
        }
    }
}

/// The code of the device, and what the person is shown. The address has to be HTTPS, and its
/// letters are ones that cannot change the text around it.
fn read(answer: &Value) -> Option<(String, DeviceCode)> {
    let text = |name: &str| answer[name].as_str().filter(|text| !text.is_empty());
    let device = text("device_code")?.to_owned();
    let address = text("verification_uri").or_else(|| text("verification_url"))?;
    let address = Url::parse(address).ok().filter(|url| url.scheme() == "https")?;
    let code = text("user_code")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if code.len() > 40 || !code.chars().all(is_plain) {
        return None;
    }
    let expires_in = answer["expires_in"].as_u64().unwrap_or(PATIENCE).min(PATIENCE);
    Some((device, DeviceCode { address: address.to_string(), code: code.to_owned(), expires_in }))
}

fn refused(server: &str, error: &str) -> MailError {
    let reason = match error {
        "expired_token" => "the code has ended before you agreed; begin again".to_owned(),
        "access_denied" => "you, or the account's administrator, did not agree".to_owned(),
        other => other.to_owned(),
    };
    MailError::Refused { server: server.to_owned(), reason }
}
