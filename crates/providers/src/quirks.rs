//! How servers that speak one format differ, as data: a table by kind of server, of which a configuration overrides single fields.
//!
//! Facts from research/protocols 2.1 to 2.5 and SPEC 1.7. What every server takes is not in here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::format::Format;
use crate::schema::Strict;

/// Context that an Ollama server is asked to keep, in tokens. Its own default is so small that the declared tools fall out of the prompt
/// without a word (research/protocols 2.5); this one fits a machine that can run a model of 8 billion parameters at all.
pub const OLLAMA_CONTEXT: u64 = 16_384;

/// Name of the member that limits the answer (Chat Completions).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputCap {
    /// `max_tokens`, which nearly every server takes.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models insist on.
    MaxCompletionTokens,
}

/// What of its reasoning goes back to a model (Chat Completions and Ollama).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningReplay {
    /// Nothing: the server refuses these members.
    Never,
    /// The members as they came.
    #[default]
    AsItCame,
    /// `reasoning_content` on every turn with calls, empty when nothing is known, and on no other: DeepSeek refuses a tool-call turn
    /// without it.
    ReasoningContent,
}

/// Who speaks the system prompt (Chat Completions and Ollama).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    /// A message of the role `system`.
    #[default]
    System,
    /// A message of the role `developer`.
    Developer,
    /// The first user message: for models whose template knows no system role.
    User,
}

/// How one server differs from the others of its format. The default is what the most servers take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Name of the limit of the answer.
    pub output_cap: OutputCap,
    /// Whether a stream is asked for its usage (`stream_options.include_usage`); some servers refuse the member.
    pub stream_usage: bool,
    /// Value of `parallel_tool_calls` where there are tools; `None` = the member is not sent, which some servers insist on.
    pub parallel_tool_calls: Option<bool>,
    /// Whether tools are declared strict where their schemas allow it ([`crate::Options::strict`]). Off unless the owner says so: strict mode
    /// costs a compilation per set of tools. DeepSeek's `/beta` base URL is there for nothing else and turns it on.
    pub strict: bool,
    /// Whose rules strict schemas follow; `None` = those of the format ([`crate::Options::rules`]).
    pub strict_rules: Option<Strict>,
    /// What of its reasoning goes back to the model.
    pub reasoning: ReasoningReplay,
    /// Who speaks the system prompt.
    pub system: SystemRole,
    /// Whether pictures are sent; if not, a line of text names them.
    pub images: bool,
    /// Whether neighbouring messages of one role are joined, and the user speaks first (Chat Completions and Ollama): templates of some
    /// local models refuse anything else.
    pub alternate: bool,
    /// Whether a temperature is sent; `None` = unless the name is that of a reasoning model of OpenAI's, because those refuse it.
    pub temperature: Option<bool>,
    /// Ollama's own `/api/chat`: arguments as objects, results by name, pictures beside the text, options of their own.
    pub ollama: bool,
    /// Context that Ollama is to keep, in tokens; `None` = the server's own.
    pub num_ctx: Option<u64>,
    /// Whether OpenAI keeps the response (Responses). If not, the reasoning travels back and forth encrypted.
    pub store: bool,
    /// Whether encrypted reasoning is asked for when nothing is stored (Responses); `None` = unless the name is that of a model that
    /// does not reason, because those refuse it.
    pub encrypted_reasoning: Option<bool>,
    /// Whether the prompt is marked for the cache, up to the system prompt and up to the last message (Anthropic). Writing a cache costs a
    /// quarter more than reading the tokens once.
    pub cache_control: bool,
    /// Members to add to every body, such as `reasoning` or `thinking`; objects are merged, and these win over what is written here.
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
    /// The same with some fields replaced, by name.
    ///
    /// # Errors
    /// A field that does not exist, or a value that does not fit it; the text names it.
    pub fn with(&self, fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
        let mut all = serde_json::to_value(self)?;
        if let Value::Object(object) = &mut all {
            object.extend(fields);
        }
        serde_json::from_value(all)
    }
}

/// Kinds of servers whose quirks are known.
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
    /// Ollama's own `/api/chat`.
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
    /// Groq, and other servers that refuse their own reasoning, such as Cerebras.
    Groq,
    /// Any other server that speaks Chat Completions more or less.
    OpenaiCompatible,
}

impl Server {
    /// Every kind, in the order of the documentation.
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

    /// The provider id.
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

    /// The kind of this provider id.
    #[must_use]
    pub fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|server| server.as_str() == id)
    }

    /// The kind behind a base URL, where the host tells it.
    #[must_use]
    pub fn of_url(url: &str) -> Option<Self> {
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

    /// The wire format that it speaks.
    #[must_use]
    pub fn format(self) -> Format {
        match self {
            Self::OpenaiResponses => Format::OpenAiResponses,
            Self::Anthropic => Format::Anthropic,
            Self::Gemini => Format::Gemini,
            _ => Format::OpenAiChat,
        }
    }

    /// Its quirks.
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

/// What a request to one server is written by.
#[derive(Debug, Clone, PartialEq)]
pub struct Dialect {
    /// The wire format of requests and answers; never [`Format::Text`], which travels inside another.
    pub format: Format,
    /// How the server differs.
    pub quirks: Quirks,
    /// Whether the server has no function calling: tools are then declared in the system prompt, and calls and results are plain text.
    pub text_tools: bool,
}

impl Dialect {
    /// The dialect of a kind of server.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self { format: server.format(), quirks: server.quirks(), text_tools: false }
    }

    /// The same without function calling.
    #[must_use]
    pub fn with_text_tools(self) -> Self {
        Self { text_tools: true, ..self }
    }

    /// The format in which tools are declared for it ([`crate::declare`]) and in which its turns come.
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
        let changed = base.with(fields(json!({"num_ctx": 4096, "reasoning": "never"}))).unwrap();
        assert_eq!(changed.num_ctx, Some(4096));
        assert_eq!(changed.reasoning, ReasoningReplay::Never);
        assert!(changed.ollama, "what is not named stays as the table has it");
        assert_eq!(base.with(fields(json!({"num_ctx": null}))).unwrap().num_ctx, None);
        let wrong = base.with(fields(json!({"num_context": 1}))).unwrap_err().to_string();
        assert!(wrong.contains("num_context"), "{wrong}");
        assert!(base.with(fields(json!({"images": "no"}))).is_err());
    }

    #[test]
    fn ids_and_hosts_name_their_kind() {
        for server in Server::ALL {
            assert_eq!(Server::of_id(server.as_str()), Some(server));
            assert_eq!(serde_json::to_value(server).unwrap(), server.as_str());
        }
        assert_eq!(Server::of_id("nobody"), None);
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
            assert_eq!(Server::of_url(url), server, "{url}");
        }
    }

    #[test]
    fn text_tools_are_declared_as_text() {
        let dialect = Dialect::new(Server::LlamaCpp);
        assert_eq!(dialect.tools_format(), Format::OpenAiChat);
        assert_eq!(dialect.with_text_tools().tools_format(), Format::Text);
    }
}
