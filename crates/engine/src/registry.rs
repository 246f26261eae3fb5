//! The registry: sources that load and unload, unique names, switches, and the views that callers get.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::Semaphore;
use toolcrib_core::spec::SPEC_VERSION;
use toolcrib_core::{
    BoxFuture, Catalog, Entry, ErrorType, Source, Status, SwitchState, Tier, ToolError, ToolInfo,
    ToolName, ToolSpec, View, ViewRequest, remote_name,
};

use crate::args::Schema;
use crate::policy::InForce;
use crate::secrets::Secrets;
use crate::settings::EngineSettings;
use crate::switches::{Switched, Switches};
use crate::view::{self, Seen};

/// A tool with everything the pipeline needs to run it.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) entry: Entry,
    pub(crate) source: Arc<str>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) output_schema: Option<Arc<Schema>>,
    pub(crate) timeout: Duration,
    /// On or off by the owner's settings; a switch that a person sets later wins.
    enabled: Option<bool>,
    /// Whether no switch turns it on.
    off_for_good: bool,
    /// Whether its definition comes from elsewhere, see [`Source::is_remote`].
    pub(crate) remote: bool,
    /// What the owner says about asking.
    pub(crate) ask: Option<bool>,
    pub(crate) limit: Option<Arc<Semaphore>>,
    pub(crate) source_limit: Option<Arc<Semaphore>>,
    pub(crate) missing_config: Vec<String>,
    definition_hash: OnceLock<String>,
}

impl Registered {
    pub(crate) fn spec(&self) -> &Arc<ToolSpec> {
        self.entry.spec()
    }

    /// Takes what the settings say of it; `before` are those that it followed until now, whose limit stays where it is the same, so that
    /// calls at work count on.
    fn follow(&mut self, now: &EngineSettings, before: Option<&EngineSettings>, secrets: &Secrets) {
        let spec = Arc::clone(self.spec());
        let own = now.of_tool(names(&spec));
        secrets.learn(secrets_of(&spec, &own.config));
        self.missing_config = spec
            .config
            .iter()
            .filter(|key| key.required && own.config.get(&key.key).is_none_or(String::is_empty))
            .map(|key| key.key.clone())
            .collect();
        self.timeout = own.timeout.unwrap_or(spec.timeout).min(LONGEST);
        self.enabled = own.enabled;
        self.off_for_good = own.off_for_good;
        self.ask = own.ask;
        let limit = before.map(|before| before.of_tool(names(&spec)).max_concurrent);
        if limit != Some(own.max_concurrent) {
            self.limit = own.max_concurrent.map(semaphore);
        }
    }

    /// Hash of the definition, computed when something is first bound to it.
    pub(crate) fn definition_hash(&self) -> &str {
        self.definition_hash.get_or_init(|| self.spec().definition_hash())
    }
}

/// Everything that is switched, loaded or said.
pub(crate) struct State {
    /// In order of loading.
    pub(crate) sources: Vec<(Arc<str>, Vec<Arc<Registered>>)>,
    pub(crate) switches: Switches,
    pub(crate) policy: Arc<InForce>,
}

