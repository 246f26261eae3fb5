//! Quirks: differences between servers with the same format, as a table by kind of server. The
//! configuration can override single fields.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::schema::Strict;
use crate::wire_format::Format;

/// Context size requested from Ollama, in tokens. Ollama's own default is so small that the
/// declared tools are silently cut from the prompt; this one fits any machine that can run a model
/// of 8 billion parameters.
pub const OLLAMA_CONTEXT: u64 = 16_384;

/// Name of the member that limits the output (Chat Completions).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputCap {
    /// `max_tokens`, which nearly every server accepts.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models require.
    MaxCompletionTokens,
}

/// The reasoning that is sent back to a model (Chat Completions and Ollama).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningReplay {
    /// None: the server rejects these members.
    Never,
    /// The members as received.
    #[default]
    AsItCame,
    /// `reasoning_content` on every turn with calls, empty if unknown, and on no other turn:
    /// DeepSeek rejects a turn with calls that has none.
    ReasoningContent,
}

/// Role of the system prompt (Chat Completions and Ollama).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    /// A message of the role `system`.
    #[default]
    System,
    /// A message of the role `developer`.
    Developer,
    /// The first user message, for models whose template has no system role.
    User,
}

/// Differences of one server from the others of its format. The default suits most servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Name of the member that limits the output.
    pub output_cap: OutputCap,
    /// Whether a stream requests its usage (`stream_options.include_usage`); some servers reject
    /// the member.
    pub stream_usage: bool,
    /// Value of `parallel_tool_calls` in requests with tools; `None` omits the member, which some
    /// servers require.
    pub parallel_tool_calls: Option<bool>,
    /// Whether tools are declared strict if their schemas allow it ([`crate::Options::strict`]).
    /// Off by default: strict mode costs a compilation per set of tools. On for DeepSeek's `/beta`
    /// base URL, whose only purpose is strict mode.
    pub strict: bool,
    /// Dialect of strict schemas; `None` for that of the format ([`crate::Options::rules`]).
    pub strict_rules: Option<Strict>,
    /// The reasoning that is sent back to the model.
    pub reasoning: ReasoningReplay,
    /// Role of the system prompt.
    pub system: SystemRole,
    /// Whether images are sent; if not, a line of text mentions each.
    pub images: bool,
    /// Whether adjacent messages of one role are merged and the user comes first (Chat Completions
    /// and Ollama): templates of some local models reject any other order.
    pub alternate: bool,
    /// Whether a temperature is sent; `None` sends it except to OpenAI's reasoning models, which
    /// reject it.
    pub temperature: Option<bool>,
    /// Ollama's native `/api/chat`: arguments as objects, results by name, images in a separate
    /// member, specific options.
    pub ollama: bool,
    /// Context size requested from Ollama, in tokens, unless the owner configured a window for the
    /// model; `None` for the server's own.
    pub num_ctx: Option<u64>,
    /// Whether OpenAI stores the response (Responses). If not, reasoning is sent back and forth
    /// encrypted.
    pub store: bool,
    /// Whether encrypted reasoning is requested when nothing is stored (Responses); `None` requests
    /// it except from models without reasoning, which reject it.
    pub encrypted_reasoning: Option<bool>,
    /// Whether the prompt is marked for caching, up to the system prompt and up to the last message
    /// (Anthropic). Writing a cache costs a quarter more than reading the tokens once.
    pub cache_control: bool,
    /// Members to add to every body, such as `reasoning` or `thinking`. Objects are merged, and
    /// these members take precedence.
    pub extra: Map<String, Value>,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            output_cap: OutputCap::default(),
            stream_usage: false,
            parallel_tool_calls: None,
            strict: false,
            strict_rules: None,
            reasoning: ReasoningReplay::default(),
            system: SystemRole::default(),
            images: true,
            alternate: false,
            temperature: Some(true),
            ollama: false,
            num_ctx: None,
            store: false,
            encrypted_reasoning: None,
            cache_control: false,
            extra: Map::new(),
        }
    }
}

impl Quirks {
    /// Returns a copy with some fields replaced, by name.
    ///
    /// # Errors
    /// An unknown field or an invalid value; the message names it.
    pub fn override_fields(&self, fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
        let mut all = serde_json::to_value(self)?;
        if let Value::Object(object) = &mut all {
            object.extend(fields);
        }
        serde_json::from_value(all)
    }

