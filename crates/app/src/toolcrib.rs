//! A working Toolcrib, and how it is built.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use toolcrib_agent::ask_user;
use toolcrib_agent::library::{Library, LibraryHandle, load_skill};
use toolcrib_builtins::Builtins;
use toolcrib_builtins::fs::{Journal, JournalError, Roots, UndoReport, Workspace};
use toolcrib_builtins::shell::Shells;
use toolcrib_builtins::workbench::Workbench;
use toolcrib_chain::Kernels;
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{
    Answer, ApprovalStore, Approver, Batch, Call, CallId, Catalog, Checkpoints, Clock as _,
    Context, ConversationId, Decision, DecisionRecord, Entry, FactStore, Gate, Guard, Invoker as _,
    Observer, Origin, Permissions, RawArgs, RunId, Source, StoreError, SystemClock, ToolInfo,
    ToolSpec, ViewRequest, canonical,
};
use toolcrib_engine::rules::RuleSet;
use toolcrib_engine::{Engine, EngineBuilder, Policy, Secrets};
use toolcrib_mcp::client::{Connection, ServerConfig};
use toolcrib_mcp::desk::Desk;
use toolcrib_net::{AddressPolicy, HttpClient, StaticResolver};
use toolcrib_providers::{self as providers, Declarations, Format, Options, provider_tools};

use crate::discovery::Discovery;
use crate::exec::{self, ExecError, ExecReply, ExecRequest};
use crate::hooks::{Hooks, Relay};
use crate::kept::SealedRuns;
use crate::kill_switch::KillSwitch;
use crate::mcp::{McpHost, McpServers};
use crate::python_settings;
use crate::records;
use crate::settings::{Settings, SetupError};
use crate::stores::Stores;
use crate::tool_folders::{Reload, ToolFolders};
use crate::{vault, workbench};

/// Who closes the questions of a conversation that is deleted, as records name it.
const REMOVED: &str = "removed";

/// Tools, policy and the door to them.
#[derive(Clone)]
pub struct Toolcrib {
    engine: Engine,
    workspace: Option<Arc<Workspace>>,
    workbench: Option<Arc<Workbench>>,
    shells: Option<Arc<Shells>>,
    kernels: Arc<Kernels>,
    stores: Stores,
    library: Option<LibraryHandle>,
    kill_switch: KillSwitch,
    mcp: Arc<McpServers>,
    pub(crate) folders: Arc<ToolFolders>,
    pub(crate) hooks: Arc<Relay>,
    pub(crate) discovery: Discovery,
    pub(crate) host: Arc<Host>,
    /// What it is set up with now.
    pub(crate) settings: Arc<RwLock<Arc<Settings>>>,
}

/// What the host has said of policy beside the settings: it stays when those change.
#[derive(Default)]
pub(crate) struct Host {
    permissions: Option<Arc<dyn Permissions>>,
    guards: Vec<Arc<dyn Guard>>,
    secrets: Vec<String>,
}

impl Host {
    /// The policy of these settings with these hooks; `secrets` are those of the vault.
    pub(crate) fn policy(
        &self,
        settings: &Settings,
        hooks: &Hooks,
        secrets: Vec<String>,
    ) -> Policy {
        let permissions = match &self.permissions {
            Some(host) => Arc::clone(host),
            None => Arc::new(settings.permissions.clone()),
        };
        Policy {
            settings: settings.engine.clone(),
            rules: settings.rules.clone(),
            permissions,
            // Those of the settings come after: what a program rewrites is the last word.
            guards: self.guards.iter().cloned().chain(hooks.guards()).collect(),
            secrets: self.secrets.iter().cloned().chain(secrets).collect(),
        }
    }
}

/// Builds a [`Toolcrib`].
pub struct Builder {
    settings: Settings,
    engine: EngineBuilder,
    host: Host,
    sources: Vec<Box<dyn Source>>,
    stores: Option<Stores>,
    library: Option<LibraryHandle>,
}

impl Toolcrib {
    /// Begins with these settings.
    #[must_use]
    pub fn builder(settings: Settings) -> Builder {
        let (engine, host, sources) = (Engine::builder(), Host::default(), Vec::new());
        Builder { settings, engine, host, sources, stores: None, library: None }
    }

    /// The engine: [`toolcrib_core::Invoker`] and switches.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The registry.
    #[must_use]
    pub fn catalog(&self) -> &dyn Catalog {
        self.engine.catalog()
    }

    /// The rules of all layers that calls are governed by now.
    #[must_use]
    pub fn rules(&self) -> RuleSet {
        self.settings().rules.clone()
    }

