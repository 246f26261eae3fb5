//! The registry: sources that load and unload, unique names, switches, and the views of callers.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use arc_swap::ArcSwapOption;
use tokio::sync::Semaphore;
use toolcrib_argument_decoder::Schema;
use toolcrib_core::spec::SPEC_VERSION;
use toolcrib_core::{
    BoxFuture, Catalog, Entry, ErrorType, Source, Status, SwitchState, Tier, ToolError, ToolInfo,
    ToolName, View, ViewRequest, defaults, remote_name,
};

use crate::policy::ActivePolicy;
use crate::registered_tool::{RegisteredTool, semaphore};
use crate::registry_state::RegistryState;
use crate::secrets::Secrets;
use crate::settings::EngineSettings;
use crate::switches::{SwitchTarget, Switches};
use crate::tool_names::names;
use crate::view::{self, ResolvedView};

/// The registry of an engine. Several can exist at the same time; there is no global state.
pub(crate) struct Registry {
    pub(crate) state: RwLock<RegistryState>,
    tools_enabled: AtomicBool,
    generation: AtomicU64,
    views: RwLock<HashMap<ViewRequest, Arc<ResolvedView>, foldhash::fast::RandomState>>,
    /// The view of callers without limits, which is the common case.
    widest: ArcSwapOption<ResolvedView>,
    /// Receives the configured values that definitions declare as secret.
    secrets: Secrets,
}

/// Maximum number of cached views; a full cache is cleared.
const CACHED_VIEWS: usize = 256;

impl Registry {
    pub(crate) fn new(policy: Arc<ActivePolicy>, secrets: Secrets) -> Self {
        let state = RegistryState { sources: Vec::new(), switches: Switches::default(), policy };
        Self {
            state: RwLock::new(state),
            tools_enabled: AtomicBool::new(true),
            generation: AtomicU64::new(1),
            views: RwLock::default(),
            widest: ArcSwapOption::empty(),
            secrets,
        }
    }

    /// Returns the policy that applies to new calls.
    pub(crate) fn policy(&self) -> Arc<ActivePolicy> {
        Arc::clone(&self.read().policy)
    }

    /// Applies another policy to every tool. Running calls keep the tools that they started with.
    pub(crate) fn reconfigure(&self, policy: Arc<ActivePolicy>) {
        self.update(|state| {
            for (_, tools) in &mut state.sources {
                self.follow(tools, &state.policy.settings, &policy.settings);
            }
            state.policy = policy;
        });
    }

    /// Applies the settings to the tools of one source again.
    fn follow(
        &self,
        tools: &mut [Arc<RegisteredTool>],
        before: &EngineSettings,
        now: &EngineSettings,
    ) {
        let fresh = (before.max_per_source != now.max_per_source)
            .then(|| now.max_per_source.map(semaphore));
        for tool in tools {
            let mut set = RegisteredTool::clone(tool);
            if let Some(limit) = &fresh {
                set.source_limit.clone_from(limit);
            }
            set.follow(now, Some(before), &self.secrets);
            *tool = Arc::new(set);
        }
    }

    /// Sets a switch, or removes its setting.
    pub(crate) fn switch(&self, switched: &SwitchTarget, state: Option<SwitchState>) {
        self.update(|all| all.switches.set(switched, state));
    }

    /// Replaces all switches by these; returns whether any switch changed.
    pub(crate) fn replace_switches(&self, switches: Switches) -> bool {
        if self.read().switches == switches {
            return false;
        }
        self.update(|state| {
            let changed = state.switches != switches;
            state.switches = switches;
            changed
        })
    }

    pub(crate) fn tools_enabled(&self) -> bool {
        self.tools_enabled.load(Ordering::Acquire)
    }

