//! From a base URL, however it was copied, to the URLs of the requests.

use toolcrib_net::{AddressPolicy, check_url};
use url::Url;

use super::kind::ProviderKind;
use super::settings::{LiveError, ProviderSettings};

/// Where a provider is.
#[derive(Debug, Clone)]
pub(super) struct Address {
    kind: ProviderKind,
    /// Without the part that the paths of requests begin with, and without a slash at its end.
    base: Url,
    /// The owner opens exactly this host and port, be it on this device or in the local network.
    policy: AddressPolicy,
}

impl Address {
    pub(super) fn of(settings: &ProviderSettings) -> Result<Self, LiveError> {
        let (id, kind) = (&settings.id, settings.kind);
        let bad = |problem: String| LiveError::BadBaseUrl { id: id.clone(), problem };
        let given = settings.base_url.as_deref().map(str::trim).filter(|url| !url.is_empty());
        let text = given
            .or(kind.default_base_url())
            .ok_or_else(|| LiveError::NoBaseUrl { id: id.clone(), kind })?;
        if !text.starts_with("http://") && !text.starts_with("https://") {
            return Err(bad("it must begin with http:// or https://".to_owned()));
        }
        let mut base = Url::parse(text).map_err(|error| bad(error.to_string()))?;
        base.set_path(&trimmed(kind, base.path()));
        base.set_fragment(None);
        let policy = opening(&base).map_err(|problem| bad(problem.to_owned()))?;
        check_url(base.as_str(), &policy).map_err(|denied| bad(denied.to_string()))?;
        Ok(Self { kind, base, policy })
    }

    pub(super) fn policy(&self) -> &AddressPolicy {
        &self.policy
    }

    /// Scheme, host, port and path, for people; the query may hold a secret.
    pub(super) fn shown(&self) -> String {
        shown(&self.base)
    }

    /// Whether the path of the base URL is empty, which for servers like OpenAI is mostly a `/v1` forgotten.
    pub(super) fn is_bare(&self) -> bool {
        matches!(self.base.path(), "" | "/")
    }

    /// Whether it is DeepSeek's beta, which takes strict tools.
    pub(super) fn is_beta(&self) -> bool {
        self.kind == ProviderKind::DeepSeek && self.base.path().ends_with("/beta")
    }

    /// Where a model is asked.
    pub(super) fn ask(&self, model: &str, stream: bool) -> String {
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

    /// Where the models are listed.
    pub(super) fn models(&self) -> String {
        match self.kind {
            ProviderKind::Anthropic => self.join("/v1/models", &[("limit", "1000")]),
            ProviderKind::Gemini => self.join("/models", &[("pageSize", "1000")]),
            ProviderKind::Ollama => self.join("/api/tags", &[]),
            _ => self.join("/models", &[]),
        }
    }

    /// Where texts become vectors; `None` = the provider has nothing of the kind.
    pub(super) fn embeddings(&self) -> Option<String> {
        match self.kind {
            // Gemini's own form is another; its address for programs that speak OpenAI's is an entry of the kind `openai-compatible`.
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

/// Scheme, host, port and path.
pub(super) fn shown(url: &Url) -> String {
    let path = url.path();
    format!("{}{}", url.origin().ascii_serialization(), if path == "/" { "" } else { path })
}

/// The policy that opens the URL's own host and port, and nothing else that is not public.
fn opening(base: &Url) -> Result<AddressPolicy, &'static str> {
    let host = base.host_str().ok_or("it has no host")?;
    let port = base.port_or_known_default().ok_or("it has no port")?;
    AddressPolicy::allowing([format!("{host}:{port}")]).map_err(|error| error.problem)
}

/// The path without what the requests' own paths begin with, where somebody copied more than the base.
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

/// The model as a path: `models/NAME`, or as it is where the name says what it names.
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

    fn address(kind: ProviderKind, base: Option<&str>) -> Result<Address, LiveError> {
        let mut settings = ProviderSettings::new("p", kind);
        settings.base_url = base.map(str::to_owned);
        Address::of(&settings)
    }

    fn check(kind: ProviderKind, base: &str, expected: &str) {
        let base = Some(base).filter(|base| !base.is_empty());
        let url = address(kind, base).unwrap().ask("m", true);
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
            assert_eq!(address.ask(model, false), expected);
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