    /// What it is set up with now; what needs a restart is as it was when it was built. Values of the vault are in it.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// No tool is connected to this port of this machine from now on, whatever is allowed: this program listens there.
    pub fn close_port(&self, port: u16) {
        self.settings().own_ports.close(port);
    }

    /// Where artifacts, undo journals, the key of the audit and its anchors are kept; out of reach of every tool.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.settings().state.clone()
    }

    /// Where secrets are kept; `None` = there is no such place.
    #[must_use]
    pub fn vault(&self) -> Option<toolcrib_store::vault::Vault> {
        self.settings().vault.clone()
    }

    /// What tools run programs on; `None` = no tool does.
    #[must_use]
    pub fn workbench(&self) -> Option<&Arc<Workbench>> {
        self.workbench.as_ref()
    }

    /// The MCP servers of the settings.
    #[must_use]
    pub fn mcp(&self) -> &Arc<McpServers> {
        &self.mcp
    }

    /// The kill switch of the state folder. Pulled, no tool runs; what is at work is stopped by [`stop_running`](Self::stop_running).
    #[must_use]
    pub fn kill_switch(&self) -> &KillSwitch {
        &self.kill_switch
    }

    /// Makes the switches in force those that are stored now: whatever other processes have set since. Calls at work feel it at their next
    /// step. Whether anything is another than before; where nothing is, this costs one look into the store.
    ///
    /// # Errors
    /// What the store says; then nothing is changed.
    pub async fn refresh_switches(&self) -> Result<bool, StoreError> {
        self.engine.refresh_switches().await
    }

    /// Ends what programs still run for a conversation: its shell, and what it started in the background.
    pub fn end_conversation(&self, owner: &str, conversation: &str) {
        if let Some(shells) = &self.shells {
            shells.end(owner, conversation);
        }
    }

    /// Deletes a conversation of this owner with its messages and runs, and ends what programs still do for it. Its calls stay in the history
    /// and in the audit.
    ///
    /// # Errors
    /// As [`delete_conversation`](toolcrib_core::ConversationStore::delete_conversation) of the store says; then nothing is changed, and everything goes on.
    pub async fn delete_conversation(
        &self,
        owner: &str,
        id: ConversationId,
    ) -> Result<(), StoreError> {
        self.stores().runs.delete_conversation(owner, id).await?;
        self.end_conversation(owner, &id.to_string());
        self.close_questions(owner, &id.to_string()).await;
        Ok(())
    }

    /// Denies what is still asked in a conversation that is deleted: its runs would not be found any more, and what they asked about would go on
    /// alone. A question that cannot be closed now stays open.
    async fn close_questions(&self, owner: &str, conversation: &str) {
        let approvals = self.approvals();
        for request in approvals.pending().await.unwrap_or_default() {
            let Context { owner: whose, conversation: of, .. } = &request.context;
            if whose == owner && of == conversation {
                let closed = DecisionRecord {
                    decision: Decision::Deny { note: None },
                    decided_by: REMOVED.to_owned(),
                    decided_at: SystemClock.now_ms(),
                };
                // Whoever decided first decided; the call is theirs to go on with.
                let _ = approvals.decide(request.id, closed).await;
            }
        }
    }

    /// Ends what is kept for a run that is over: the variables of its code.
    pub fn end_run(&self, run: RunId) {
        self.kernels.end(run);
    }

    /// Stops what is at work, shells and programs in the background among it, where tools were stopped without the word that it may run to its end: by the file, or by the switch alone. The
    /// calls that were stopped; none while tools are on.
    #[must_use]
    pub fn stop_running(&self) -> Vec<CallId> {
        if self.engine.tools_enabled() {
            return Vec::new();
        }
        match self.kill_switch.read() {
            Some(stop) if stop.finish_running => Vec::new(),
            _ => {
                if let Some(shells) = &self.shells {
                    shells.end_all();
                }
                self.kernels.end_all();
                self.engine.cancel_all(|_| true)
            }
        }
    }

    /// Every tool, whether enabled or not.
    #[must_use]
    pub fn infos(&self) -> Vec<ToolInfo> {
        self.catalog().infos()
    }

    /// The definition of a tool, whether it is switched on or not.
    #[must_use]
    pub fn spec(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.engine.spec(name)
    }

    /// A tool as it is registered, whether it is switched on or not.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<Entry> {
        self.engine.entry(name)
    }

    /// What to put into a provider's request so that its model can call what is in this view.
    #[must_use]
    pub fn declare(&self, format: Format, view: &Arc<ViewRequest>, strict: bool) -> Declarations {
        let view = self.catalog().view(view);
        providers::declare(format, &view.tools, &Options { strict, ..Options::default() })
    }

    /// Where conversations and runs are kept.
    #[must_use]
    pub fn runs(&self) -> &Arc<dyn Checkpoints> {
        &self.stores.runs
    }

    /// Where questions to people are kept.
    #[must_use]
    pub fn approvals(&self) -> &Arc<dyn ApprovalStore> {
        &self.stores.approvals
    }

    /// Everything that is kept.
    #[must_use]
    pub fn stores(&self) -> &Stores {
        &self.stores
    }

    /// Where small facts are kept.
    #[must_use]
    pub fn facts(&self) -> &Arc<dyn FactStore> {
        &self.stores.facts
    }

    /// The library that `load_skill` reads; `None` = it was not built for agents.
    pub(crate) fn library(&self) -> Option<&LibraryHandle> {
        self.library.as_ref()
    }

    /// Loads folders of tools again when they change, for a run at work.
    pub(crate) fn reload(&self) -> Arc<dyn toolcrib_agent::drive::Refresh> {
        let (folders, catalog) = (Arc::clone(&self.folders), self.engine.shared_catalog());
        Arc::new(Reload { folders, catalog })
    }

    /// The undo journal's entries, newest first; empty without a workspace.
    ///
    /// # Errors
    /// [`JournalError`] when the journal cannot be read.
    pub fn changes(&self) -> Result<Vec<toolcrib_builtins::fs::JournalEntry>, JournalError> {
        self.workspace.as_ref().and_then(|w| w.journal()).map_or(Ok(Vec::new()), Journal::list)
    }

    /// Undoes the last `n` changes that tools made in the workspace, newest first. `force` overwrites what was changed since.
    ///
    /// # Errors
    /// [`JournalError`] when the journal cannot be read or written. A refusal is part of the report.
    pub fn undo(&self, n: usize, force: bool) -> Result<UndoReport, JournalError> {
        let Some(workspace) = &self.workspace else { return Ok(UndoReport::default()) };
        workspace
            .journal()
            .map_or(Ok(UndoReport::default()), |journal| journal.undo(workspace.roots(), n, force))
    }

    /// Runs the calls of one response; see [`ExecRequest`].
    ///
    /// # Errors
    /// [`ExecError`] when the response cannot be read. Failing calls are not errors: they are results.
    pub async fn exec(&self, request: ExecRequest<'_>) -> Result<ExecReply, ExecError> {
        exec::run(self, request).await
    }

    /// Waits until everybody who is told of calls was told of everything so far, for 10 s at most: before a process ends. What went wrong with
    /// hooks since the last time, one line each.
    pub async fn settle(&self) -> Vec<String> {
        self.hooks.hooks().settle(&self.engine).await
    }

    /// Runs one call by hand, through the same door.
    pub async fn call(&self, name: &str, args: RawArgs, origin: Origin) -> Option<Answer> {
        let batch = self.batch_of(vec![Call::new(name, args)], origin);
        self.engine.invoke(batch).await.pop()
    }

    /// Calls by hand, outside a run, in the workspace.
    #[must_use]
    pub fn batch_of(&self, calls: Vec<Call>, origin: Origin) -> Batch {
        Batch { context: self.placed(Arc::default()), ..Batch::new(origin, calls) }
    }

    /// A context with the workspace in it, which rules and permissions may be about.
    pub(crate) fn placed(&self, context: Arc<Context>) -> Arc<Context> {
        let root = self.workspace.as_ref().and_then(|workspace| workspace.roots().paths().next());
        match root {
            Some(root) if context.workspace.is_empty() => {
                let workspace = root.display().to_string();
                Arc::new(Context { workspace, ..Context::clone(&context) })
            }
            _ => context,
        }
    }
}

