//! A failure in words for people: what is wrong, and what to do. The provider's own words are quoted, shortened, without any secret.

use super::address::Address;
use super::key::masked;
use super::kind::ProviderKind;
use super::said::Said;
use super::settings::ProviderSettings;
use crate::error::shorten;
use crate::model::FailureKind;

/// Characters of the provider's words that are quoted.
const MAX_QUOTE: usize = 300;

/// Who failed.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) settings: &'a ProviderSettings,
    pub(super) address: &'a Address,
    pub(super) model: &'a str,
}

/// What the provider said.
pub(super) struct Cause<'a> {
    pub(super) kind: FailureKind,
    pub(super) status: Option<u16>,
    pub(super) said: &'a Said,
}

impl About<'_> {
    pub(super) fn provider(&self) -> &str {
        &self.settings.id
    }

    /// Where it is.
    pub(super) fn place(&self) -> String {
        self.address.shown()
    }

    pub(super) fn limit(&self) -> String {
        let seconds = self.settings.timeout.as_secs_f64();
        if seconds >= 120.0 {
            format!("{:.0} minutes", seconds / 60.0)
        } else {
            format!("{seconds} s")
        }
    }

    /// What to do when nobody answers.
    pub(super) fn unreached(&self) -> &'static str {
        match self.settings.kind {
            ProviderKind::Ollama => "Start it with `ollama serve`, or correct its base URL.",
            _ => "Check that it runs, its base URL, and the network.",
        }
    }

    /// What to do when something else answers.
    pub(super) fn wrong_place(&self) -> &'static str {
        match self.settings.kind {
            ProviderKind::OpenAiChat
            | ProviderKind::OpenAiResponses
            | ProviderKind::OpenAiCompatible
                if self.address.is_bare() =>
            {
                "Check its base URL: for servers like this it mostly ends in /v1."
            }
            _ => "Check its kind and its base URL.",
        }
    }

    /// One or two sentences, and the provider's words.
    pub(super) fn say(&self, cause: &Cause<'_>) -> String {
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
                self.place(),
                self.wrong_place()
            ),
            FailureKind::BadRequest => format!("{provider} refuses the request{number}."),
            _ => format!("{provider} is overloaded or broken{number}."),
        };
        let words = self.without_secrets(&cause.said.words);
        if words.is_empty() {
            text
        } else {
            format!("{text} It says: \"{}\"", shorten(&words, MAX_QUOTE))
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

    /// The text with every secret of these settings masked: servers repeat the key they refuse.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let key = self.settings.key.iter().map(|key| key.secret());
        let headers = self.settings.headers.iter().map(|(_, value)| value.as_str());
        // The bare token of an `Authorization: Bearer TOKEN` too.
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
    use crate::live::ApiKey;
    use crate::live::failure::Failure;

    const KEY: &str = "sk-live-0123456789abcdef";

    fn check(kind: ProviderKind, key: bool, status: u16, body: &str, parts: &[&str]) {
        let mut settings = ProviderSettings::new("mine", kind);
        settings.base_url = Some("http://h:1".to_owned());
        settings.key = key.then(|| ApiKey::new(KEY).unwrap());
        settings.headers = vec![("x-token".to_owned(), "token-0123456789".to_owned())];
        let address = Address::of(&settings).unwrap();
        let about = About { settings: &settings, address: &address, model: "m-1" };
        let failure = Failure::said(&about, Some(status), &Said::read(body.as_bytes()));
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
        let address = Address::of(&settings).unwrap();
        let about = About { settings: &settings, address: &address, model: "m" };
        let failure = Failure::said(&about, Some(500), &Said::read(body.as_bytes()));
        assert!(failure.message.chars().count() < MAX_QUOTE + 100, "{}", failure.message.len());
    }
}
