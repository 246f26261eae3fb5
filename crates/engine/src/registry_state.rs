//! The state of the registry: loaded sources, switches and the policy in force.

use std::sync::Arc;

use toolcrib_core::{Exclusion, SwitchState, ToolSpec};

use crate::policy::ActivePolicy;
use crate::registered_tool::RegisteredTool;
use crate::switches::Switches;
use crate::tool_names::remote_spelling;

pub(crate) struct RegistryState {
    /// In order of loading.
    pub(crate) sources: Vec<(Arc<str>, Vec<Arc<RegisteredTool>>)>,
    pub(crate) switches: Switches,
    pub(crate) policy: Arc<ActivePolicy>,
}

impl RegistryState {
    pub(crate) fn tools(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        self.sources.iter().flat_map(|(_, tools)| tools)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.tools().find(|tool| tool.spec().name.as_str() == name).or_else(|| {
            self.tools().find(|tool| tool.spec().aliases.iter().any(|alias| alias == name))
        })
    }

    /// Finds a tool by its name or by another spelling of a remote name.
    pub(crate) fn find_any_spelling(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.find(name).or_else(|| self.find(&remote_spelling(name)?))
    }

    /// Returns the state by the tool's switch, or else the settings, or else the definition. A tool
    /// controlled by a feature has no switch.
    pub(crate) fn own_state(&self, tool: &RegisteredTool) -> SwitchState {
        let spec = tool.spec();
        if tool.off_for_good {
            return SwitchState::Off;
        }
        let switched = self.switches.tool(spec).filter(|_| spec.controlled_by.is_none());
        let state = switched.unwrap_or_else(|| {
            let set = tool.enabled.or_else(|| self.follows(spec));
            SwitchState::from(set.unwrap_or(spec.default_enabled))
        });
        // A switch in state `on` does not override `ask` in the settings.
        if tool.ask == Some(true) { state.min(SwitchState::Ask) } else { state }
    }

    /// Returns whether the tool that this one follows is on; `None` if it follows no existing tool.
    fn follows(&self, spec: &ToolSpec) -> Option<bool> {
        let leader = self.find(spec.enabled_with.as_deref()?)?;
        // A followed tool does not follow another one itself, so this cannot recurse endlessly.
        leader.spec().enabled_with.is_none().then(|| self.is_on(leader))
    }

    /// Returns whether the tool is on by its own state.
    pub(crate) fn is_on(&self, tool: &RegisteredTool) -> bool {
        self.own_state(tool).is_on()
    }

    pub(crate) fn is_feature_on(&self, feature: &str) -> bool {
        match self.switches.feature(feature) {
            Some(state) => state.is_on(),
            None => !self.policy.settings.features_off.contains(feature),
        }
    }

    /// Returns the effective state for calls of a tool, including everything above it.
    pub(crate) fn state_of(&self, tool: &RegisteredTool) -> SwitchState {
        if switched_off(self, tool).is_some() {
            return SwitchState::Off;
        }
        let own = self.own_state(tool);
        if self.asking_switch(tool).is_some() { own.min(SwitchState::Ask) } else { own }
    }

    /// Describes the switch that asks about every call of a tool.
    pub(crate) fn asking_switch(&self, tool: &RegisteredTool) -> Option<String> {
        let spec = tool.spec();
        let own = self.switches.tool(spec).filter(|_| spec.controlled_by.is_none());
        if own == Some(SwitchState::Ask) {
            return Some(format!("a switch asks about every call of {}", spec.name));
        }
        let group = spec.group.as_ref()?;
        (self.switches.group(group) == Some(SwitchState::Ask)).then(|| {
            let name = &spec.name;
            format!("a switch asks about every call of the group \"{group}\", which {name} is in")
        })
    }
}

/// Returns the switch above the tool's own that is off.
pub(crate) fn switched_off(state: &RegistryState, tool: &RegisteredTool) -> Option<Exclusion> {
    let spec = tool.spec();
    if state.switches.is_source_off(&tool.source) {
        return Some(Exclusion::SourceOff { source: tool.source.to_string() });
    }
    if state.switches.is_tier_off(spec.tier) {
        return Some(Exclusion::TierOff { tier: spec.tier });
    }
    if let Some(feature) = spec.controlled_by.as_ref().filter(|f| !state.is_feature_on(f)) {
        return Some(Exclusion::FeatureOff { feature: feature.clone() });
    }
    let off = |group: &&String| state.switches.group(group) == Some(SwitchState::Off);
    spec.group.as_ref().filter(off).map(|group| Exclusion::GroupOff { group: group.clone() })
}