    pub(crate) fn read(&self) -> std::sync::RwLockReadGuard<'_, RegistryState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and invalidates every view.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut RegistryState) -> T) -> T {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut state);
        self.tools_enabled.store(!state.switches.are_all_tools_off(), Ordering::Release);
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.views.write().unwrap_or_else(PoisonError::into_inner).clear();
        self.widest.store(None);
        result
    }

    /// Returns the caller's tools, from the cache if nothing changed.
    pub(crate) fn resolve_view(&self, request: &ViewRequest) -> Arc<ResolvedView> {
        let widest = request.is_default();
        if widest && let Some(seen) = self.widest.load_full() {
            return seen;
        }
        if let Some(seen) = self.views.read().unwrap_or_else(PoisonError::into_inner).get(request) {
            return Arc::clone(seen);
        }
        // The state stays locked until the view is cached, so that no change can occur in between.
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

    /// Checks the entries of a source. A problem with a tool fails its source, unless the source is
    /// remote: then the tool is listed with the problem.
    fn prepare(
        &self,
        source: &Arc<str>,
        remote: bool,
        entries: Vec<Entry>,
        policy: &ActivePolicy,
    ) -> Result<Vec<Arc<RegisteredTool>>, ToolError> {
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
            tools.push(self.tool_info(source, row, &what, policy)?);
        }
        Ok(tools)
    }

    /// Returns the row of a tool that is listed with its problem.
    fn tool_info(
        &self,
        source: &Arc<str>,
        name: ToolName,
        what: &str,
        policy: &ActivePolicy,
    ) -> Result<Arc<RegisteredTool>, ToolError> {
        self.registered(source, true, Entry::broken(name.clone(), what), (policy, None))
            .map(Arc::new)
            .map_err(|what| refused(&name, source, &what))
    }

    /// Creates a registered tool from an entry; the error is the problem with the tool.
    fn registered(
        &self,
        source: &Arc<str>,
        remote: bool,
        entry: Entry,
        (policy, source_limit): (&ActivePolicy, Option<Arc<Semaphore>>),
    ) -> Result<RegisteredTool, String> {
        let spec = Arc::clone(entry.spec());
        if spec.spec_version > SPEC_VERSION {
            return Err(format!(
                "it is written for version {} of tool definitions; this build reads version {SPEC_VERSION}",
                spec.spec_version
            ));
        }
        let schema = Schema::check_shared(Arc::clone(&spec.input_schema))
            .map_err(|error| format!("input schema: {error}"))?
            .with_name(spec.name.to_string())
            .with_aliases(spec.parameter_aliases.clone());
        let output_schema = spec
            .output_schema
            .clone()
            .map(Schema::check_shared)
            .transpose()
            .map_err(|error| format!("output schema: {error}"))?;
        let mut tool = RegisteredTool {
            source: Arc::clone(source),
            schema: Arc::new(schema),
            output_schema: output_schema.map(Arc::new),
            timeout: spec.timeout,
            attempts: spec.attempts,
            backoff: defaults::RETRY_BACKOFF,
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

fn refused(name: &ToolName, source: &str, what: &str) -> ToolError {
    let text = format!("Tool {name} of source \"{source}\" cannot be registered: {what}");
    ToolError::new(ErrorType::ExecutionError, text)
}

fn taken_by(source: &str) -> String {
    format!("source \"{source}\" already has a tool of this name or alias")
}

impl Catalog for Registry {
    fn view(&self, request: &Arc<ViewRequest>) -> Arc<View> {
        Arc::clone(&self.resolve_view(request).view)
    }

    fn infos(&self) -> Vec<ToolInfo> {
        let state = self.read();
        state
            .tools()
            .map(|tool| {
                let spec = tool.spec();
                let holds = state.state_of(tool);
                let enabled = holds.is_on();
                let status = if enabled { view::tool_status(tool) } else { Status::Disabled };
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
        self.update(|state| {
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
                        "{} is off for everyone: the operator of this machine has switched it off, and no switch turns it on.",
                        spec.name
                    ),
                ));
            }
            state.switches.set(&SwitchTarget::Tool(spec.name.to_string()), Some(wanted));
            Ok(())
        })
    }

    fn set_tools_enabled(&self, enabled: bool) {
        self.switch(&SwitchTarget::Everything, Some(enabled.into()));
    }

    fn attach<'a>(&'a self, source: &'a dyn Source) -> BoxFuture<'a, Result<usize, ToolError>> {
        Box::pin(async move {
            let id: Arc<str> = source.id().into();
            let remote = source.is_remote();
            let entries = source.load().await?;
            let policy = self.policy();
            let mut tools = self.prepare(&id, remote, entries, &policy)?;
            self.update(|state| {
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
                    *tool = self.tool_info(&id, remote_name(&id, name.as_str()), &what, &now)?;
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
        self.update(|state| {
            let before = state.sources.len();
            state.sources.retain(|(id, _)| &**id != source);
            state.sources.len() < before
        })
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}
