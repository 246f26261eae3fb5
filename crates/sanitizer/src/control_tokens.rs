//! The table of control tokens and tool-call markup, with the provider of each.
//!
//! Sources: the chat templates and tokenizer configurations that the providers publish. Bars
//! (`<|…|>`) need no table: any word in them is a token. The table adds the tokens in plain angle
//! or square brackets, and the names that are recognized even with blanks.

/// The permitted letter case of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    /// Exactly as in the table: other spellings are benign code or prose.
    Exact,
    /// Any: no benign text uses the name.
    Any,
    /// Any, but a spelling that could be a type or an index is benign directly after an identifier
    /// (`Vec<System>`, `code[inst]`).
    Word,
}

/// The text that must follow the name of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `<name>`, `</name>` or `<name/>`, without blanks.
    Bare,
    /// The same, with blanks and attributes allowed.
    Tag,
    /// `<name name=` or `</name>`; also `<name=`.
    Named,
    /// `<name=` or `</name>`.
    Assigned,
    /// Any beginning: `<name` without a further letter.
    Open,
}

/// One name in brackets.
pub(super) struct Token {
    /// The name; in tags `-` and `_` are equivalent.
    pub(super) name: &'static str,
    /// The provider that defines the format.
    pub(super) provider: &'static str,
    pub(super) case: Case,
    pub(super) form: Form,
}

const fn token(name: &'static str, provider: &'static str, case: Case, form: Form) -> Token {
    Token { name, provider, case, form }
}

/// Names in angle brackets.
pub(super) const TAGS: &[Token] = &[
    token("s", "llama, mistral", Case::Exact, Form::Bare),
    token("pad", "llama, gemma", Case::Exact, Form::Bare),
    token("unk", "llama, gemma", Case::Exact, Form::Bare),
    token("mask", "gemma", Case::Exact, Form::Bare),
    token("bos", "gemma", Case::Word, Form::Bare),
    token("eos", "gemma", Case::Word, Form::Bare),
    token("start_of_turn", "gemma", Case::Any, Form::Tag),
    token("end_of_turn", "gemma", Case::Any, Form::Tag),
    token("start_of_image", "gemma", Case::Any, Form::Tag),
    token("end_of_image", "gemma", Case::Any, Form::Tag),
    token("start_function_call", "gemma", Case::Any, Form::Tag),
    token("end_function_call", "gemma", Case::Any, Form::Tag),
    token("start_function_response", "gemma", Case::Any, Form::Tag),
    token("end_function_response", "gemma", Case::Any, Form::Tag),
    token("start_function_declaration", "gemma", Case::Any, Form::Tag),
    token("end_function_declaration", "gemma", Case::Any, Form::Tag),
    token("sop", "glm", Case::Exact, Form::Bare),
    token("eop", "glm", Case::Exact, Form::Bare),
    token("arg_key", "glm", Case::Any, Form::Tag),
    token("arg_value", "glm", Case::Any, Form::Tag),
    token("BOS_TOKEN", "cohere", Case::Any, Form::Tag),
    token("EOS_TOKEN", "cohere", Case::Any, Form::Tag),
    token("EOP_TOKEN", "cohere", Case::Any, Form::Tag),
    token("PAD_TOKEN", "cohere", Case::Any, Form::Tag),
    token("tool_call", "qwen, hermes", Case::Any, Form::Tag),
    token("tool_calls", "hermes", Case::Any, Form::Tag),
    token("tool_response", "qwen, hermes", Case::Any, Form::Tag),
    token("tool_responses", "hermes", Case::Any, Form::Tag),
    token("tools", "qwen, hermes", Case::Word, Form::Tag),
    token("tool_code", "gemini", Case::Any, Form::Tag),
    token("tool_outputs", "gemini", Case::Any, Form::Tag),
    token("tool_use", "anthropic", Case::Any, Form::Tag),
    token("tool_result", "anthropic", Case::Any, Form::Tag),
    token("tool_results", "anthropic", Case::Any, Form::Tag),
    token("function_call", "hermes", Case::Any, Form::Tag),
    token("function_calls", "anthropic", Case::Any, Form::Tag),
    token("function_results", "anthropic", Case::Any, Form::Tag),
    token("function_result", "anthropic", Case::Any, Form::Tag),
    token("invoke", "anthropic", Case::Word, Form::Named),
    token("parameter", "anthropic, qwen", Case::Word, Form::Named),
    token("function", "llama, qwen", Case::Word, Form::Assigned),
    token("think", "deepseek, qwen", Case::Word, Form::Tag),
    token("thinking", "anthropic", Case::Word, Form::Tag),
    token("antthinking", "anthropic", Case::Any, Form::Tag),
    token("system", "anthropic", Case::Word, Form::Tag),
    token("system_reminder", "anthropic", Case::Any, Form::Tag),
    token("tool_output", "toolcrib", Case::Any, Form::Open),
    token("function_response", "hermes", Case::Any, Form::Tag),
    token("tool_request", "hermes", Case::Any, Form::Tag),
    token("system_prompt", "any", Case::Any, Form::Tag),
    token("system_message", "any", Case::Any, Form::Tag),
    token("system_instruction", "gemini", Case::Any, Form::Tag),
    token("system_instructions", "any", Case::Any, Form::Tag),
    token("developer_message", "openai", Case::Any, Form::Tag),
    token("user_query", "cursor", Case::Any, Form::Tag),
    token("untrusted_content", "any", Case::Any, Form::Tag),
    token("external_untrusted_content", "any", Case::Any, Form::Tag),
    token("environment_details", "cline", Case::Any, Form::Tag),
    token("use_mcp_tool", "cline", Case::Any, Form::Tag),
    token("access_mcp_resource", "cline", Case::Any, Form::Tag),
    token("execute_command", "cline", Case::Any, Form::Tag),
    token("write_to_file", "cline", Case::Any, Form::Tag),
    token("replace_in_file", "cline", Case::Any, Form::Tag),
    token("apply_diff", "cline", Case::Any, Form::Tag),
    token("attempt_completion", "cline", Case::Any, Form::Tag),
    token("local_command_stdout", "anthropic", Case::Any, Form::Tag),
    token("command_message", "anthropic", Case::Any, Form::Tag),
];

