//! What is sent with a request besides the messages: the tools in view, their declarations, the system prompt. Made once and kept until
//! the registry, the skills or the model change.

use std::sync::Arc;

use toolcrib_core::{ModelAbility, ViewRequest};
use toolcrib_providers::model::Model;
use toolcrib_providers::{Declarations, Format, Options, declare};

use super::Work;
use crate::context::{self, Sizes};
use crate::library::{ON_DEVICE_TOOLS, skill_limit};
use crate::machine::{ActiveSkill, Machine};

/// What was sent last.
#[derive(Default)]
pub(super) struct Cache {
    /// Place of the model that was asked last.
    pub(super) model: usize,
    /// Estimated sizes of the messages.
    pub(super) sizes: Sizes,
    /// With the model and the skills that it is for.
    view: Option<(usize, Vec<ActiveSkill>, Arc<ViewRequest>)>,
    surroundings: Option<(Key, Surroundings)>,
}

/// What they depend on besides the view.
#[derive(Clone, Copy, PartialEq)]
struct Key {
    generation: u64,
    format: Format,
}

/// Everything around the messages.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) tools: Option<Arc<Declarations>>,
    pub(super) count: usize,
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
        view.skill = allowed(skills);
        view
    }

    /// The surroundings of a request to this model.
    pub(super) fn surroundings(&mut self, machine: &Machine, model: &dyn Model) -> Surroundings {
        let view = self.view_request(machine);
        let generation = self.driver.catalog.generation();
        let key = Key { generation, format: model.tool_format() };
        if let Some((known, made)) = &self.sent.surroundings
            && *known == key
        {
            return made.clone();
        }
        let seen = self.driver.catalog.view(&view);
        let declared = declare(key.format, &seen.tools, &Options::default());
        let system: Arc<str> =
            (self.job.prompt)(&seen, &machine.state().skills, model.info()).into();
        let tokens = context::declarations(&declared) + context::text(&system);
        let count = seen.tools.len();
        let tools = (!declared.value.is_null()).then(|| Arc::new(declared));
        let made = Surroundings { tools, count, system, tokens };
        self.sent.surroundings = Some((key, made.clone()));
        made
    }
}

/// What the active skills allow together: a skill with a list limits, one without does not.
fn allowed(skills: &[ActiveSkill]) -> Option<Vec<String>> {
    let lists = skills.iter().filter(|skill| !skill.allowed_tools.is_empty());
    let allowed: Vec<String> = lists.flat_map(|skill| skill.allowed_tools.clone()).collect();
    skill_limit(&allowed)
}
