//! The state of the registry: what is loaded, what is switched, and the policy in force.

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

    /// The same by a remote spelling too.
    pub(crate) fn find_any_spelling(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.find(name).or_else(|| self.find(&remote_spelling(name)?))
    }

    /// What a person says of the tool, or else the settings, or else the definition. A tool with a
    /// master has no switch of its own.
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
        // A switch that is on does not take back what the settings ask about.
        if tool.ask == Some(true) { state.min(SwitchState::Ask) } else { state }
    }

    /// Whether the tool that this one goes with is on; `None` if it goes with none that exists.
    fn follows(&self, spec: &ToolSpec) -> Option<bool> {
        let leader = self.find(spec.enabled_with.as_deref()?)?;
        // A leader follows no other tool, so that this cannot go in circles.
        leader.spec().enabled_with.is_none().then(|| self.is_on(leader))
    }

    /// Whether the tool's own switch has it on.
    pub(crate) fn is_on(&self, tool: &RegisteredTool) -> bool {
        self.own_state(tool).is_on()
    }

    pub(crate) fn is_feature_on(&self, feature: &str) -> bool {
        match self.switches.feature(feature) {
            Some(state) => state.is_on(),
            None => !self.policy.settings.features_off.contains(feature),
        }
    }

    /// What holds for calls of a tool, with all that is above it.
    pub(crate) fn state_of(&self, tool: &RegisteredTool) -> SwitchState {
        if switched_off(self, tool).is_some() {
            return SwitchState::Off;
        }
        let own = self.own_state(tool);
        if self.asking_switch(tool).is_some() { own.min(SwitchState::Ask) } else { own }
    }

    /// The switch that asks about every call of a tool, in words.
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

/// The switch above the tool's own that is off.
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