/// The tags of [`TAGS`] that contain a call: every tag inside belongs to it. In lower case.
pub(super) const CALL_CONTAINERS: &[&str] = &[
    "tool_call",
    "tool_calls",
    "tool_use",
    "tool_code",
    "tool_request",
    "function_call",
    "function_calls",
    "start_function_call",
    "invoke",
    "function",
    "use_mcp_tool",
    "access_mcp_resource",
    "execute_command",
    "write_to_file",
    "replace_in_file",
    "apply_diff",
    "attempt_completion",
];

/// Names of code fences that contain calls or results, with the provider of each.
pub(super) const CALL_FENCES: &[(&str, &str)] = &[
    ("tool_call", "toolcrib"),
    ("tool_calls", "toolcrib"),
    ("tool_use", "anthropic"),
    ("tool_code", "gemini"),
    ("tool_request", "hermes"),
    ("tool_response", "hermes"),
    ("tool_result", "any"),
    ("tool_results", "any"),
    ("tool_output", "gemini"),
    ("tool_outputs", "gemini"),
    ("function_call", "any"),
    ("function_calls", "any"),
];

/// Namespaces that can precede the names of [`TAGS`]. In the first one every name matches.
pub(super) const TAG_PREFIXES: &[(&str, &str)] =
    &[("antml", "anthropic"), ("minimax", "minimax"), ("seed", "seed"), ("tools", "hermes")];