impl Builder {
    /// Who is asked; nobody by default, which denies.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.engine = self.engine.approver(approver);
        self
    }

    /// Somebody else who says what the host grants, in place of the settings.
    #[must_use]
    pub fn permissions(mut self, permissions: Arc<dyn Permissions>) -> Self {
        self.host.permissions = Some(permissions);
        self
    }

    /// Adds a gate.
    #[must_use]
    pub fn gate(mut self, gate: Arc<dyn Gate>) -> Self {
        self.engine = self.engine.gate(gate);
        self
    }

    /// Adds a guard hook.
    #[must_use]
    pub fn guard(mut self, guard: Arc<dyn Guard>) -> Self {
        self.host.guards.push(guard);
        self
    }

    /// Adds an observer.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.engine = self.engine.observer(observer);
        self
    }

    /// Values that are masked everywhere beside those of the vault, such as keys of providers.
    #[must_use]
    pub fn secrets(mut self, secrets: Vec<String>) -> Self {
        self.host.secrets = secrets;
        self
    }

    /// What another process needs to go on with a call that waits for a person: kept with each question, as it is.
    #[must_use]
    pub fn setup(mut self, setup: serde_json::Value) -> Self {
        self.engine = self.engine.setup(setup);
        self
    }

    /// Stores that were opened before, in place of those of the settings.
    #[must_use]
    pub fn stores(mut self, stores: Stores) -> Self {
        self.stores = Some(stores);
        self
    }

    /// Adds a source of tools beside the built-in ones.
    #[must_use]
    pub fn source(mut self, source: impl Source + 'static) -> Self {
        self.sources.push(Box::new(source));
        self
    }

    /// Adds the tools of the agent loop: asking people, loading skills, and what providers run themselves. A [`crate::runner::Runner`] needs
    /// them.
    #[must_use]
    pub fn for_agents(mut self) -> Self {
        let library = LibraryHandle::new(Library::default());
        let skills = load_skill::handler(library.clone());
        self.library = Some(library);
        let tools = vec![Entry::Local(ask_user::handler()), Entry::Local(skills)];
        self.source(FixedSource::new("agent", tools)).source(provider_tools::source())
    }

    /// Puts it all together.
    ///
    /// # Errors
    /// [`SetupError`] when a root, a network entry or a source cannot be used.
    pub async fn build(mut self) -> Result<Toolcrib, SetupError> {
        let secrets = vault::unlock(&mut self.settings)?;
        let stores = match self.stores {
            Some(stores) => stores,
            None => Stores::open(self.settings.database.as_deref())?,
        };
        let hooks = Hooks::new(&self.settings.hooks, self.settings.roots.first());
        let relay = Arc::new(Relay::new(hooks.clone()));
        let kill_switch = KillSwitch::of(&self.settings.state);
        let engine = self.engine.observer(Arc::clone(&relay) as Arc<dyn Observer>);
        let engine = match &self.settings.vault {
            Some(vault) => engine.sealer(Arc::new(vault.clone())),
            None => engine,
        };
        let engine = engine
            .policy(self.host.policy(&self.settings, &hooks, secrets))
            .brake(Arc::new(kill_switch.clone()))
            .artifacts(Arc::clone(&stores.artifacts))
            .calls(Arc::clone(&stores.calls))
            .approvals(Arc::clone(&stores.approvals))
            .grants(Arc::clone(&stores.grants))
            // The only owner there is as yet.
            .switches(Arc::clone(&stores.switches), "")
            .build();
        let stores = Stores {
            runs: Arc::new(SealedRuns::new(stores.runs, engine.sealing().clone())),
            ..stores
        };
        let workspace = workspace(&self.settings)?.map(Arc::new);
        let mut builtins = Builtins::new()
            .with_client(client(&self.settings)?)
            .with_artifacts(Arc::clone(&stores.artifacts))
            .with_records(records::of(&stores, &engine));
        if let Some(workspace) = &workspace {
            builtins = builtins.with_workspace(Arc::clone(workspace));
        }
        let workbench = workbench::bench(&self.settings)?;
        if let Some(workbench) = &workbench {
            builtins = builtins.with_workbench(Arc::clone(workbench));
            if let Some(worker) = workbench::worker(&self.settings) {
                builtins = builtins.with_document_worker(worker);
            }
        }
        let shells = workbench.clone().map(|bench| {
            let shells = Shells::new(bench, Some(self.settings.state.join("processes")));
            Arc::new(shells.background_idle(self.settings.background_idle))
        });
        if let Some(shells) = &shells {
            builtins = builtins.with_shells(Arc::clone(shells));
        }
        if let Some(opener) = &self.settings.opener {
            builtins = builtins.with_opener(opener.clone());
        }
        engine.catalog().attach(&builtins.source()).await.map_err(SetupError::Source)?;
        let discovery = Discovery::new(&self.settings.discovery)?;
        let (kernels, mut scripts) = (Arc::new(Kernels::default()), None);
        if let Some(python) = &self.settings.python {
            let denied = out_of_reach(&self.settings).map(Path::to_owned).collect();
            let backend = workbench.as_ref().map(|bench| bench.backend());
            let search = Arc::new(discovery.for_scripts(&engine.shared_catalog()));
            let state = &self.settings.state;
            let setup = python_settings::setup(python, state, denied, backend, search);
            scripts = Some(setup.clone());
            let source = toolcrib_chain::source_with(setup, Arc::clone(&kernels));
            engine.catalog().attach(&source).await.map_err(SetupError::Source)?;
        }
        let finds = discovery.source(&engine.shared_catalog());
        engine.catalog().attach(&finds).await.map_err(SetupError::Source)?;
        for source in &self.sources {
            engine.catalog().attach(&**source).await.map_err(SetupError::Source)?;
        }
        let secrets = engine.sealing().secrets.clone();
        let mcp = mcp_servers(&self.settings, workbench.clone(), &stores, secrets)?;
        mcp.attach(&engine.shared_catalog()).await;
        // Folders come last: none of them can take the name of a tool of ours.
        let folders = ToolFolders::new(&self.settings, scripts);
        folders.load_first(engine.catalog()).await.map_err(SetupError::Source)?;
        hooks.know(&engine);
        let toolcrib = Toolcrib {
            engine,
            workspace,
            workbench,
            shells,
            kernels,
            stores,
            library: self.library,
            mcp,
            kill_switch,
            folders: Arc::new(folders),
            hooks: relay,
            discovery,
            host: Arc::new(self.host),
            settings: Arc::new(RwLock::new(Arc::new(self.settings))),
        };
        toolcrib.refresh_switches().await?;
        Ok(toolcrib)
    }
}

