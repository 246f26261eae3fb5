//! The registry: sources that load and unload, unique names, switches, and the views that callers get.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::Semaphore;
use toolcrib_core::spec::SPEC_VERSION;
use toolcrib_core::{
    BoxFuture, Catalog, Entry, ErrorType, Source, Status, Tier, ToolError, ToolInfo, ToolName,
    ToolSpec, View, ViewRequest, remote_name,
};

use crate::args::Schema;
use crate::rules::RuleSet;
use crate::secrets::Secrets;
use crate::settings::EngineSettings;
use crate::view::{self, Seen};

/// A tool with everything the pipeline needs to run it.
pub(crate) struct Registered {
    pub(crate) entry: Entry,
    pub(crate) source: Arc<str>,
    pub(crate) schema: Schema,
    pub(crate) output_schema: Option<Schema>,
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

    /// Hash of the definition, computed when something is first bound to it.
    pub(crate) fn definition_hash(&self) -> &str {
        self.definition_hash.get_or_init(|| self.spec().definition_hash())
    }
}

/// Everything that is switched or loaded.
#[derive(Default)]
pub(crate) struct State {
    /// In order of loading.
    pub(crate) sources: Vec<(Arc<str>, Vec<Arc<Registered>>)>,
    pub(crate) toggles: HashMap<ToolName, bool>,
    pub(crate) features_off: HashSet<String>,
    /// Which roles have which tools.
    pub(crate) flags: BTreeMap<String, bool>,
    /// What people say of tools.
    pub(crate) rules: RuleSet,
    pub(crate) sources_off: HashSet<String>,
    pub(crate) tiers_off: HashSet<Tier>,
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

    /// Whether a person, or else the settings, or else the definition, has the tool on.
    pub(crate) fn is_on(&self, tool: &Registered) -> bool {
        let spec = tool.spec();
        let switched = self.toggles.get(&spec.name).copied().or(tool.enabled);
        !tool.off_for_good && switched.unwrap_or(spec.default_enabled)
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
    settings: Arc<EngineSettings>,
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
    pub(crate) fn new(settings: Arc<EngineSettings>, secrets: Secrets) -> Self {
        let state = State {
            features_off: settings.features_off.clone(),
            flags: settings.flags.clone(),
            ..State::default()
        };
        Self {
            state: RwLock::new(state),
            tools_enabled: AtomicBool::new(true),
            generation: AtomicU64::new(1),
            views: RwLock::default(),
            widest: ArcSwapOption::empty(),
            settings,
            secrets,
        }
    }

    /// The same with rules: tools that they deny to everybody are in no view.
    pub(crate) fn with_rules(self, rules: RuleSet) -> Self {
        self.change(|state| state.rules = rules);
        self
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
        let seen = Arc::new(view::resolve(&state, request));
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
    ) -> Result<Vec<Arc<Registered>>, ToolError> {
        let source_limit = self.settings.max_per_source.map(semaphore);
        let mut names = HashSet::new();
        let mut tools = Vec::with_capacity(entries.len());
        for entry in entries {
            let name = entry.spec().name.clone();
            let what = match self.registered(source, remote, entry, source_limit.clone()) {
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
            tools.push(self.row(source, row, &what)?);
        }
        Ok(tools)
    }

    /// A tool that is listed with what is wrong with it.
    fn row(
        &self,
        source: &Arc<str>,
        name: ToolName,
        what: &str,
    ) -> Result<Arc<Registered>, ToolError> {
        self.registered(source, true, Entry::broken(name.clone(), what), None)
            .map(Arc::new)
            .map_err(|what| refused(&name, source, &what))
    }

    /// A tool with everything around it; the error is what is wrong with it.
    fn registered(
        &self,
        source: &Arc<str>,
        remote: bool,
        entry: Entry,
        source_limit: Option<Arc<Semaphore>>,
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
        let own = self.settings.of_tool(names(&spec));
        self.secrets.learn(secrets_of(&spec, &own.config));
        let missing_config = spec
            .config
            .iter()
            .filter(|key| key.required && own.config.get(&key.key).is_none_or(String::is_empty))
            .map(|key| key.key.clone())
            .collect();
        Ok(Registered {
            source: Arc::clone(source),
            schema,
            output_schema,
            timeout: own.timeout.unwrap_or(spec.timeout).min(LONGEST),
            enabled: own.enabled,
            off_for_good: own.off_for_good,
            remote: remote || spec.tier == Tier::Interface,
            ask: own.ask,
            limit: own.max_concurrent.map(semaphore),
            source_limit,
            missing_config,
            definition_hash: OnceLock::new(),
            entry,
        })
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
                let enabled = state.is_on(tool) && view::switched_off(&state, tool).is_none();
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
                    controlled_by: spec.controlled_by.clone(),
                }
            })
            .collect()
    }

    fn set_enabled(&self, tool: &str, enabled: bool) -> Result<(), ToolError> {
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
            if enabled && found.off_for_good {
                return Err(ToolError::new(
                    ErrorType::ToolDisabled,
                    format!(
                        "{} is off for everybody: whoever runs this machine has switched it off, and no switch turns it on.",
                        spec.name
                    ),
                ));
            }
            state.toggles.insert(spec.name.clone(), enabled);
            Ok(())
        })
    }

    fn set_tools_enabled(&self, enabled: bool) {
        self.tools_enabled.store(enabled, Ordering::Release);
        self.change(|_| ());
    }

    fn attach<'a>(&'a self, source: &'a dyn Source) -> BoxFuture<'a, Result<usize, ToolError>> {
        Box::pin(async move {
            let id: Arc<str> = source.id().into();
            let remote = source.is_remote();
            let mut tools = self.prepare(&id, remote, source.load().await?)?;
            self.change(|state| {
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
                    *tool = self.row(&id, remote_name(&id, name.as_str()), &what)?;
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