impl State {
    pub(crate) fn tools(&self) -> impl Iterator<Item = &Arc<Registered>> {
        self.sources.iter().flat_map(|(_, tools)| tools)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Registered>> {
        self.tools().find(|tool| tool.spec().name.as_str() == name).or_else(|| {
            self.tools().find(|tool| tool.spec().aliases.iter().any(|alias| alias == name))
        })
    }

    /// The same by a remote spelling too.
    pub(crate) fn look_up(&self, name: &str) -> Option<&Arc<Registered>> {
        self.find(name).or_else(|| self.find(&view::remote_spelling(name)?))
    }

    /// What a person says of the tool, or else the settings, or else the definition. A tool with a master has no switch of its own.
    fn own_state(&self, tool: &Registered) -> SwitchState {
        let spec = tool.spec();
        if tool.off_for_good {
            return SwitchState::Off;
        }
        let switched = self.switches.tool(spec).filter(|_| spec.controlled_by.is_none());
        let state = switched
            .unwrap_or_else(|| SwitchState::from(tool.enabled.unwrap_or(spec.default_enabled)));
        // A switch that is on does not take back what the settings ask about.
        if tool.ask == Some(true) { state.min(SwitchState::Ask) } else { state }
    }

    /// Whether the tool's own switch has it on.
    pub(crate) fn is_on(&self, tool: &Registered) -> bool {
        self.own_state(tool).is_on()
    }

    pub(crate) fn is_feature_on(&self, feature: &str) -> bool {
        match self.switches.feature(feature) {
            Some(state) => state.is_on(),
            None => !self.policy.settings.features_off.contains(feature),
        }
    }

    /// What holds for calls of a tool, with all that is above it.
    fn state_of(&self, tool: &Registered) -> SwitchState {
        if view::switched_off(self, tool).is_some() {
            return SwitchState::Off;
        }
        let own = self.own_state(tool);
        if self.switch_that_asks(tool).is_some() { own.min(SwitchState::Ask) } else { own }
    }

    /// The switch that asks about every call of a tool, in words.
    pub(crate) fn switch_that_asks(&self, tool: &Registered) -> Option<String> {
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

/// Several of them can stand side by side; nothing here is global.
pub(crate) struct Registry {
    pub(crate) state: RwLock<State>,
    tools_enabled: AtomicBool,
    generation: AtomicU64,
    views: RwLock<HashMap<ViewRequest, Arc<Seen>, foldhash::fast::RandomState>>,
    /// The view of callers without limits, which most are.
    widest: ArcSwapOption<Seen>,
    /// Learns the configured values that a definition calls secret.
    secrets: Secrets,
}

/// No attempt of any tool runs longer.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Views that are kept before the cache starts again.
const CACHED_VIEWS: usize = 256;

/// Configured values that are masked everywhere: all but those of a key that the tool declares as no secret.
fn secrets_of<'a>(
    spec: &'a ToolSpec,
    config: &'a HashMap<String, String>,
) -> impl Iterator<Item = &'a str> {
    let is_open = |name: &str| spec.config.iter().any(|key| key.key == name && !key.secret);
    config.iter().filter(move |(name, _)| !is_open(name)).map(|(_, value)| value.as_str())
}

impl Registry {
    pub(crate) fn new(policy: Arc<InForce>, secrets: Secrets) -> Self {
        let state = State { sources: Vec::new(), switches: Switches::default(), policy };
        Self {
            state: RwLock::new(state),
            tools_enabled: AtomicBool::new(true),
            generation: AtomicU64::new(1),
            views: RwLock::default(),
            widest: ArcSwapOption::empty(),
            secrets,
        }
    }

    /// The policy that calls begin under now.
    pub(crate) fn policy(&self) -> Arc<InForce> {
        Arc::clone(&self.read().policy)
    }

    /// Puts another policy into force, with every tool set up as it says. Calls at work keep the tools that they began with.
    pub(crate) fn reconfigure(&self, policy: Arc<InForce>) {
        self.change(|state| {
            for (_, tools) in &mut state.sources {
                self.follow(tools, &state.policy.settings, &policy.settings);
            }
            state.policy = policy;
        });
    }

    /// Sets the tools of one source up anew.
    fn follow(&self, tools: &mut [Arc<Registered>], before: &EngineSettings, now: &EngineSettings) {
        let fresh = (before.max_per_source != now.max_per_source)
            .then(|| now.max_per_source.map(semaphore));
        for tool in tools {
            let mut set = Registered::clone(tool);
            if let Some(limit) = &fresh {
                set.source_limit.clone_from(limit);
            }
            set.follow(now, Some(before), &self.secrets);
            *tool = Arc::new(set);
        }
    }

    /// Sets a switch, or takes its setting back.
    pub(crate) fn switch(&self, switched: &Switched, state: Option<SwitchState>) {
        self.change(|all| all.switches.set(switched, state));
    }

    /// Makes these the switches, in place of all that were set before; whether anything is another than before.
    pub(crate) fn switch_all(&self, switches: Switches) -> bool {
        if self.read().switches == switches {
            return false;
        }
        self.change(|state| {
            let changed = state.switches != switches;
            state.switches = switches;
            changed
        })
    }

    pub(crate) fn tools_enabled(&self) -> bool {
        self.tools_enabled.load(Ordering::Acquire)
    }

