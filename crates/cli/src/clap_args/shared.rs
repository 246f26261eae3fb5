//! Arguments that several commands share.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use toolcrib_app::Preset;
use toolcrib_net::AddressPolicy;

use crate::config::duration_and_money;

/// What tools may access, and which calls need approval.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WorkspaceArgs {
    /// Folder that file tools may access; may be repeated. Default: the current folder. `/` and the
    /// home folder must be named here explicitly.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// Preset that decides what runs without approval: auto, ask-risky (default), ask-all or
    /// locked.
    #[arg(long, value_name = "PRESET", value_parser = preset_parser(), hide_possible_values = true, env = "TOOLCRIB_POLICY")]
    pub(crate) policy: Option<Preset>,
    /// Target that HTTP tools may reach although it is not public: HOST:PORT, ADDRESS:PORT or
    /// NETWORK/BITS; may be repeated.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = parse_net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
    /// Folder with your own tools, one sub-folder each; may be repeated. The configuration folder
    /// and `.toolcrib/tools` of the workspace are always included.
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Vec<PathBuf>,
    /// Workspace: a folder with tools, agents and skills, which file tools may access. Default: the
    /// first root.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

/// The model, the agent, and the limits of the run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModelArgs {
    /// Provider: openai-chat, openai-responses, anthropic, gemini, ollama, deepseek,
    /// openai-compatible, or the name of an entry of the configuration.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Base URL of the provider: with `/v1` for OpenAI-compatible servers, the host for others.
    /// Default: the provider's public service.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Model: MODEL, PROVIDER/MODEL, or scripted:FILE to replay a file.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Request whole responses instead of streams.
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Agent to use; `toolcrib agent list` lists them.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Rounds of calls before the model must answer without tools, 1 to 100 (default 15).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) max_rounds: Option<u32>,
    /// Maximum calls of the run (default 500).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_calls: Option<u64>,
    /// Maximum tokens of the run, as reported by providers (default: unlimited).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Maximum time that tools may run, such as 90s, 15m or 1h (default 1h).
    #[arg(long, value_name = "TIME", value_parser = duration_and_money::parse_duration)]
    pub(crate) max_time: Option<Duration>,
    /// Maximum estimated cost in US dollars, where the price of the model is known (default:
    /// unlimited).
    #[arg(long, value_name = "USD", value_parser = duration_and_money::parse_micro_usd)]
    pub(crate) max_cost: Option<u64>,
}

/// Where tools, agents and skills are loaded from.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LibraryArgs {
    /// Workspace: the folder whose tools, agents and skills are loaded. Default: the current
    /// folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Folder with your own tools, one sub-folder each; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Vec<PathBuf>,
}

/// Returns the names of the presets, for shell completion and for the error about an invalid one.
fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::as_str)).try_map(|name| name.parse())
}

/// Parses a target; checked here, so that an invalid target is a usage error of every command.
pub(super) fn parse_net_target(text: &str) -> Result<String, String> {
    AddressPolicy::with_allowed([text]).map(|_| text.to_owned()).map_err(|error| error.to_string())
}
