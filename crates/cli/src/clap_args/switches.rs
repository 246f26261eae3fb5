//! `toolcrib tool enable|ask|disable|reset`.

use clap::Args;
use toolcrib_app::SwitchTarget;
use toolcrib_core::Tier;

use super::shared::WorkspaceArgs;

/// What to switch.
#[derive(Debug, Args)]
pub(crate) struct SwitchArgs {
    #[command(flatten)]
    pub(crate) selection: SwitchSelection,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct SwitchSelection {
    /// Name of the tool.
    pub(crate) name: Option<String>,
    /// All tools of a group, as `tool list --json` names it; each tool keeps its own switch.
    #[arg(long, value_name = "NAME")]
    pub(crate) group: Option<String>,
    /// All tools of a source.
    #[arg(long, value_name = "ID")]
    pub(crate) source: Option<String>,
    /// All tools of a tier: innate, first_party or interface.
    #[arg(long, value_parser = parse_tier)]
    pub(crate) tier: Option<Tier>,
    /// The feature switch of several tools, as `tool list` names it.
    #[arg(long, value_name = "NAME")]
    pub(crate) feature: Option<String>,
    /// All tools: the kill switch.
    #[arg(long)]
    pub(crate) all: bool,
}

fn parse_tier(text: &str) -> Result<Tier, String> {
    let found = Tier::ALL.into_iter().find(|tier| tier.as_str() == text);
    found.ok_or_else(|| "the tiers are innate, first_party and interface".to_owned())
}

impl SwitchSelection {
    /// Returns the selected switch, with the name of a tool as typed.
    pub(crate) fn selected(&self) -> SwitchTarget {
        if let Some(name) = &self.name {
            SwitchTarget::Tool(name.clone())
        } else if let Some(name) = &self.group {
            SwitchTarget::Group(name.clone())
        } else if let Some(id) = &self.source {
            SwitchTarget::Source(id.clone())
        } else if let Some(tier) = self.tier {
            SwitchTarget::Tier(tier)
        } else if let Some(name) = &self.feature {
            SwitchTarget::Feature(name.clone())
        } else {
            SwitchTarget::Everything
        }
    }
}