    /// Returns the context window that a request asks the server to keep for this model, in tokens;
    /// `None` if the request does not set it. `configured` is the owner's window for the model. A
    /// number among the additional members is sent regardless of other settings, so it has
    /// precedence.
    pub(crate) fn requested_window(&self, model: &str, configured: Option<u64>) -> Option<u64> {
        if !self.ollama {
            return None;
        }
        let added = self.extra.get("options").and_then(|options| options.get("num_ctx"));
        if let Some(tokens) = added.and_then(Value::as_u64) {
            return Some(tokens);
        }
        let default = self.num_ctx?;
        // Ollama runs these models on its own servers, at their full context.
        let is_cloud = model.ends_with(":cloud") || model.ends_with("-cloud");
        configured.or(Some(default).filter(|_| !is_cloud))
    }
}

/// Kinds of servers with known quirks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// OpenAI, Chat Completions.
    OpenaiChat,
    /// OpenAI, Responses.
    OpenaiResponses,
    /// Anthropic, Messages.
    Anthropic,
    /// Google, `generateContent`.
    Gemini,
    /// Ollama's native `/api/chat`.
    Ollama,
    /// DeepSeek.
    Deepseek,
    /// OpenRouter.
    Openrouter,
    /// vLLM.
    Vllm,
    /// llama.cpp.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// Groq, and other servers that reject their own reasoning in requests, such as Cerebras.
    Groq,
    /// Any other server that is compatible with Chat Completions.
    OpenaiCompatible,
}

impl Server {
    /// All kinds, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::Deepseek,
        Self::Openrouter,
        Self::Vllm,
        Self::LlamaCpp,
        Self::Groq,
        Self::OpenaiCompatible,
    ];

    /// Returns the provider id.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Deepseek => "deepseek",
            Self::Openrouter => "openrouter",
            Self::Vllm => "vllm",
            Self::LlamaCpp => "llama.cpp",
            Self::Groq => "groq",
            Self::OpenaiCompatible => "openai-compatible",
        }
    }

    /// Returns the kind with this provider id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|server| server.as_str() == id)
    }

    /// Returns the kind of server behind a base URL, if the host determines it.
    #[must_use]
    pub fn from_url(url: &str) -> Option<Self> {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
        let is = |domain: &str| {
            host.strip_suffix(domain).is_some_and(|left| left.is_empty() || left.ends_with('.'))
        };
        match () {
            () if is("api.openai.com") => Some(Self::OpenaiChat),
            () if is("deepseek.com") => Some(Self::Deepseek),
            () if is("openrouter.ai") => Some(Self::Openrouter),
            () if is("groq.com") || is("cerebras.ai") => Some(Self::Groq),
            () => None,
        }
    }

    /// Returns the wire format of the server.
    #[must_use]
    pub fn format(self) -> Format {
        match self {
            Self::OpenaiResponses => Format::OpenAiResponses,
            Self::Anthropic => Format::Anthropic,
            Self::Gemini => Format::Gemini,
            _ => Format::OpenAiChat,
        }
    }

    /// Returns the quirks.
    #[must_use]
    pub fn quirks(self) -> Quirks {
        let lenient = Quirks::default();
        match self {
            Self::OpenaiChat => Quirks {
                output_cap: OutputCap::MaxCompletionTokens,
                stream_usage: true,
                reasoning: ReasoningReplay::Never,
                temperature: None,
                ..lenient
            },
            Self::OpenaiResponses => Quirks { temperature: None, ..lenient },
            Self::Anthropic | Self::Gemini | Self::OpenaiCompatible => lenient,
            Self::Ollama => Quirks { ollama: true, num_ctx: Some(OLLAMA_CONTEXT), ..lenient },
            Self::Deepseek => Quirks {
                stream_usage: true,
                reasoning: ReasoningReplay::ReasoningContent,
                strict_rules: Some(Strict::DeepSeek),
                images: false,
                ..lenient
            },
            Self::Openrouter => Quirks { stream_usage: true, ..lenient },
            Self::Vllm | Self::LlamaCpp => {
                Quirks { stream_usage: true, alternate: true, ..lenient }
            }
            Self::Groq => {
                Quirks { stream_usage: true, reasoning: ReasoningReplay::Never, ..lenient }
            }
        }
    }
}