/// The servers of these settings, none of them connected.
fn mcp_servers(
    settings: &Settings,
    workbench: Option<Arc<Workbench>>,
    stores: &Stores,
    secrets: Secrets,
) -> Result<Arc<McpServers>, SetupError> {
    let desk = Desk::default();
    let host = Arc::new(McpHost {
        workbench,
        client: client(settings)?.with_keep_alive(),
        vault: settings.vault.clone(),
        secrets,
        facts: Arc::clone(&stores.facts),
        logs: settings.state.join("mcp"),
        desk: desk.clone(),
        servers: OnceLock::new(),
    });
    let on = settings.mcp_servers.iter().filter(|server| server.enabled);
    let connection = |server: &ServerConfig| {
        Connection::new(server.clone(), Arc::clone(&host) as Arc<dyn toolcrib_mcp::client::Host>)
    };
    let servers = Arc::new(McpServers::new(desk, on.map(connection).collect()));
    let _ = host.servers.set(Arc::downgrade(&servers));
    Ok(servers)
}

fn workspace(settings: &Settings) -> Result<Option<Workspace>, SetupError> {
    if settings.roots.is_empty() {
        return Ok(None);
    }
    let roots = roots(settings)?;
    let journal = Journal::open(journal_folder(settings, &roots))
        .map_err(|error| SetupError::Root(error.to_string()))?;
    Ok(Some(Workspace::new(roots, journal)))
}

