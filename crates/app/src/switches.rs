//! Switches that somebody set before: put into force when a Toolcrib is built.

use toolcrib_core::{StoreError, SwitchStore, Tier};
use toolcrib_engine::Engine;

/// What a switch is for, as its stored name says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Switched {
    /// Every tool: the kill switch (`tools`).
    Everything,
    /// One tool (`tool:NAME`).
    Tool(String),
    /// One source of tools (`source:ID`).
    Source(String),
    /// One tier (`tier:innate|first_party|interface`).
    Tier(Tier),
    /// The master switch of some tools (`feature:NAME`).
    Feature(String),
}

impl Switched {
    /// The name under which it is stored.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Everything => "tools".to_owned(),
            Self::Tool(name) => format!("tool:{name}"),
            Self::Source(id) => format!("source:{id}"),
            Self::Tier(tier) => format!("tier:{}", tier.as_str()),
            Self::Feature(name) => format!("feature:{name}"),
        }
    }

    /// What a stored name is for; `None` = a newer Toolcrib wrote it.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        match name.split_once(':') {
            None => (name == "tools").then_some(Self::Everything),
            Some(("tool", name)) => Some(Self::Tool(name.to_owned())),
            Some(("source", id)) => Some(Self::Source(id.to_owned())),
            Some(("tier", tier)) => {
                Tier::ALL.into_iter().find(|t| t.as_str() == tier).map(Self::Tier)
            }
            Some(("feature", name)) => Some(Self::Feature(name.to_owned())),
            Some(_) => None,
        }
    }

    /// Puts it into force in an engine whose sources are loaded.
    fn apply(&self, engine: &Engine, enabled: bool) {
        match self {
            Self::Everything => engine.catalog().set_tools_enabled(enabled),
            Self::Tool(name) => {
                // A tool that is gone needs no switch, and one with a master follows that.
                let _ = engine.catalog().set_enabled(name, enabled);
            }
            Self::Source(id) => engine.set_source_enabled(id, enabled),
            Self::Tier(tier) => engine.set_tier_enabled(*tier, enabled),
            Self::Feature(name) => engine.set_feature_enabled(name, enabled),
        }
    }
}

/// Puts all switches of an owner into force.
///
/// # Errors
/// What the store says: with switches that cannot be read, nothing may run.
pub(crate) async fn apply(
    engine: &Engine,
    switches: &dyn SwitchStore,
    owner: &str,
) -> Result<(), StoreError> {
    for switch in switches.switches(owner).await? {
        if let Some(switched) = Switched::of_name(&switch.name) {
            switched.apply(engine, switch.enabled);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_switches_are_read_as_they_are_written() {
        let tiers = Tier::ALL.map(Switched::Tier);
        let named = [
            Switched::Everything,
            Switched::Tool("a__b".into()),
            Switched::Source("s:1".into()),
            Switched::Feature("memory".into()),
        ];
        for switched in named.into_iter().chain(tiers) {
            assert_eq!(Switched::of_name(&switched.name()), Some(switched));
        }
        assert_eq!(Switched::of_name("tier:none"), None);
        assert_eq!(Switched::of_name("planet:mars"), None);
        assert_eq!(Switched::of_name("toolz"), None);
    }
}