/// The format, quirks and tool mode for rendering a request to one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Dialect {
    /// The wire format of requests and answers; never [`Format::Text`], which is embedded in
    /// another format.
    pub format: Format,
    /// Quirks of the server.
    pub quirks: Quirks,
    /// Whether the server has no function calling: tools are then declared in the system prompt,
    /// and calls and results are plain text.
    pub text_tools: bool,
}

impl Dialect {
    /// Returns the dialect of a kind of server.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self { format: server.format(), quirks: server.quirks(), text_tools: false }
    }

    /// Returns the dialect without function calling.
    #[must_use]
    pub fn with_text_tools(self) -> Self {
        Self { text_tools: true, ..self }
    }

    /// Returns the format in which tools are declared ([`crate::declare`]) and turns arrive.
    #[must_use]
    pub fn tools_format(&self) -> Format {
        if self.text_tools { Format::Text } else { self.format }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn single_fields_are_replaced_and_the_others_stay() {
        let base = Server::Ollama.quirks();
        let changed =
            base.override_fields(fields(json!({"num_ctx": 4096, "reasoning": "never"}))).unwrap();
        assert_eq!(changed.num_ctx, Some(4096));
        assert_eq!(changed.reasoning, ReasoningReplay::Never);
        assert!(changed.ollama, "what is not named stays as the table has it");
        assert_eq!(base.override_fields(fields(json!({"num_ctx": null}))).unwrap().num_ctx, None);
        let wrong =
            base.override_fields(fields(json!({"num_context": 1}))).unwrap_err().to_string();
        assert!(wrong.contains("num_context"), "{wrong}");
        assert!(base.override_fields(fields(json!({"images": "no"}))).is_err());
    }

    #[test]
    fn the_requested_window_is_the_configured_one() {
        let ollama = Server::Ollama.quirks();
        let with = |value: Value| ollama.override_fields(fields(value)).unwrap();
        let own = with(json!({"num_ctx": null}));
        let added = with(json!({"num_ctx": 1, "extra": {"options": {"num_ctx": 2048}}}));
        for (quirks, model, configured, window) in [
            (&ollama, "qwen3:8b", None, Some(OLLAMA_CONTEXT)),
            (&ollama, "qwen3:8b", Some(40_000), Some(40_000)),
            (&with(json!({"num_ctx": 8192})), "qwen3:8b", None, Some(8192)),
            (&with(json!({"num_ctx": 8192})), "qwen3:8b", Some(40_000), Some(40_000)),
            (&own, "qwen3:8b", Some(40_000), None),
            (&added, "qwen3:8b", Some(40_000), Some(2048)),
            (&ollama, "gpt-oss:120b-cloud", None, None),
            (&ollama, "gpt-oss:120b-cloud", Some(40_000), Some(40_000)),
            (&Quirks::default(), "qwen3:8b", Some(40_000), None),
        ] {
            assert_eq!(
                quirks.requested_window(model, configured),
                window,
                "{model} {configured:?}"
            );
        }
    }

    #[test]
    fn ids_and_hosts_name_their_kind() {
        for server in Server::ALL {
            assert_eq!(Server::from_id(server.as_str()), Some(server));
            assert_eq!(serde_json::to_value(server).unwrap(), server.as_str());
        }
        assert_eq!(Server::from_id("nobody"), None);
        for (url, server) in [
            ("https://api.openai.com/v1", Some(Server::OpenaiChat)),
            ("https://api.deepseek.com", Some(Server::Deepseek)),
            ("https://key@openrouter.ai:443/api/v1", Some(Server::Openrouter)),
            ("https://api.groq.com/openai/v1", Some(Server::Groq)),
            ("http://localhost:8000/v1", None),
            ("https://notgroq.com/v1", None),
            ("https://example.com/groq.com", None),
            ("", None),
        ] {
            assert_eq!(Server::from_url(url), server, "{url}");
        }
    }

    #[test]
    fn text_tools_are_declared_as_text() {
        let dialect = Dialect::new(Server::LlamaCpp);
        assert_eq!(dialect.tools_format(), Format::OpenAiChat);
        assert_eq!(dialect.with_text_tools().tools_format(), Format::Text);
    }
}
