//! Switches: the features and tools that can be switched, and their stored states.

use std::collections::{BTreeSet, HashMap};

use toolcrib_core::{SwitchState, Tier, ToolSpec};

use crate::tool_names::names;

/// Target of a switch, encoded in its stored name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SwitchTarget {
    /// Every tool: the kill switch (`tools`).
    Everything,
    /// One tool (`tool:NAME`).
    Tool(String),
    /// The tools of one group (`group:NAME`).
    Group(String),
    /// One source of tools (`source:ID`).
    Source(String),
    /// One tier (`tier:innate|first_party|interface`).
    Tier(Tier),
    /// The master switch of some tools (`feature:NAME`).
    Feature(String),
    /// One skill (`skill:NAME`): if it is off, it is offered to no model and none can load it.
    Skill(String),
}

impl SwitchTarget {
    /// Returns the name under which it is stored.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Everything => "tools".to_owned(),
            Self::Tool(name) => format!("tool:{name}"),
            Self::Group(name) => format!("group:{name}"),
            Self::Source(id) => format!("source:{id}"),
            Self::Tier(tier) => format!("tier:{}", tier.as_str()),
            Self::Feature(name) => format!("feature:{name}"),
            Self::Skill(name) => format!("skill:{name}"),
        }
    }

    /// Parses a stored name; `None` if a newer Toolcrib wrote it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name.split_once(':') {
            None => (name == "tools").then_some(Self::Everything),
            Some(("tool", name)) => Some(Self::Tool(name.to_owned())),
            Some(("group", name)) => Some(Self::Group(name.to_owned())),
            Some(("source", id)) => Some(Self::Source(id.to_owned())),
            Some(("tier", tier)) => {
                Tier::ALL.into_iter().find(|t| t.as_str() == tier).map(Self::Tier)
            }
            Some(("feature", name)) => Some(Self::Feature(name.to_owned())),
            Some(("skill", name)) => Some(Self::Skill(name.to_owned())),
            Some(_) => None,
        }
    }

    /// Returns whether the target supports this state: only tools and groups support `ask`.
    #[must_use]
    pub fn allows_state(&self, state: SwitchState) -> bool {
        state != SwitchState::Ask || matches!(self, Self::Tool(_) | Self::Group(_))
    }
}

/// Stored switch states; without one, the definition and the settings apply. Switches above a tool
/// never change the tool's own switch, so that tools keep their states when their group is switched
/// on again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Switches {
    everything_off: bool,
    tools: HashMap<String, SwitchState>,
    groups: HashMap<String, SwitchState>,
    sources: HashMap<String, SwitchState>,
    tiers: HashMap<Tier, SwitchState>,
    features: HashMap<String, SwitchState>,
    skills: HashMap<String, SwitchState>,
}

impl Switches {
    /// Creates the states from rows; of two rows for one target the later one applies.
    pub(crate) fn from_rows(rows: &[(SwitchTarget, SwitchState)]) -> Self {
        let mut switches = Self::default();
        for (switched, state) in rows {
            switches.set(switched, Some(*state));
        }
        switches
    }

    /// Sets a switch, or removes its setting. An unsupported state becomes the strictest supported
    /// one.
    pub(crate) fn set(&mut self, switched: &SwitchTarget, state: Option<SwitchState>) {
        let state = state.map(|s| if switched.allows_state(s) { s } else { SwitchState::Off });
        match switched {
            SwitchTarget::Everything => self.everything_off = state == Some(SwitchState::Off),
            SwitchTarget::Tool(name) => put(&mut self.tools, name, state),
            SwitchTarget::Group(name) => put(&mut self.groups, name, state),
            SwitchTarget::Source(id) => put(&mut self.sources, id, state),
            SwitchTarget::Feature(name) => put(&mut self.features, name, state),
            SwitchTarget::Skill(name) => put(&mut self.skills, name, state),
            SwitchTarget::Tier(tier) => match state {
                Some(state) => drop(self.tiers.insert(*tier, state)),
                None => drop(self.tiers.remove(tier)),
            },
        }
    }

    pub(crate) fn are_all_tools_off(&self) -> bool {
        self.everything_off
    }

    /// Returns whether no source and no tier has a stored state.
    pub(crate) fn has_no_source_or_tier(&self) -> bool {
        self.sources.is_empty() && self.tiers.is_empty()
    }

    pub(crate) fn is_source_off(&self, source: &str) -> bool {
        self.sources.get(source) == Some(&SwitchState::Off)
    }

    pub(crate) fn is_tier_off(&self, tier: Tier) -> bool {
        self.tiers.get(&tier) == Some(&SwitchState::Off)
    }

    /// Returns the stored state of a feature; without one, the settings apply.
    pub(crate) fn feature(&self, feature: &str) -> Option<SwitchState> {
        self.features.get(feature).copied()
    }

    /// Returns the skills that are off.
    pub(crate) fn skills_off(&self) -> BTreeSet<String> {
        let off = self.skills.iter().filter(|(_, state)| !state.is_on());
        off.map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn group(&self, group: &str) -> Option<SwitchState> {
        self.groups.get(group).copied()
    }

    /// Returns the stored state of a tool: by its name, else the strictest by an alias, which may
    /// be a former name.
    pub(crate) fn tool(&self, spec: &ToolSpec) -> Option<SwitchState> {
        if self.tools.is_empty() {
            return None;
        }
        let own = self.tools.get(spec.name.as_str()).copied();
        own.or_else(|| names(spec).filter_map(|name| self.tools.get(name).copied()).min())
    }
}

fn put(switches: &mut HashMap<String, SwitchState>, name: &str, state: Option<SwitchState>) {
    match state {
        Some(state) => drop(switches.insert(name.to_owned(), state)),
        None => drop(switches.remove(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_switches_are_read_as_they_are_written() {
        let tiers = Tier::ALL.map(SwitchTarget::Tier);
        let named = [
            SwitchTarget::Everything,
            SwitchTarget::Tool("a__b".into()),
            SwitchTarget::Group("files".into()),
            SwitchTarget::Source("s:1".into()),
            SwitchTarget::Feature("memory".into()),
            SwitchTarget::Skill("house-style".into()),
        ];
        for switched in named.into_iter().chain(tiers) {
            assert_eq!(SwitchTarget::parse(&switched.name()), Some(switched));
        }
        assert_eq!(SwitchTarget::parse("tier:none"), None);
        assert_eq!(SwitchTarget::parse("planet:mars"), None);
        assert_eq!(SwitchTarget::parse("toolz"), None);
    }

    #[test]
    fn what_cannot_be_asked_about_is_off() {
        let check = |switched: SwitchTarget, asks: bool| {
            assert_eq!(switched.allows_state(SwitchState::Ask), asks, "{switched:?}");
        };
        check(SwitchTarget::Tool("a".into()), true);
        check(SwitchTarget::Group("a".into()), true);
        for other in ["tools", "source:a", "tier:innate", "feature:a", "skill:a"] {
            check(SwitchTarget::parse(other).unwrap(), false);
        }
        let rows = ["tools", "source:a", "tier:innate", "feature:a", "skill:a"]
            .map(|name| (SwitchTarget::parse(name).unwrap(), SwitchState::Ask));
        let switches = Switches::from_rows(&rows);
        assert!(switches.are_all_tools_off() && switches.is_source_off("a"));
        assert!(switches.is_tier_off(Tier::Innate));
        assert_eq!(switches.feature("a"), Some(SwitchState::Off));
        assert!(switches.skills_off().contains("a"));
    }
}
