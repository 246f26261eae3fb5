//! The parts of a request besides the messages: tools in view, their declarations, the system
//! prompt. Cached until the registry, the skills or the model change.

use std::sync::Arc;

use toolcrib_core::{Catalog, ModelCapabilities, ToolInfo, ViewRequest};
use toolcrib_providers::model::Model;
use toolcrib_providers::{Declarations, Format, Options, declare};

use super::RunDriver;
use crate::context::{self, ContextWindow, MessageSizes};
use crate::library::{ToolNames, expand_tool_list, skill_limit};
use crate::machine::{ActiveSkill, Machine};
use crate::tool_selection::{FoundTools, PricedView, RequestTools, SelectedTools};

/// The parts that were sent last.
#[derive(Default)]
pub(super) struct RequestCache {
    /// Index of the model that was asked last.
    pub(super) model: usize,
    /// Estimated sizes of the messages.
    pub(super) sizes: MessageSizes,
    /// The view, with the model and the skills to which it applies.
    view: Option<(usize, Vec<ActiveSkill>, Arc<ViewRequest>)>,
    /// The declared tools, to which calls of the newest answer may add.
    shown: Option<Arc<RequestTools>>,
    /// Token costs of the view's tools.
    priced: Option<PricedView>,
    surroundings: Option<(CacheKey, RequestContext)>,
}

/// Dependencies of the cached parts besides the view.
#[derive(Clone, PartialEq)]
struct CacheKey {
    generation: u64,
    format: Format,
    options: Options,
    window: u64,
    found: FoundTools,
}

/// The content of a request besides the messages.
#[derive(Clone)]
pub(super) struct RequestContext {
    pub(super) tools: Option<Arc<Declarations>>,
    pub(super) offered: Arc<SelectedTools>,
    /// The declared tools, for the tools that add to them.
    shown: Arc<RequestTools>,
    pub(super) system: Arc<str>,
    /// Estimated tokens of this content.
    pub(super) tokens: u64,
}

impl RunDriver<'_> {
    /// Returns the view of the model that was asked last; the calls of its answer run in it.
    pub(super) fn view_request(&mut self, machine: &Machine) -> Arc<ViewRequest> {
        let (model, skills) = (self.sent.model, &machine.state().skills);
        if let Some((at, active, view)) = &self.sent.view
            && (at, active) == (&model, skills)
        {
            return Arc::clone(view);
        }
        let view = Arc::new(self.view_for(model, skills));
        self.sent.view = Some((model, skills.clone(), Arc::clone(&view)));
        self.sent.surroundings = None;
        view
    }

    fn view_for(&self, model: usize, skills: &[ActiveSkill]) -> ViewRequest {
        let mut view = self.job.view.clone();
        if let Some(model) = self.job.models.get(model) {
            let info = model.info();
            let allow = info.on_device.then(|| self.driver.on_device_tools.to_vec());
            view.model = ModelCapabilities { provider: info.format.to_string(), allow };
        }
        view.skill = skill_tool_limit(skills, &*self.driver.catalog);
        view
    }

    /// Returns the context of a request to this model.
    pub(super) fn request_context(
        &mut self,
        machine: &Machine,
        model: &dyn Model,
        window: ContextWindow,
    ) -> RequestContext {
        let view = self.view_request(machine);
        let generation = self.driver.catalog.generation();
        let (format, options) = (model.tool_format(), model.tool_options());
        let (window, found) = (window.tokens, machine.state().injected.clone());
        let key = CacheKey { generation, format, options, window, found };
        if let Some((known, made)) = &self.sent.surroundings
            && *known == key
        {
            return made.clone();
        }
        let (provider, rules) = (format.as_str(), self.driver.tool_selection);
        let priced = self.priced_view(&view, provider);
        let offered = Arc::new(priced.select(rules, &key.found, window));
        let declared = declare(format, &offered.tools, &options);
        let system: Arc<str> =
            (self.job.prompt)(&offered, &machine.state().skills, model.info()).into();
        let tokens = context::estimate_declarations(&declared) + context::estimate_text(&system);
        let tools = (!declared.value.is_null()).then(|| Arc::new(declared));
        let shown = Arc::new(RequestTools::new(&offered, rules, window, provider));
        let made = RequestContext { tools, offered, shown, system, tokens };
        self.sent.surroundings = Some((key, made.clone()));
        made
    }

    fn priced_view(&mut self, view: &Arc<ViewRequest>, provider: &str) -> &PricedView {
        let seen = self.driver.catalog.view(view);
        let is_same =
            |priced: &PricedView| Arc::ptr_eq(&priced.view, &seen) && priced.provider == provider;
        let known = self.sent.priced.take().filter(is_same);
        let priced = known.unwrap_or_else(|| PricedView::new(seen, provider.to_owned()));
        self.sent.priced.insert(priced)
    }

    /// Publishes the declared tools of this run for the tools that add to them;
    /// [`Self::take_found_tools`] collects the additions.
    pub(super) fn publish_request_tools(&mut self, machine: &Machine) {
        let Some(model) = self.job.models.get(self.sent.model).cloned() else { return };
        let window = self.driver.windows.for_model(model.info());
        // As in the last request, or, if another process sent it, as it would be now.
        let shown = match &self.sent.surroundings {
            Some((_, around)) => Arc::clone(&around.shown),
            None => self.request_context(machine, &*model, window).shown,
        };
        shown.take_added();
        self.driver.request_tools.set(machine.state().run, Arc::clone(&shown));
        self.sent.shown = Some(shown);
    }

    /// Stores the tools that calls, including nested calls, have found for the conversation.
    pub(super) fn take_found_tools(&mut self, machine: &mut Machine) {
        if let Some(shown) = self.sent.shown.take() {
            machine.add_found_tools(shown.take_added().iter().rev().map(ToString::to_string));
        }
    }
}

/// Returns the tools that the active skills allow together. A skill without a list does not limit.
/// Skills activated by the person or the agent file are upper bounds, all of them; those that the
/// model loaded add up within these bounds.
fn skill_tool_limit(skills: &[ActiveSkill], catalog: &dyn Catalog) -> Option<Vec<String>> {
    let limiting: Vec<&ActiveSkill> =
        skills.iter().filter(|skill| !skill.allowed_tools.is_empty()).collect();
    if limiting.is_empty() {
        return None;
    }
    let names: Vec<ToolNames> = catalog.infos().into_iter().map(names_of).collect();
    let tools = |list: &[String]| expand_tool_list(Some(list), &names).tools;
    let mut allowed: Vec<String> = names.iter().map(|tool| tool.name.clone()).collect();
    let (bounds, loaded): (Vec<&ActiveSkill>, Vec<&ActiveSkill>) =
        limiting.into_iter().partition(|skill| skill.in_prompt);
    for bound in bounds {
        let bound = tools(&bound.allowed_tools);
        allowed.retain(|tool| bound.contains(tool));
    }
    if !loaded.is_empty() {
        let lists: Vec<String> =
            loaded.iter().flat_map(|skill| skill.allowed_tools.clone()).collect();
        let loaded = tools(&lists);
        allowed.retain(|tool| loaded.contains(tool));
    }
    // An empty list would mean no limit, so it contains a tool that no skill can remove.
    allowed.push(crate::ask_user::NAME.to_owned());
    skill_limit(&allowed)
}

fn names_of(info: ToolInfo) -> ToolNames {
    let (name, group, source) = (info.id.to_string(), info.group, info.source);
    ToolNames { name, aliases: Vec::new(), group, source }
}
