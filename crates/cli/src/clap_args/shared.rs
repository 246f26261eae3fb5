//! Arguments that several commands share.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use toolcrib_app::Preset;
use toolcrib_net::AddressPolicy;

use crate::config::duration_and_money;

/// What the tools may touch, and who is asked.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WorkspaceArgs {
    /// Folder that file tools may touch; may be repeated. Default: the current folder. `/` and the
    /// home folder count only when named here.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// What runs without asking: auto, ask-risky (default), ask-all or locked.
    #[arg(long, value_name = "PRESET", value_parser = preset_parser(), hide_possible_values = true, env = "TOOLCRIB_POLICY")]
    pub(crate) policy: Option<Preset>,
    /// Target that HTTP tools may reach although it is not public: HOST:PORT, ADDRESS:PORT or
    /// NETWORK/BITS; may be repeated.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = parse_net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
    /// Folder of tools of your own, one sub-folder each; may be repeated. Those of the
    /// configuration folder and of `.toolcrib/tools` in the workspace are always there.
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Vec<PathBuf>,
    /// Workspace: a folder with its tools, agents and skills, which file tools may touch. Default:
    /// the first root.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

/// Which model answers, as which agent, and what it may use.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModelArgs {
    /// Provider: openai-chat, openai-responses, anthropic, gemini, ollama, deepseek,
    /// openai-compatible, or the name of an entry of the configuration.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Where the provider is: with `/v1` for those like OpenAI, the host for the others. Default:
    /// its own service.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Model: MODEL, PROVIDER/MODEL, or scripted:FILE to replay a file.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Ask for whole answers instead of streams.
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Agent that answers; `toolcrib agent list` shows them.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Rounds of calls before the answer is asked for without tools, 1 to 100 (default 15).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) max_rounds: Option<u32>,
    /// Calls of the run (default 500).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_calls: Option<u64>,
    /// Tokens of the run, as providers report them (default: no limit).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Time that tools may run, such as 90s, 15m or 1h (default 1h).
    #[arg(long, value_name = "TIME", value_parser = duration_and_money::parse_duration)]
    pub(crate) max_time: Option<Duration>,
    /// Money by estimate, in US dollars, where the price of the model is known (default: no limit).
    #[arg(long, value_name = "USD", value_parser = duration_and_money::parse_micro_usd)]
    pub(crate) max_cost: Option<u64>,
}

/// Where one looks for tools, agents and skills.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LibraryArgs {
    /// Workspace: the folder whose tools, agents and skills count. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Folder of tools of your own, one sub-folder each; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Vec<PathBuf>,
}

/// The presets by name, so that shells complete them and a wrong one is answered with the list.
fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::as_str)).try_map(|name| name.parse())
}

/// Checked here, so that a slip of the pen is a usage error wherever a target is taken.
pub(super) fn parse_net_target(text: &str) -> Result<String, String> {
    AddressPolicy::with_allowed([text]).map(|_| text.to_owned()).map_err(|error| error.to_string())
}