/// Names in square brackets, also with a leading slash.
pub(super) const BRACKETS: &[Token] = &[
    token("INST", "llama, mistral", Case::Word, Form::Bare),
    token("TOOL_CALLS", "mistral", Case::Any, Form::Bare),
    token("TOOL_RESULTS", "mistral", Case::Any, Form::Bare),
    token("TOOL_CONTENT", "mistral", Case::Any, Form::Bare),
    token("AVAILABLE_TOOLS", "mistral", Case::Any, Form::Bare),
    token("SYSTEM_PROMPT", "mistral", Case::Any, Form::Bare),
    token("MODEL_SETTINGS", "mistral", Case::Exact, Form::Bare),
    token("CALL_ID", "mistral", Case::Exact, Form::Bare),
    token("ARGS", "mistral", Case::Exact, Form::Bare),
    token("THINK", "mistral", Case::Exact, Form::Bare),
    token("gMASK", "glm", Case::Word, Form::Bare),
    token("sMASK", "glm", Case::Word, Form::Bare),
    token("TOOL", "toolcrib", Case::Exact, Form::Open),
];

/// Names known to occur between bars (`<|im_start|>`), recognized even with blanks around them.
pub(super) const BARRED: &[(&str, &str)] = &[
    ("im_start", "openai, qwen"),
    ("im_end", "openai, qwen"),
    ("im_sep", "openai, phi"),
    ("endoftext", "openai, qwen, phi"),
    ("endofprompt", "openai"),
    ("fim_prefix", "openai, qwen"),
    ("fim_middle", "openai, qwen"),
    ("fim_suffix", "openai, qwen"),
    ("start", "openai harmony"),
    ("end", "openai harmony, phi"),
    ("message", "openai harmony"),
    ("channel", "openai harmony"),
    ("constrain", "openai harmony"),
    ("call", "openai harmony"),
    ("return", "openai harmony"),
    ("startoftext", "openai harmony"),
    ("refusal", "openai harmony"),
    ("begin_of_text", "llama"),
    ("end_of_text", "llama"),
    ("start_header_id", "llama"),
    ("end_header_id", "llama"),
    ("header_start", "llama"),
    ("header_end", "llama"),
    ("eot", "llama"),
    ("eot_id", "llama"),
    ("eom", "llama"),
    ("eom_id", "llama"),
    ("python_tag", "llama"),
    ("python_start", "llama"),
    ("python_end", "llama"),
    ("system", "phi, glm"),
    ("user", "phi, glm, deepseek"),
    ("assistant", "phi, glm, deepseek"),
    ("observation", "glm"),
    ("tool", "phi"),
    ("tool_call", "phi, granite"),
    ("tool_response", "phi"),
    ("tool_calls_section_begin", "kimi"),
    ("tool_calls_section_end", "kimi"),
    ("tool_call_begin", "kimi, deepseek"),
    ("tool_call_argument_begin", "kimi"),
    ("tool_call_end", "kimi, deepseek"),
    ("tool_calls_begin", "deepseek"),
    ("tool_calls_end", "deepseek"),
    ("tool_outputs_begin", "deepseek"),
    ("tool_outputs_end", "deepseek"),
    ("tool_output_begin", "deepseek"),
    ("tool_output_end", "deepseek"),
    ("tool_sep", "deepseek"),
    ("begin_of_sentence", "deepseek"),
    ("end_of_sentence", "deepseek"),
    ("start_of_role", "granite"),
    ("end_of_role", "granite"),
    ("start_of_turn_token", "cohere"),
    ("end_of_turn_token", "cohere"),
    ("system_token", "cohere"),
    ("user_token", "cohere"),
    ("chatbot_token", "cohere"),
    ("start_action", "cohere"),
    ("end_action", "cohere"),
    ("start_tool_result", "cohere"),
    ("end_tool_result", "cohere"),
];

/// Names with a bar on one side only: `<|turn>`, `<turn|>`.
pub(super) const HALF_BARRED: &[&str] =
    &["turn", "tool", "tool_call", "tool_response", "channel", "think", "image", "audio", "video"];

/// The provider of the names in [`HALF_BARRED`].
pub(super) const HALF_BARRED_PROVIDER: &str = "gemma";

/// The name that DeepSeek writes between bars before the name of a tag: `<｜DSML｜invoke name=`.
pub(super) const BARRED_PREFIX: (&str, &str) = ("dsml", "deepseek");

/// Words that open a turn if a colon follows them at the start of a paragraph.
pub(super) const TURNS: [&str; 2] = ["human", "assistant"];
