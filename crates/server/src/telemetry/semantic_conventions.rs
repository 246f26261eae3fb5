//! Names of spans and attributes: the semantic conventions of OpenTelemetry, pinned to one version.
//! The conventions for generative AI are in development and may change with every version.

/// The version of the conventions (1.42, generative AI in development).
#[cfg(feature = "otlp")]
pub(super) const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.42.0";

/// Operations.
pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const EXECUTE_TOOL: &str = "execute_tool";
pub(super) const INVOKE_AGENT: &str = "invoke_agent";
pub(super) const CHAT: &str = "chat";

/// Tools.
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
/// The type of all tools of Toolcrib.
pub(super) const FUNCTION: &str = "function";

/// Models and agents.
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const MODEL: &str = "gen_ai.request.model";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";

/// Spans of all kinds.
pub(super) const ERROR: &str = "error.type";
pub(super) const METHOD: &str = "http.request.method";
pub(super) const ROUTE: &str = "http.route";
pub(super) const STATUS: &str = "http.response.status_code";

/// Attributes of Toolcrib.
pub(super) const OUTCOME: &str = "toolcrib.outcome";
pub(super) const ORIGIN: &str = "toolcrib.origin";
pub(super) const RUN: &str = "toolcrib.run.id";
pub(super) const RUN_STATUS: &str = "toolcrib.run.status";
pub(super) const REQUEST: &str = "toolcrib.request.id";