    pub(crate) fn read(&self) -> std::sync::RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something; every view is made anew afterwards.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut state);
        self.tools_enabled.store(!state.switches.is_everything_off(), Ordering::Release);
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.views.write().unwrap_or_else(PoisonError::into_inner).clear();
        self.widest.store(None);
        result
    }

    /// The caller's tools, from the cache where nothing changed.
    pub(crate) fn seen(&self, request: &ViewRequest) -> Arc<Seen> {
        let widest = request.is_default();
        if widest && let Some(seen) = self.widest.load_full() {
            return seen;
        }
        if let Some(seen) = self.views.read().unwrap_or_else(PoisonError::into_inner).get(request) {
            return Arc::clone(seen);
        }
        // The state stays locked until the view is cached, so that no change slips in between.
        let state = self.read();
        let seen = Arc::new(view::resolve(&state, request, self.generation()));
        let mut views = self.views.write().unwrap_or_else(PoisonError::into_inner);
        if views.len() >= CACHED_VIEWS {
            views.clear();
        }
        views.insert(request.clone(), Arc::clone(&seen));
        if widest {
            self.widest.store(Some(Arc::clone(&seen)));
        }
        seen
    }

    /// The entries of a source, checked. What is wrong with a tool fails its source, unless that is remote: then it is a row.
    fn prepare(
        &self,
        source: &Arc<str>,
        remote: bool,
        entries: Vec<Entry>,
        policy: &InForce,
    ) -> Result<Vec<Arc<Registered>>, ToolError> {
        let source_limit = policy.settings.max_per_source.map(semaphore);
        let mut names = HashSet::new();
        let mut tools = Vec::with_capacity(entries.len());
        for entry in entries {
            let name = entry.spec().name.clone();
            let what = match self.registered(source, remote, entry, (policy, source_limit.clone()))
            {
                Ok(tool) if names.insert(name.clone()) => {
                    tools.push(Arc::new(tool));
                    continue;
                }
                Ok(_) => taken_by(source),
                Err(what) => what,
            };
            if !remote {
                return Err(refused(&name, source, &what));
            }
            let free = names.insert(name.clone());
            let row = if free { name } else { remote_name(source, name.as_str()) };
            tools.push(self.row(source, row, &what, policy)?);
        }
        Ok(tools)
    }

    /// A tool that is listed with what is wrong with it.
    fn row(
        &self,
        source: &Arc<str>,
        name: ToolName,
        what: &str,
        policy: &InForce,
    ) -> Result<Arc<Registered>, ToolError> {
        self.registered(source, true, Entry::broken(name.clone(), what), (policy, None))
            .map(Arc::new)
            .map_err(|what| refused(&name, source, &what))
    }

    /// A tool with everything around it; the error is what is wrong with it.
    fn registered(
        &self,
        source: &Arc<str>,
        remote: bool,
        entry: Entry,
        (policy, source_limit): (&InForce, Option<Arc<Semaphore>>),
    ) -> Result<Registered, String> {
        let spec = Arc::clone(entry.spec());
        if spec.spec_version > SPEC_VERSION {
            return Err(format!(
                "it is written for version {} of tool definitions; this build reads version {SPEC_VERSION}",
                spec.spec_version
            ));
        }
        let schema = Schema::check_shared(Arc::clone(&spec.input_schema))
            .map_err(|error| format!("input schema: {error}"))?
            .with_aliases(spec.parameter_aliases.clone());
        let output_schema = spec
            .output_schema
            .clone()
            .map(Schema::check_shared)
            .transpose()
            .map_err(|error| format!("output schema: {error}"))?;
        let mut tool = Registered {
            source: Arc::clone(source),
            schema: Arc::new(schema),
            output_schema: output_schema.map(Arc::new),
            timeout: spec.timeout,
            enabled: None,
            off_for_good: false,
            remote: remote || spec.tier == Tier::Interface,
            ask: None,
            limit: None,
            source_limit,
            missing_config: Vec::new(),
            definition_hash: OnceLock::new(),
            entry,
        };
        tool.follow(&policy.settings, None, &self.secrets);
        Ok(tool)
    }
}

/// At least one call at once, or nothing would ever run.
fn semaphore(calls: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(calls.clamp(1, Semaphore::MAX_PERMITS)))
}

fn refused(name: &ToolName, source: &str, what: &str) -> ToolError {
    let text = format!("Tool {name} of source \"{source}\" cannot be registered: {what}");
    ToolError::new(ErrorType::ExecutionError, text)
}

