//! Views: one function decides for every tool whether a caller sees it, and returns the reason for
//! an exclusion.

use std::collections::HashMap;
use std::sync::Arc;

use toolcrib_core::tool_pattern::{self, ToolIdentity};
use toolcrib_core::{Entry, Excluded, Exclusion, Status, Tier, ToolName, View, ViewRequest};

use crate::policy::ActivePolicy;
use crate::registered_tool::RegisteredTool;
use crate::registry_state::{RegistryState, switched_off};
use crate::role_access;
use crate::tool_names::remote_spelling;

/// A resolved view, with the data of each tool for the pipeline.
pub(crate) struct ResolvedView {
    pub(crate) view: Arc<View>,
    /// The policy that it applies.
    pub(crate) policy: Arc<ActivePolicy>,
    /// The generation of the registry from which it was built.
    pub(crate) generation: u64,
    names: HashMap<String, Arc<RegisteredTool>, foldhash::fast::RandomState>,
    excluded: HashMap<ToolName, Exclusion>,
    /// Reasons why every call of a tool asks, even if a rule allows it.
    asks: HashMap<ToolName, String>,
}

impl ResolvedView {
    /// Returns the same tools under another policy.
    pub(crate) fn with_policy(&self, policy: Arc<ActivePolicy>) -> Self {
        Self {
            view: Arc::clone(&self.view),
            policy,
            generation: self.generation,
            names: self.names.clone(),
            excluded: self.excluded.clone(),
            asks: self.asks.clone(),
        }
    }

    /// Returns the tool with this name or alias, including remote spellings.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.names.get(name).or_else(|| self.names.get(&remote_spelling(name)?))
    }

    /// Returns why a tool is not in the view.
    pub(crate) fn exclusion(&self, name: &ToolName) -> Option<&Exclusion> {
        self.excluded.get(name)
    }

    /// Returns why every call of a tool asks, if a switch requires it.
    pub(crate) fn asking_switch(&self, name: &ToolName) -> Option<&str> {
        self.asks.get(name).map(String::as_str)
    }
}

/// Returns the status of a tool if it were switched on.
pub(crate) fn tool_status(tool: &RegisteredTool) -> Status {
    if let Some(reason) = tool.entry.handler().and_then(|handler| handler.broken_reason()) {
        Status::Error { reason: reason.to_owned() }
    } else if let Some(status) = tool.entry.handler().and_then(|own| own.source_status()) {
        status
    } else if !tool.missing_config.is_empty() {
        Status::Available { missing: tool.missing_config.clone() }
    } else if tool.spec().config.is_empty() {
        Status::System
    } else {
        Status::Connected
    }
}

pub(crate) fn resolve(
    state: &RegistryState,
    request: &ViewRequest,
    generation: u64,
) -> ResolvedView {
    let mut tools: Vec<Arc<RegisteredTool>> = Vec::new();
    let mut excluded = Vec::new();
    for tool in state.tools() {
        match exclusion(state, request, tool) {
            None => tools.push(Arc::clone(tool)),
            Some(reason) => excluded.push(Excluded { name: tool.spec().name.clone(), reason }),
        }
    }
    // Innate first, then as loaded: a stable order keeps the provider's prompt cache warm.
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
        let why = state.asking_switch(tool)?;
        Some((tool.spec().name.clone(), why))
    });
    ResolvedView {
        asks: asked.collect(),
        view: Arc::new(View::new(entries, excluded)),
        policy: Arc::clone(&state.policy),
        generation,
        names,
        excluded: reasons,
    }
}

fn exclusion(
    state: &RegistryState,
    request: &ViewRequest,
    tool: &RegisteredTool,
) -> Option<Exclusion> {
    if let Some(barred) = blocked_by_owner(state, request, tool) {
        return Some(barred);
    }
    if !is_listed(request.agent.as_deref(), tool) {
        return Some(Exclusion::Agent);
    }
    // An empty list of a skill means no limit.
    if !is_listed(request.skill.as_deref().filter(|list| !list.is_empty()), tool) {
        return Some(Exclusion::Skill);
    }
    let status = tool_status(tool);
    if !matches!(status, Status::System | Status::Connected) {
        return Some(Exclusion::NotReady { status });
    }
    if !has_provider(&tool.entry, &request.model.provider) {
        return Some(Exclusion::Provider);
    }
    if request.model.allow.as_ref().is_some_and(|allow| !is_listed(Some(allow), tool)) {
        return Some(Exclusion::Model);
    }
    None
}

/// Returns why the owner blocks a tool: by switches, rules or flags, which may change while a call
/// of it waits.
pub(crate) fn blocked_by_owner(
    state: &RegistryState,
    request: &ViewRequest,
    tool: &RegisteredTool,
) -> Option<Exclusion> {
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
    if let Some(rule) = state.policy.rules.hiding_rule(spec) {
        return Some(Exclusion::Rule { rule: rule.clone() });
    }
    let flags = &state.policy.settings.flags;
    role_access::denied(flags, &request.role, spec).map(|flag| Exclusion::Role { flag })
}

fn is_listed(list: Option<&[String]>, tool: &RegisteredTool) -> bool {
    let Some(items) = list else { return true };
    let spec = tool.spec();
    let named = ToolIdentity {
        name: spec.name.as_str(),
        aliases: &spec.aliases,
        group: spec.group.as_deref(),
        source: &tool.source,
    };
    items.iter().any(|item| tool_pattern::matches(item, &named))
}

/// Returns whether the provider has the entry: a tool that a provider declares exists only for
/// models of that provider.
fn has_provider(entry: &Entry, provider: &str) -> bool {
    match entry {
        Entry::Local(_) => true,
        _ => entry.providers().iter().any(|p| p.provider == provider),
    }
}