/// The roots of these settings, without what tools must not touch.
pub(crate) fn roots(settings: &Settings) -> Result<Roots, SetupError> {
    Roots::open(&settings.roots)
        .and_then(|roots| roots.protect(out_of_reach(settings)))
        .map_err(|error| SetupError::Root(error.to_string()))
}

/// What a model must not change: what is remembered of it, what it is told, and the tools that it is given. A tool that a model wrote would
/// otherwise run without anybody having looked at it.
fn out_of_reach(settings: &Settings) -> impl Iterator<Item = &Path> {
    let folders = settings.tool_folders.iter().map(|folder| folder.path.as_path());
    let vault = settings.vault.as_ref().map(toolcrib_store::vault::Vault::folder);
    [settings.state.as_path()]
        .into_iter()
        .chain(settings.protected.iter().map(PathBuf::as_path))
        .chain(folders)
        .chain(vault)
}

/// One journal per workspace: the folder is named by a hash of the real path of the first root.
fn journal_folder(settings: &Settings, roots: &Roots) -> PathBuf {
    let path = roots.paths().next().map(|path| path.to_string_lossy().into_owned());
    let hash = canonical::sha256_parts(&[&path.unwrap_or_default()]);
    settings.state.join("undo").join(hash.get(..16).unwrap_or(&hash))
}

/// A client that reaches what these settings allow.
pub(crate) fn client(settings: &Settings) -> Result<HttpClient, SetupError> {
    let net = |error: &dyn std::fmt::Display| SetupError::Net(error.to_string());
    let policy = AddressPolicy::allowing(&settings.allow_net).map_err(|error| net(&error))?;
    let client = HttpClient::new(policy.never_to(settings.own_ports.clone()));
    if settings.resolve.is_empty() {
        return Ok(client);
    }
    let fixed = StaticResolver::parse(&settings.resolve).map_err(|error| net(&error))?;
    Ok(client.with_resolver(Arc::new(fixed)))
}
