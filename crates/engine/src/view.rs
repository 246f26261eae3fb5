//! Which tools a caller sees: one function that says yes, or why not, for every tool (SPEC 6.2, Gates).

use std::collections::HashMap;
use std::sync::Arc;

use toolcrib_core::pattern::{self, Named};
use toolcrib_core::{
    Entry, Excluded, Exclusion, Status, SwitchState, Tier, ToolName, View, ViewRequest,
};

use crate::policy::InForce;
use crate::registry::{Registered, State};
use crate::role;

/// A resolved view, with what the pipeline needs of each tool.
pub(crate) struct Seen {
    pub(crate) view: Arc<View>,
    /// The policy that it was made under: whoever holds a view holds what belongs to it.
    pub(crate) policy: Arc<InForce>,
    /// The generation of the registry that it shows.
    pub(crate) generation: u64,
    names: HashMap<String, Arc<Registered>, foldhash::fast::RandomState>,
    excluded: HashMap<ToolName, Exclusion>,
    /// Why every call of some tools is asked about, whatever else is said of it.
    asks: HashMap<ToolName, String>,
}

impl Seen {
    /// The tool of this name or alias, remote spellings included.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Registered>> {
        self.names.get(name).or_else(|| self.names.get(&remote_spelling(name)?))
    }

    /// Why a tool is not in the view.
    pub(crate) fn exclusion(&self, name: &ToolName) -> Option<&Exclusion> {
        self.excluded.get(name)
    }

    /// Why every call of a tool is asked about, when a switch says so.
    pub(crate) fn asks(&self, name: &ToolName) -> Option<&str> {
        self.asks.get(name).map(String::as_str)
    }
}

/// `mcp:s.t` and `mcp__s__t` mean `s__t` (DESIGN 9, Remote names).
pub(crate) fn remote_spelling(name: &str) -> Option<String> {
    if let Some(rest) = name.strip_prefix("mcp__") {
        return Some(rest.to_owned());
    }
    let (server, tool) = name.strip_prefix("mcp:")?.split_once('.')?;
    Some(format!("{server}__{tool}"))
}

/// Whether a tool could be used if it were switched on.
pub(crate) fn status(tool: &Registered) -> Status {
    if let Some(reason) = tool.entry.handler().and_then(|handler| handler.fault()) {
        Status::Error { reason: reason.to_owned() }
    } else if !tool.missing_config.is_empty() {
        Status::Available { missing: tool.missing_config.clone() }
    } else if tool.spec().config.is_empty() {
        Status::System
    } else {
        Status::Connected
    }
}

pub(crate) fn resolve(state: &State, request: &ViewRequest, generation: u64) -> Seen {
    let mut tools: Vec<Arc<Registered>> = Vec::new();
    let mut excluded = Vec::new();
    for tool in state.tools() {
        match exclusion(state, request, tool) {
            None => tools.push(Arc::clone(tool)),
            Some(reason) => excluded.push(Excluded { name: tool.spec().name.clone(), reason }),
        }
    }
    // Innate first, then as loaded: a stable order keeps the provider's prompt cache warm (SPEC 6.2).
    tools.sort_by_key(|tool| if tool.remote { Tier::Interface } else { tool.spec().tier });
    let mut names = HashMap::default();
    for tool in &tools {
        for alias in &tool.spec().aliases {
            names.entry(alias.clone()).or_insert_with(|| Arc::clone(tool));
        }
    }
    for tool in &tools {
        names.insert(tool.spec().name.as_str().to_owned(), Arc::clone(tool));
    }
    let entries = tools.iter().map(|tool| tool.entry.clone()).collect();
    let reasons = excluded.iter().map(|e| (e.name.clone(), e.reason.clone())).collect();
    let asked = tools.iter().filter_map(|tool| {
        let why = state.switch_that_asks(tool)?;
        Some((tool.spec().name.clone(), why))
    });
    Seen {
        asks: asked.collect(),
        view: Arc::new(View::new(entries, excluded)),
        policy: Arc::clone(&state.policy),
        generation,
        names,
        excluded: reasons,
    }
}

fn exclusion(state: &State, request: &ViewRequest, tool: &Registered) -> Option<Exclusion> {
    if let Some(barred) = barred(state, request, tool) {
        return Some(barred);
    }
    if !listed(request.agent.as_deref(), tool) {
        return Some(Exclusion::Agent);
    }
    // An empty list of a skill means no limit (DESIGN 9, Agents and skills).
    if !listed(request.skill.as_deref().filter(|list| !list.is_empty()), tool) {
        return Some(Exclusion::Skill);
    }
    let status = status(tool);
    if !matches!(status, Status::System | Status::Connected) {
        return Some(Exclusion::NotReady { status });
    }
    if !has_provider(&tool.entry, &request.model.provider) {
        return Some(Exclusion::Provider);
    }
    if request.model.allow.as_ref().is_some_and(|allow| !listed(Some(allow), tool)) {
        return Some(Exclusion::Model);
    }
    None
}

/// What people have said against a tool: switches, rules and flags. It may be said while a call of it waits.
pub(crate) fn barred(state: &State, request: &ViewRequest, tool: &Registered) -> Option<Exclusion> {
    if let Some(off) = switched_off(state, tool) {
        return Some(off);
    }
    let spec = tool.spec();
    if let Some(feature) = spec.controlled_by.as_ref().filter(|f| request.features_off.contains(*f))
    {
        return Some(Exclusion::FeatureOff { feature: feature.clone() });
    }
    if !state.is_on(tool) {
        return Some(Exclusion::Disabled);
    }
    if let Some(rule) = state.policy.rules.removing(spec) {
        return Some(Exclusion::Rule { rule: rule.clone() });
    }
    let flags = &state.policy.settings.flags;
    role::denied(flags, &request.role, spec).map(|flag| Exclusion::Role { flag })
}

/// The switch above the tool's own that is off.
pub(crate) fn switched_off(state: &State, tool: &Registered) -> Option<Exclusion> {
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

fn listed(list: Option<&[String]>, tool: &Registered) -> bool {
    let Some(items) = list else { return true };
    let spec = tool.spec();
    let named = Named {
        name: spec.name.as_str(),
        aliases: &spec.aliases,
        group: spec.group.as_deref(),
        source: &tool.source,
    };
    items.iter().any(|item| pattern::matches(item, &named))
}

/// A tool that a provider declares exists only for models of that provider.
fn has_provider(entry: &Entry, provider: &str) -> bool {
    match entry {
        Entry::Local(_) => true,
        _ => entry.providers().iter().any(|p| p.provider == provider),
    }
}
