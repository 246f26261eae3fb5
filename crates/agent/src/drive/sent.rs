//! What is sent with a request besides the messages: the tools in view, their declarations, the system prompt. Made once and kept until
//! the registry, the skills or the model change.

use std::sync::Arc;

use toolcrib_core::{Catalog, ModelAbility, ToolInfo, ViewRequest};
use toolcrib_providers::model::Model;
use toolcrib_providers::{Declarations, Format, Options, declare};

use super::Work;
use crate::context::{self, Sizes, Window};
use crate::library::{ON_DEVICE_TOOLS, ToolNames, expand, skill_limit};
use crate::machine::{ActiveSkill, Machine};
use crate::offer::{Injected, Offered, Priced, Shown};

/// What was sent last.
#[derive(Default)]
pub(super) struct Cache {
    /// Place of the model that was asked last.
    pub(super) model: usize,
    /// Estimated sizes of the messages.
    pub(super) sizes: Sizes,
    /// With the model and the skills that it is for.
    view: Option<(usize, Vec<ActiveSkill>, Arc<ViewRequest>)>,
    /// What the calls of the newest answer may add to.
    shown: Option<Arc<Shown>>,
    /// What the tools of the view cost.
    priced: Option<Priced>,
    surroundings: Option<(Key, Surroundings)>,
}

/// What they depend on besides the view.
#[derive(Clone, PartialEq)]
struct Key {
    generation: u64,
    format: Format,
    options: Options,
    window: u64,
    found: Injected,
}

/// Everything around the messages.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) tools: Option<Arc<Declarations>>,
    pub(super) offered: Arc<Offered>,
    /// The same for tools that add to it.
    shown: Arc<Shown>,
    pub(super) system: Arc<str>,
    /// Tokens of all this, an estimate.
    pub(super) tokens: u64,
}

impl Work<'_> {
    /// The view of the model that was asked last; the calls of its answer run in it.
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
            let allow = info
                .on_device
                .then(|| ON_DEVICE_TOOLS.iter().map(|&name| name.to_owned()).collect());
            view.model = ModelAbility { provider: info.format.to_string(), allow };
        }
        view.skill = allowed(skills, &*self.driver.catalog);
        view
    }

    /// The surroundings of a request to this model.
    pub(super) fn surroundings(
        &mut self,
        machine: &Machine,
        model: &dyn Model,
        window: Window,
    ) -> Surroundings {
        let view = self.view_request(machine);
        let generation = self.driver.catalog.generation();
        let (format, options) = (model.tool_format(), model.tool_options());
        let (window, found) = (window.tokens, machine.state().injected.clone());
        let key = Key { generation, format, options, window, found };
        if let Some((known, made)) = &self.sent.surroundings
            && *known == key
        {
            return made.clone();
        }
        let (provider, rules) = (format.as_str(), self.driver.offer);
        let priced = self.priced(&view, provider);
        let offered = Arc::new(priced.offer(rules, &key.found, window));
        let declared = declare(format, &offered.tools, &options);
        let system: Arc<str> =
            (self.job.prompt)(&offered, &machine.state().skills, model.info()).into();
        let tokens = context::declarations(&declared) + context::text(&system);
        let tools = (!declared.value.is_null()).then(|| Arc::new(declared));
        let shown = Arc::new(Shown::new(&offered, rules, window, provider));
        let made = Surroundings { tools, offered, shown, system, tokens };
        self.sent.surroundings = Some((key, made.clone()));
        made
    }

    fn priced(&mut self, view: &Arc<ViewRequest>, provider: &str) -> &Priced {
        let seen = self.driver.catalog.view(view);
        let is_same =
            |priced: &Priced| Arc::ptr_eq(&priced.view, &seen) && priced.provider == provider;
        let known = self.sent.priced.take().filter(is_same);
        let priced = known.unwrap_or_else(|| Priced::new(seen, provider.to_owned()));
        self.sent.priced.insert(priced)
    }

    /// Says what the requests of this run carry to the tools that add to it; what they have added, [`Self::take_added`] takes over.
    pub(super) fn show_tools(&mut self, machine: &Machine) {
        let Some(model) = self.job.models.get(self.sent.model).cloned() else { return };
        let window = self.driver.windows.of_model(model.info());
        // As a request had them, or, where another process sent it, would have them now.
        let shown = match &self.sent.surroundings {
            Some((_, around)) => Arc::clone(&around.shown),
            None => self.surroundings(machine, &*model, window).shown,
        };
        shown.take_added();
        self.driver.exposed.show(machine.state().run, Arc::clone(&shown));
        self.sent.shown = Some(shown);
    }

    /// What calls have found, those inside of calls too, stays for the conversation.
    pub(super) fn take_added(&mut self, machine: &mut Machine) {
        if let Some(shown) = self.sent.shown.take() {
            machine.inject(shown.take_added().iter().rev().map(ToString::to_string));
        }
    }
}

/// What the active skills allow together. A skill without a list does not limit. Those that the person or the agent's file activated are
/// upper bounds, all of them; those that the model loaded itself add up within them.
fn allowed(skills: &[ActiveSkill], catalog: &dyn Catalog) -> Option<Vec<String>> {
    let limiting: Vec<&ActiveSkill> =
        skills.iter().filter(|skill| !skill.allowed_tools.is_empty()).collect();
    if limiting.is_empty() {
        return None;
    }
    let names: Vec<ToolNames> = catalog.infos().into_iter().map(names_of).collect();
    let tools = |list: &[String]| expand(Some(list), &names).tools;
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
    // An empty list would mean no limit; what no skill takes away is left then.
    allowed.push(crate::ask_user::NAME.to_owned());
    skill_limit(&allowed)
}

fn names_of(info: ToolInfo) -> ToolNames {
    let (name, group, source) = (info.id.to_string(), info.group, info.source);
    ToolNames { name, aliases: Vec::new(), group, source }
}
