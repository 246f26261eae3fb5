//! `toolcrib tool enable|ask|disable|reset`.

use clap::Args;
use toolcrib_app::Switched;
use toolcrib_app::core::Tier;

use super::World;

/// What is switched.
#[derive(Debug, Args)]
pub(crate) struct Switch {
    #[command(flatten)]
    pub(crate) what: What,
    #[command(flatten)]
    pub(crate) world: World,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct What {
    /// The tool.
    pub(crate) name: Option<String>,
    /// All tools of a group, as `tool list --json` names it; each keeps its own switch.
    #[arg(long, value_name = "NAME")]
    pub(crate) group: Option<String>,
    /// All tools of a source.
    #[arg(long, value_name = "ID")]
    pub(crate) source: Option<String>,
    /// All tools of a tier: innate, first_party or interface.
    #[arg(long, value_parser = tier)]
    pub(crate) tier: Option<Tier>,
    /// The master switch of some tools, as `tool list` names it.
    #[arg(long, value_name = "NAME")]
    pub(crate) feature: Option<String>,
    /// Every tool: the kill switch.
    #[arg(long)]
    pub(crate) all: bool,
}

fn tier(text: &str) -> Result<Tier, String> {
    let found = Tier::ALL.into_iter().find(|tier| tier.as_str() == text);
    found.ok_or_else(|| "the tiers are innate, first_party and interface".to_owned())
}

impl What {
    /// The switch that is meant. A tool's name is as it was typed.
    pub(crate) fn switched(&self) -> Switched {
        if let Some(name) = &self.name {
            Switched::Tool(name.clone())
        } else if let Some(name) = &self.group {
            Switched::Group(name.clone())
        } else if let Some(id) = &self.source {
            Switched::Source(id.clone())
        } else if let Some(tier) = self.tier {
            Switched::Tier(tier)
        } else if let Some(name) = &self.feature {
            Switched::Feature(name.clone())
        } else {
            Switched::Everything
        }
    }
}
