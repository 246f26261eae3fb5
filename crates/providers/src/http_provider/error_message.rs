//! Error messages for users with the problem and the remedy. They quote the provider's message,
//! shortened and with secrets masked.

use super::api_key::masked;
use super::error_body::ErrorBody;
use super::provider_kind::ProviderKind;
use super::settings::ProviderSettings;
use super::urls::ProviderUrls;
use crate::model::FailureKind;
use crate::parse_error::truncate;

/// Maximum quoted characters of the provider's message.
const MAX_QUOTE: usize = 300;

/// The provider and model that failed.
#[derive(Clone, Copy)]
pub(super) struct ErrorContext<'a> {
    pub(super) settings: &'a ProviderSettings,
    pub(super) address: &'a ProviderUrls,
    pub(super) model: &'a str,
}

/// The failure as the provider reported it.
pub(super) struct ErrorCause<'a> {
    pub(super) kind: FailureKind,
    pub(super) status: Option<u16>,
    pub(super) said: &'a ErrorBody,
}

impl ErrorContext<'_> {
    pub(super) fn provider(&self) -> &str {
        &self.settings.id
    }

    /// Returns the base URL, for display.
    pub(super) fn display_url(&self) -> String {
        self.address.display()
    }

    pub(super) fn timeout_text(&self) -> String {
        let seconds = self.settings.timeout.as_secs_f64();
        if seconds >= 120.0 {
            format!("{:.0} minutes", seconds / 60.0)
        } else {
            format!("{seconds} s")
        }
    }

    /// Returns a hint for an unreachable server.
    pub(super) fn unreachable_hint(&self) -> &'static str {
        match self.settings.kind {
            ProviderKind::Ollama => "Start it with `ollama serve`, or correct its base URL.",
            _ => "Check that it runs, its base URL, and the network.",
        }
    }

    /// Returns a hint for a URL at which another kind of server answers.
    pub(super) fn wrong_url_hint(&self) -> &'static str {
        match self.settings.kind {
            ProviderKind::OpenAiChat
            | ProviderKind::OpenAiResponses
            | ProviderKind::OpenAiCompatible
                if self.address.has_no_path() =>
            {
                "Check its base URL: for servers like this it mostly ends in /v1."
            }
            _ => "Check its kind and its base URL.",
        }
    }

    /// Returns one or two sentences, and the provider's message.
    pub(super) fn message(&self, cause: &ErrorCause<'_>) -> String {
        let (provider, model) = (self.provider(), self.model);
        let status = cause.status.filter(|s| *s >= 400).or(cause.said.status);
        let number = status.map(|status| format!(" ({status})")).unwrap_or_default();
        let text = match cause.kind {
            FailureKind::BadKey => self.bad_key(status),
            FailureKind::NoCredit => format!(
                "The account at {provider} has no credit or quota left. Add some there, or choose another provider."
            ),
            FailureKind::UnknownModel => match self.settings.kind {
                ProviderKind::Ollama => {
                    format!(
                        "{provider} has no model \"{model}\". Get it with `ollama pull {model}`."
                    )
                }
                _ => format!("{provider} does not know the model \"{model}\". Check its name."),
            },
            FailureKind::ContextExceeded => format!(
                "The conversation is too long for {model}. Begin a new one, or choose a model with a larger window."
            ),
            FailureKind::Moderated => {
                format!(
                    "{provider} refuses the content of this conversation. Put it in other words."
                )
            }
            FailureKind::NoTools => {
                format!(
                    "{model} at {provider} takes no tools. They can be described to it as text."
                )
            }
            FailureKind::RateLimited => {
                format!("{provider} allows no more requests or tokens for now{number}.")
            }
            FailureKind::BadRequest if status == Some(404) => format!(
                "{provider} has nothing at {}{number}. {}",
                self.display_url(),
                self.wrong_url_hint()
            ),
            FailureKind::BadRequest => format!("{provider} refuses the request{number}."),
            _ => format!("{provider} is overloaded or broken{number}."),
        };
        let words = self.mask_secrets(&cause.said.words);
        if words.is_empty() {
            text
        } else {
            format!("{text} It says: \"{}\"", truncate(&words, MAX_QUOTE))
        }
    }

    fn bad_key(&self, status: Option<u16>) -> String {
        let (provider, settings) = (self.provider(), self.settings);
        let remedy = match settings.kind.key_variable() {
            Some(variable) => {
                format!("set the environment variable {variable}, or `key` in its configuration")
            }
            None => "set `key` in its configuration".to_owned(),
        };
        match (&settings.key, status) {
            (None, _) => format!("{provider} wants a key and none is set: {remedy}."),
            (Some(key), Some(403)) => {
                format!(
                    "The key {key} has no right to {} at {provider}. To use another one, {remedy}.",
                    self.model
                )
            }
            (Some(key), _) => {
                format!("{provider} refuses the key {key}. To use another one, {remedy}.")
            }
        }
    }

    /// Masks every secret of these settings: servers repeat the key that they reject.
    pub(super) fn mask_secrets(&self, text: &str) -> String {
        let key = self.settings.key.iter().map(|key| key.secret());
        let headers = self.settings.headers.iter().map(|(_, value)| value.as_str());
        // Also the bare token of an `Authorization: Bearer TOKEN`.
        let secrets = key.chain(headers.flat_map(|value| value.split(' ').chain([value])));
        let mut secrets: Vec<&str> = secrets.filter(|secret| secret.len() >= 4).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let mut text = text.to_owned();
        for secret in secrets {
            if text.contains(secret) {
                text = text.replace(secret, &masked(secret));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http_provider::ApiKey;
    use crate::http_provider::attempt_failure::AttemptFailure;

    const KEY: &str = "sk-live-0123456789abcdef";

    fn check(kind: ProviderKind, key: bool, status: u16, body: &str, parts: &[&str]) {
        let mut settings = ProviderSettings::new("mine", kind);
        settings.base_url = Some("http://h:1".to_owned());
        settings.key = key.then(|| ApiKey::new(KEY).unwrap());
        settings.headers = vec![("x-token".to_owned(), "token-0123456789".to_owned())];
        let address = ProviderUrls::from_settings(&settings).unwrap();
        let about = ErrorContext { settings: &settings, address: &address, model: "m-1" };
        let failure = AttemptFailure::from_error_body(
            &about,
            Some(status),
            &ErrorBody::parse(body.as_bytes()),
        );
        for part in parts {
            assert!(failure.message.contains(part), "{part:?} in {}", failure.message);
        }
        assert!(!failure.message.contains("0123456789"), "{}", failure.message);
    }

    #[test]
    fn people_read_what_to_do() {
        use ProviderKind::*;
        let said = r#"{"error":"no"}"#;
        check(OpenAiChat, false, 401, said, &["OPENAI_API_KEY", "none is set", "It says: \"no\""]);
        check(Anthropic, true, 401, said, &["ANTHROPIC_API_KEY", "refuses the key …cdef"]);
        check(Gemini, true, 403, "", &["GEMINI_API_KEY", "no right to m-1"]);
        check(OpenAiCompatible, false, 401, "", &["`key` in its configuration"]);
        check(Ollama, false, 404, r#"{"error":"model 'm-1' not found"}"#, &["ollama pull m-1"]);
        check(
            OpenAiCompatible,
            false,
            404,
            "<html><title>Not Found</title>",
            &["ends in /v1", "http://h:1", "(404)"],
        );
        check(DeepSeek, true, 402, "", &["no credit"]);
        check(OpenAiChat, true, 429, "", &["(429)"]);
        check(
            OpenAiChat,
            true,
            200,
            r#"{"error":{"code":503,"message":"x"}}"#,
            &["overloaded", "(503)"],
        );
    }

    #[test]
    fn secrets_that_a_server_repeats_are_masked() {
        let body = format!(
            r#"{{"error":{{"message":"Incorrect API key provided: {KEY}, {KEY}! (token-0123456789)","code":"invalid_api_key"}}}}"#
        );
        check(ProviderKind::OpenAiChat, true, 401, &body, &["provided: …cdef, …cdef! (…6789)"]);
    }

    #[test]
    fn quotes_are_short() {
        let body = "x".repeat(100_000);
        let mut settings = ProviderSettings::new("mine", ProviderKind::Ollama);
        settings.base_url = Some("http://h:1".to_owned());
        let address = ProviderUrls::from_settings(&settings).unwrap();
        let about = ErrorContext { settings: &settings, address: &address, model: "m" };
        let failure =
            AttemptFailure::from_error_body(&about, Some(500), &ErrorBody::parse(body.as_bytes()));
        assert!(failure.message.chars().count() < MAX_QUOTE + 100, "{}", failure.message.len());
    }
}
