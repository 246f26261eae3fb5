//! The tokens of an account, renewed before they end.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_net::HttpClient;

use super::endpoint::{Answer, host_of, post};
use super::settings::OauthSettings;
use crate::error::MailError;

/// Seconds before its end at which a token is renewed: a login that begins with it has to end with
/// it.
const EARLY: u64 = 120;
/// Lifetime of a token whose server names none, in seconds (RFC 6749, 5.1 recommends to name one).
const USUAL_LIFE: u64 = 3_600;
/// Most bytes of a token.
const MAX_TOKEN: usize = 16 << 10;

/// The tokens of an account, as the vault has them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
    /// When the access token ends: seconds since 1970.
    ends_at: u64,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("ends_at", &self.ends_at).finish_non_exhaustive()
    }
}

impl Tokens {
    /// Tokens from an answer. A server that sends no new refresh token keeps the old one valid
    /// (RFC 6749, 6).
    pub(super) fn read(
        answer: &Value,
        earlier: Option<&str>,
        server: &str,
    ) -> Result<Self, MailError> {
        let token = |name: &str| {
            let is_token = |text: &&str| {
                !text.is_empty()
                    && text.len() <= MAX_TOKEN
                    && text.bytes().all(|b| b.is_ascii_graphic())
            };
            answer[name].as_str().filter(is_token).map(str::to_owned)
        };
        let missing = |what: &str| MailError::Answer {
            server: server.to_owned(),
            reason: format!("it has no usable {what}"),
        };
        let access = token("access_token").ok_or_else(|| missing("access token"))?;
        let refresh = token("refresh_token").or_else(|| earlier.map(str::to_owned));
        let refresh = refresh.ok_or_else(|| missing("refresh token"))?;
        let life = answer["expires_in"].as_u64().unwrap_or(USUAL_LIFE);
        Ok(Self { access, refresh, ends_at: now().saturating_add(life) })
    }

    fn ends_soon(&self) -> bool {
        now().saturating_add(EARLY) >= self.ends_at
    }
}

/// New tokens if these end soon; `None` if they are good for a while.
pub(crate) async fn renewed(
    client: &HttpClient,
    settings: &OauthSettings,
    tokens: &Tokens,
    address: &str,
) -> Result<Option<Tokens>, MailError> {
    if !tokens.ends_soon() {
        return Ok(None);
    }
    settings.check()?;
    let server = host_of(&settings.token_url);
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", tokens.refresh.as_str()),
        ("client_id", &settings.client_id),
        ("scope", &settings.scope),
    ];
    match post(client, &settings.token_url, &form).await? {
        Answer::Ok(answer) => Tokens::read(&answer, Some(&tokens.refresh), &server).map(Some),
        Answer::Error(error) => Err(MailError::Login {
            server,
            reason: format!(
                "{error}. The login of {address} has ended: ask the user to run `toolcrib mail add` again"
            ),
        }),
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
