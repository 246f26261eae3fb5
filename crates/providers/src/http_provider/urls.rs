//! Request URLs, built from a configured base URL in any of its common forms.

use toolcrib_net::{AddressPolicy, check_url};
use url::Url;

use super::provider_kind::ProviderKind;
use super::settings::{ProviderSettings, SettingsError};

/// The URLs of a provider.
#[derive(Debug, Clone)]
pub(super) struct ProviderUrls {
    kind: ProviderKind,
    /// Base URL without the path prefix that the request paths contain, and without a trailing
    /// slash.
    base: Url,
    /// Allows exactly this host and port, even on this device or in the local network: the owner
    /// configured them.
    policy: AddressPolicy,
}

impl ProviderUrls {
    pub(super) fn from_settings(settings: &ProviderSettings) -> Result<Self, SettingsError> {
        let (id, kind) = (&settings.id, settings.kind);
        let bad = |problem: String| SettingsError::BadBaseUrl { id: id.clone(), problem };
        let given = settings.base_url.as_deref().map(str::trim).filter(|url| !url.is_empty());
        let text = given
            .or(kind.default_base_url())
            .ok_or_else(|| SettingsError::NoBaseUrl { id: id.clone(), kind })?;
        if !text.starts_with("http://") && !text.starts_with("https://") {
            return Err(bad("it must begin with http:// or https://".to_owned()));
        }
        let mut base = Url::parse(text).map_err(|error| bad(error.to_string()))?;
        base.set_path(&trimmed(kind, base.path()));
        base.set_fragment(None);
        let policy = address_policy(&base).map_err(|problem| bad(problem.to_owned()))?;
        check_url(base.as_str(), &policy).map_err(|denied| bad(denied.to_string()))?;
        Ok(Self { kind, base, policy })
    }

    pub(super) fn policy(&self) -> &AddressPolicy {
        &self.policy
    }

    /// Returns scheme, host, port and path, for display; the query may contain a secret.
    pub(super) fn display(&self) -> String {
        display_url(&self.base)
    }

    /// Returns whether the path is empty. For servers like OpenAI that usually means a missing
    /// `/v1`.
    pub(super) fn has_no_path(&self) -> bool {
        matches!(self.base.path(), "" | "/")
    }

    /// Returns whether this is DeepSeek's beta URL, which supports strict tools.
    pub(super) fn is_beta(&self) -> bool {
        self.kind == ProviderKind::DeepSeek && self.base.path().ends_with("/beta")
    }

    /// Returns the URL of a request to a model.
    pub(super) fn generate(&self, model: &str, stream: bool) -> String {
        match self.kind {
            ProviderKind::OpenAiChat | ProviderKind::DeepSeek | ProviderKind::OpenAiCompatible => {
                self.join("/chat/completions", &[])
            }
            ProviderKind::OpenAiResponses => self.join("/responses", &[]),
            ProviderKind::Anthropic => self.join("/v1/messages", &[]),
            ProviderKind::Ollama => self.join("/api/chat", &[]),
            ProviderKind::Gemini => {
                let model = gemini_model(model);
                if stream {
                    self.join(&format!("/{model}:streamGenerateContent"), &[("alt", "sse")])
                } else {
                    self.join(&format!("/{model}:generateContent"), &[])
                }
            }
        }
    }

    /// Returns the URL of the list of models.
    pub(super) fn models(&self) -> String {
        match self.kind {
            ProviderKind::Anthropic => self.join("/v1/models", &[("limit", "1000")]),
            ProviderKind::Gemini => self.join("/models", &[("pageSize", "1000")]),
            ProviderKind::Ollama => self.join("/api/tags", &[]),
            _ => self.join("/models", &[]),
        }
    }

    /// Returns the URL of embeddings; `None` if the provider has none.
    pub(super) fn embeddings(&self) -> Option<String> {
        match self.kind {
            // Gemini's own embeddings API differs; its OpenAI-compatible URL can be configured as
            // an `openai-compatible` provider.
            ProviderKind::Anthropic | ProviderKind::DeepSeek | ProviderKind::Gemini => None,
            ProviderKind::Ollama => Some(self.join("/v1/embeddings", &[])),
            ProviderKind::OpenAiChat
            | ProviderKind::OpenAiResponses
            | ProviderKind::OpenAiCompatible => Some(self.join("/embeddings", &[])),
        }
    }

    fn join(&self, path: &str, query: &[(&str, &str)]) -> String {
        let mut url = self.base.clone();
        let path = format!("{}{path}", self.base.path().trim_end_matches('/'));
        url.set_path(&path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url.into()
    }
}

/// Returns scheme, host, port and path.
pub(super) fn display_url(url: &Url) -> String {
    let path = url.path();
    format!("{}{}", url.origin().ascii_serialization(), if path == "/" { "" } else { path })
}

/// Returns the policy that allows the URL's own host and port, and no other address that is not
/// public.
fn address_policy(base: &Url) -> Result<AddressPolicy, &'static str> {
    let host = base.host_str().ok_or("it has no host")?;
    let port = base.port_or_known_default().ok_or("it has no port")?;
    AddressPolicy::with_allowed([format!("{host}:{port}")]).map_err(|error| error.problem)
}