fn taken_by(source: &str) -> String {
    format!("source \"{source}\" already has a tool of this name or alias")
}

impl Catalog for Registry {
    fn view(&self, request: &Arc<ViewRequest>) -> Arc<View> {
        Arc::clone(&self.seen(request).view)
    }

    fn infos(&self) -> Vec<ToolInfo> {
        let state = self.read();
        state
            .tools()
            .map(|tool| {
                let spec = tool.spec();
                let holds = state.state_of(tool);
                let enabled = holds.is_on();
                let status = if enabled { view::status(tool) } else { Status::Disabled };
                ToolInfo {
                    id: spec.name.clone(),
                    title: spec.title.clone(),
                    title_key: format!("tool.{}.title", spec.name),
                    description: spec.description.clone(),
                    description_key: format!("tool.{}.description", spec.name),
                    source: tool.source.to_string(),
                    tier: spec.tier,
                    group: spec.group.clone(),
                    status,
                    enabled,
                    state: holds,
                    own_state: state.own_state(tool),
                    controlled_by: spec.controlled_by.clone(),
                }
            })
            .collect()
    }

    fn set_tool_state(&self, tool: &str, wanted: SwitchState) -> Result<(), ToolError> {
        self.change(|state| {
            let Some(found) = state.find(tool) else {
                return Err(ToolError::new(
                    ErrorType::ToolNotFound,
                    format!("There is no tool {tool}."),
                ));
            };
            let spec = Arc::clone(found.spec());
            if let Some(master) = &spec.controlled_by {
                return Err(ToolError::new(
                    ErrorType::ToolDisabled,
                    format!(
                        "{} has no switch of its own: switch the feature \"{master}\" instead.",
                        spec.name
                    ),
                ));
            }
            if wanted.is_on() && found.off_for_good {
                return Err(ToolError::new(
                    ErrorType::ToolDisabled,
                    format!(
                        "{} is off for everybody: whoever runs this machine has switched it off, and no switch turns it on.",
                        spec.name
                    ),
                ));
            }
            state.switches.set(&Switched::Tool(spec.name.to_string()), Some(wanted));
            Ok(())
        })
    }

    fn set_tools_enabled(&self, enabled: bool) {
        self.switch(&Switched::Everything, Some(enabled.into()));
    }

    fn attach<'a>(&'a self, source: &'a dyn Source) -> BoxFuture<'a, Result<usize, ToolError>> {
        Box::pin(async move {
            let id: Arc<str> = source.id().into();
            let remote = source.is_remote();
            let entries = source.load().await?;
            let policy = self.policy();
            let mut tools = self.prepare(&id, remote, entries, &policy)?;
            self.change(|state| {
                let now = Arc::clone(&state.policy);
                if !Arc::ptr_eq(&policy, &now) {
                    self.follow(&mut tools, &policy.settings, &now.settings);
                }
                let taken: HashMap<&str, &str> = state
                    .sources
                    .iter()
                    .filter(|(other, _)| *other != id)
                    .flat_map(|(other, tools)| tools.iter().map(move |tool| (other, tool)))
                    .flat_map(|(other, tool)| names(tool.spec()).map(move |name| (name, &**other)))
                    .collect();
                for tool in &mut tools {
                    let other = names(tool.spec()).find_map(|name| taken.get(name));
                    let Some(what) = other.map(|other| taken_by(other)) else { continue };
                    let name = tool.spec().name.clone();
                    if !remote {
                        return Err(refused(&name, &id, &what));
                    }
                    *tool = self.row(&id, remote_name(&id, name.as_str()), &what, &now)?;
                }
                let count = tools.len();
                match state.sources.iter_mut().find(|(other, _)| *other == id) {
                    Some((_, old)) => *old = tools,
                    None => state.sources.push((id, tools)),
                }
                Ok(count)
            })
        })
    }

    fn detach(&self, source: &str) -> bool {
        self.change(|state| {
            let before = state.sources.len();
            state.sources.retain(|(id, _)| &**id != source);
            state.sources.len() < before
        })
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}

/// The name and the aliases of a tool.
pub(crate) fn names(spec: &ToolSpec) -> impl Iterator<Item = &str> + Clone {
    std::iter::once(spec.name.as_str()).chain(spec.aliases.iter().map(String::as_str))
}