/// Returns the path without a suffix that belongs to a request, such as a copied
/// `/chat/completions`.
fn trimmed(kind: ProviderKind, path: &str) -> String {
    let mut path = path.trim_end_matches('/');
    let endings: &[&str] = match kind {
        ProviderKind::Anthropic => &["/messages", "/models", "/v1"],
        ProviderKind::Ollama => &["/chat", "/chat/completions", "/tags", "/api", "/v1"],
        ProviderKind::Gemini => &["/models"],
        _ => &["/chat/completions", "/responses", "/models"],
    };
    for ending in endings {
        path = path.strip_suffix(ending).unwrap_or(path).trim_end_matches('/');
    }
    let version = path.rsplit('/').next().unwrap_or_default();
    match kind {
        ProviderKind::Gemini if !matches!(version, "v1" | "v1beta" | "v1alpha") => {
            format!("{path}/v1beta")
        }
        _ => path.to_owned(),
    }
}

/// Returns the path of the model: `models/NAME`, or the name itself if it already contains a
/// resource type.
fn gemini_model(model: &str) -> String {
    let (folder, name) = match model.split_once('/') {
        Some((folder @ ("models" | "tunedModels"), name)) => (folder, name),
        _ => ("models", model),
    };
    let mut path = format!("{folder}/");
    path.extend(url::form_urlencoded::byte_serialize(name.as_bytes()));
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProviderKind::*;

    fn address(kind: ProviderKind, base: Option<&str>) -> Result<ProviderUrls, SettingsError> {
        let mut settings = ProviderSettings::new("p", kind);
        settings.base_url = base.map(str::to_owned);
        ProviderUrls::from_settings(&settings)
    }

    fn check(kind: ProviderKind, base: &str, expected: &str) {
        let base = Some(base).filter(|base| !base.is_empty());
        let url = address(kind, base).unwrap().generate("m", true);
        assert_eq!(url, expected, "{kind} {base:?}");
    }

    #[test]
    fn base_urls_are_taken_as_the_sdks_take_them() {
        check(OpenAiChat, "", "https://api.openai.com/v1/chat/completions");
        check(OpenAiChat, "http://h:1/v1", "http://h:1/v1/chat/completions");
        check(OpenAiChat, " http://h:1/v1// ", "http://h:1/v1/chat/completions");
        check(OpenAiChat, "http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions");
        check(OpenAiCompatible, "https://h/api/v1", "https://h/api/v1/chat/completions");
        check(OpenAiCompatible, "https://h", "https://h/chat/completions");
        check(
            OpenAiChat,
            "https://h/v1?api-version=3",
            "https://h/v1/chat/completions?api-version=3",
        );
        check(OpenAiResponses, "", "https://api.openai.com/v1/responses");
        check(OpenAiResponses, "http://h:1/v1/responses", "http://h:1/v1/responses");
        check(DeepSeek, "", "https://api.deepseek.com/chat/completions");
        check(
            DeepSeek,
            "https://api.deepseek.com/v1/",
            "https://api.deepseek.com/v1/chat/completions",
        );
        check(
            DeepSeek,
            "https://api.deepseek.com/beta",
            "https://api.deepseek.com/beta/chat/completions",
        );
        check(Anthropic, "", "https://api.anthropic.com/v1/messages");
        for base in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/messages"] {
            check(Anthropic, base, "http://h:1/v1/messages");
        }
        check(Anthropic, "https://h/anthropic/v1/", "https://h/anthropic/v1/messages");
        let gemini = "/v1beta/models/m:streamGenerateContent?alt=sse";
        check(Gemini, "", &format!("https://generativelanguage.googleapis.com{gemini}"));
        for base in ["http://h:1", "http://h:1/v1beta/", "http://h:1/v1beta/models"] {
            check(Gemini, base, &format!("http://h:1{gemini}"));
        }
        check(Gemini, "http://h:1/v1", "http://h:1/v1/models/m:streamGenerateContent?alt=sse");
        check(Ollama, "", "http://127.0.0.1:11434/api/chat");
        for base in ["http://h:1", "http://h:1/api", "http://h:1/v1", "http://h:1/api/chat"] {
            check(Ollama, base, "http://h:1/api/chat");
        }
        check(Ollama, "http://[::1]:11434", "http://[::1]:11434/api/chat");
    }

    #[test]
    fn model_names_stay_in_their_place() {
        let address = address(Gemini, Some("http://h:1")).unwrap();
        for (model, path) in [
            ("gemini-3.1-pro", "models/gemini-3.1-pro"),
            ("models/gemini-3.1-pro", "models/gemini-3.1-pro"),
            ("tunedModels/mine", "tunedModels/mine"),
            ("../../x?y#z", "models/..%2F..%2Fx%3Fy%23z"),
        ] {
            let expected = format!("http://h:1/v1beta/{path}:generateContent");
            assert_eq!(address.generate(model, false), expected);
        }
    }

    #[test]
    fn lists_of_models_are_where_they_are() {
        for (kind, url) in [
            (OpenAiChat, "http://h:1/v1/models"),
            (Anthropic, "http://h:1/v1/models?limit=1000"),
            (Gemini, "http://h:1/v1/models?pageSize=1000"),
            (Ollama, "http://h:1/api/tags"),
        ] {
            assert_eq!(address(kind, Some("http://h:1/v1")).unwrap().models(), url);
        }
    }

    #[test]
    fn unusable_base_urls_say_why() {
        for (base, why) in [
            ("localhost:11434", "begin with http://"),
            ("ftp://h/", "begin with http://"),
            ("http://", "host"),
            ("http://user:secret@h/v1", "user"),
            ("http://h:70000/v1", "port"),
        ] {
            let error = address(OpenAiChat, Some(base)).unwrap_err().to_string();
            assert!(error.contains(why), "{base}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
        let none = address(OpenAiCompatible, None).unwrap_err();
        assert!(none.to_string().contains("--base-url"), "{none}");
    }
}
