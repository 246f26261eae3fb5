//! Toolcrib: the facade value that owns engine, stores and tool sources, and its builder.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use toolcrib_agent::ask_user;
use toolcrib_agent::library::{Library, LibraryHandle, load_skill};
use toolcrib_assistant::soul::Souls;
use toolcrib_assistant::{AssistantTools, SecretCheck};
use toolcrib_builtins::Builtins;
use toolcrib_builtins::fs::{Journal, JournalError, Roots, UndoReport, Workspace};
use toolcrib_builtins::program_runner::ProgramRunner;
use toolcrib_builtins::shell::Shells;
use toolcrib_code_mode::KernelPool;
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{
    Answer, ApprovalStore, Approver, Batch, Call, CallId, Catalog, Clock as _, Context,
    ConversationAndRunStore, ConversationId, Decision, DecisionRecord, Entry, Gate, Guard,
    Invoker as _, KeyValueStore, Observer, Origin, Permissions, RawArgs, RunId, Source, StoreError,
    SystemClock, ToolInfo, ToolSpec, ViewRequest, canonical_json,
};
use toolcrib_engine::rules::RuleSet;
use toolcrib_engine::{Engine, EngineBuilder, Policy, Preset, Secrets};
use toolcrib_mcp::client::{Connection, ServerConfig};
use toolcrib_mcp::client_channel::ClientChannels;
use toolcrib_net::{AddressPolicy, HttpClient, StaticResolver};
use toolcrib_providers::{self as providers, Declarations, Format, Options, provider_tools};

use crate::assistant_setup;
use crate::exec::{self, ExecError, ExecReply, ExecRequest};
use crate::history_records;
use crate::hooks::{HookRelay, Hooks};
use crate::kill_switch_file::KillSwitchFile;
use crate::mcp::{McpClientHost, McpServers};
use crate::python_settings;
use crate::sealed_stores::SealedConversationAndRunStore;
use crate::settings::{Settings, SetupError};
use crate::stores::Stores;
use crate::tool_folders::{ToolFolderReload, ToolFolders, broken_files};
use crate::tool_search::ToolSearcher;
use crate::workbench::WorkbenchMasks;
use crate::{vault_secrets, workbench};

/// Id of the source of the tools that only the agent loop runs: `ask_user`, `load_skill` and the
/// like.
pub const AGENT_SOURCE: &str = "agent";

/// Name in records of the decision on questions of a deleted conversation.
const CLOSED_BY: &str = "removed";

/// A working Toolcrib: engine, tools and stores. Clones share them.
#[derive(Clone)]
pub struct Toolcrib {
    engine: Engine,
    workspace: Option<Arc<Workspace>>,
    workbench: Option<Arc<ProgramRunner>>,
    shells: Option<Arc<Shells>>,
    kernels: Arc<KernelPool>,
    stores: Stores,
    pub(crate) assistant: AssistantTools,
    pub(crate) souls: Souls,
    library: Option<LibraryHandle>,
    kill_switch: KillSwitchFile,
    mcp: Arc<McpServers>,
    pub(crate) folders: Arc<ToolFolders>,
    pub(crate) hooks: Arc<HookRelay>,
    pub(crate) discovery: ToolSearcher,
    pub(crate) host: Arc<HostPolicy>,
    /// The present settings.
    pub(crate) settings: Arc<RwLock<Arc<Settings>>>,
}

/// Policy set by the host program on the builder; it stays when the settings change.
#[derive(Default)]
pub(crate) struct HostPolicy {
    permissions: Option<Arc<dyn Permissions>>,
    guards: Vec<Arc<dyn Guard>>,
    secrets: Vec<String>,
}

impl HostPolicy {
    /// The policy from these settings and hooks; `secrets` are those of the vault.
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
            // Hooks of the settings run last: their rewritten arguments are final.
            guards: self.guards.iter().cloned().chain(hooks.guards()).collect(),
            secrets: self.secrets.iter().cloned().chain(secrets).collect(),
        }
    }
}

/// Builds a [`Toolcrib`]: tools of your own, and who decides about risky calls.
///
/// ```
/// use std::sync::Arc;
///
/// use toolcrib_app::core::entry::FixedSource;
/// use toolcrib_app::runner::DeferApproval;
/// use toolcrib_app::{Settings, Toolcrib};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let home = tempfile::tempdir()?;
/// # let (workspace, state) = (home.path().join("workspace"), home.path().join("state"));
/// # std::fs::create_dir(&workspace)?;
/// let toolcrib = Toolcrib::builder(Settings::new(&workspace, &state))
///     .approver(Arc::new(DeferApproval))
///     .source(FixedSource::new("mine", Vec::new()))
///     .build()
///     .await?;
/// assert!(toolcrib.spec("read_file").is_some());
/// # Ok(())
/// # }
/// ```
pub struct Builder {
    settings: Settings,
    engine: EngineBuilder,
    host: HostPolicy,
    sources: Vec<Box<dyn Source>>,
    stores: Option<Stores>,
    library: Option<LibraryHandle>,
    environment: Option<String>,
}

impl Toolcrib {
    /// A builder with these settings.
    #[must_use]
    pub fn builder(settings: Settings) -> Builder {
        let (engine, host, sources) = (Engine::builder(), HostPolicy::default(), Vec::new());
        Builder { settings, engine, host, sources, stores: None, library: None, environment: None }
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

    /// The rules of all layers in force.
    #[must_use]
    pub fn rules(&self) -> RuleSet {
        self.settings().rules.clone()
    }

    /// The preset in force: it decides where no rule speaks.
    #[must_use]
    pub fn preset(&self) -> Preset {
        self.settings().engine.preset
    }

    /// The settings in force; those that need a restart are as of the start. They contain values of
    /// the vault.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Blocks this local port for all tools, even if it is allowed: this program listens on it.
    pub fn deny_port(&self, port: u16) {
        self.settings().own_ports.block(port);
    }

    /// Folder of artifacts, undo journals, the audit key and its anchors; no tool can reach it.
    #[must_use]
    pub fn state_folder(&self) -> PathBuf {
        self.settings().state.clone()
    }

    /// The vault, if there is one.
    #[must_use]
    pub fn vault(&self) -> Option<toolcrib_store::vault::Vault> {
        self.settings().vault.clone()
    }

    /// The program runner of tools; `None` if tools run no programs.
    #[must_use]
    pub fn workbench(&self) -> Option<&Arc<ProgramRunner>> {
        self.workbench.as_ref()
    }

    /// The configured MCP servers.
    #[must_use]
    pub fn mcp(&self) -> &Arc<McpServers> {
        &self.mcp
    }

    /// The kill switch of the state folder. While it is engaged, no tool runs;
    /// [`stop_calls`](Self::stop_calls) cancels running calls.
    #[must_use]
    pub fn kill_switch(&self) -> &KillSwitchFile {
        &self.kill_switch
    }

    /// Reads the stored switches, which other processes may have changed, and puts them into force.
    /// Running calls obey them at their next stage. Returns whether anything changed; if not, this
    /// costs one query.
    ///
    /// # Errors
    /// The error of the store; then nothing is changed.
    pub async fn refresh_switches(&self) -> Result<bool, StoreError> {
        self.engine.refresh_switches().await
    }

    /// Ends the processes of a conversation: its shell, and its background processes.
    pub fn end_conversation(&self, owner: &str, conversation: &str) {
        if let Some(shells) = &self.shells {
            shells.end(owner, conversation);
        }
    }

    /// Deletes a conversation of this owner with its messages and runs, and ends its processes. Its
    /// calls stay in the history and in the audit.
    ///
    /// # Errors
    /// As [`delete_conversation`](toolcrib_core::ConversationStore::delete_conversation) of the
    /// store; then nothing is changed.
    pub async fn delete_conversation(
        &self,
        owner: &str,
        id: ConversationId,
    ) -> Result<(), StoreError> {
        self.stores().runs.delete_conversation(owner, id).await?;
        self.end_conversation(owner, &id.to_string());
        self.deny_pending_approvals(owner, &id.to_string()).await;
        Ok(())
    }

    /// Denies the pending questions of a deleted conversation: their runs no longer exist, and an
    /// approved call would run on its own. A question that cannot be closed stays open.
    async fn deny_pending_approvals(&self, owner: &str, conversation: &str) {
        let approvals = self.approvals();
        for request in approvals.pending().await.unwrap_or_default() {
            let Context { owner: whose, conversation: of, .. } = &request.context;
            if whose == owner && of == conversation {
                let closed = DecisionRecord {
                    decision: Decision::Deny { note: None },
                    decided_by: CLOSED_BY.to_owned(),
                    decided_at: SystemClock.now_ms(),
                };
                // An earlier decision wins, and its maker continues the call.
                let _ = approvals.decide(request.id, closed).await;
            }
        }
    }

    /// Releases what is kept for a run after its end: the variables of its code.
    pub fn end_run(&self, run: RunId) {
        self.kernels.end(run);
    }

    /// Cancels running calls and kills their programs, shells, background processes and servers, if
    /// the tools are stopped, by the file or by the stored switch, and running calls may not
    /// finish. Returns the cancelled calls; [`toolcrib_sandbox::wait_for_dropped`] waits for the
    /// programs.
    #[must_use]
    pub fn stop_calls(&self) -> Vec<CallId> {
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
                let stopped = self.engine.cancel_all(|_| true);
                // What is merely ended gets time to end. Calls are cancelled first, so that none
                // ends as one whose program crashed.
                if let Some(workbench) = &self.workbench {
                    workbench.kill_started();
                }
                stopped
            }
        }
    }

    /// All tools, enabled or not.
    #[must_use]
    pub fn infos(&self) -> Vec<ToolInfo> {
        self.catalog().infos()
    }

    /// The definition of a tool, enabled or not.
    #[must_use]
    pub fn spec(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.engine.spec(name)
    }

    /// The entry of a tool, enabled or not.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<Entry> {
        self.engine.entry(name)
    }

    /// The tool declarations of a view for a provider's request.
    #[must_use]
    pub fn declare(&self, format: Format, view: &Arc<ViewRequest>, strict: bool) -> Declarations {
        let view = self.catalog().view(view);
        providers::declare(format, &view.tools, &Options { strict, ..Options::default() })
    }

    /// The store of conversations and runs.
    #[must_use]
    pub fn runs(&self) -> &Arc<dyn ConversationAndRunStore> {
        &self.stores.runs
    }

    /// The store of approvals and questions.
    #[must_use]
    pub fn approvals(&self) -> &Arc<dyn ApprovalStore> {
        &self.stores.approvals
    }

    /// All stores.
    #[must_use]
    pub fn stores(&self) -> &Stores {
        &self.stores
    }

    /// The key-value store.
    #[must_use]
    pub fn facts(&self) -> &Arc<dyn KeyValueStore> {
        &self.stores.facts
    }

    /// The library that `load_skill` reads; `None` if this was not built for agents.
    pub(crate) fn library(&self) -> Option<&LibraryHandle> {
        self.library.as_ref()
    }

    /// The tools of the tool folders that did not load, each with the reason.
    #[must_use]
    pub fn broken_tools(&self) -> Vec<String> {
        broken_files(&self.folders, self.engine.catalog())
    }

    /// Reloads changed tool folders during a run.
    pub(crate) fn reload(&self) -> Arc<dyn toolcrib_agent::driver::ToolRefresh> {
        let (folders, catalog) = (Arc::clone(&self.folders), self.engine.shared_catalog());
        Arc::new(ToolFolderReload { folders, catalog })
    }

    /// The entries of the undo journal, newest first; empty without a workspace.
    ///
    /// # Errors
    /// [`JournalError`] when the journal cannot be read.
    pub fn changes(&self) -> Result<Vec<toolcrib_builtins::fs::JournalEntry>, JournalError> {
        self.workspace.as_ref().and_then(|w| w.journal()).map_or(Ok(Vec::new()), Journal::list)
    }

    /// Tools that a model on this device may get, as entries of tool lists.
    #[must_use]
    pub fn on_device_tools(&self) -> Vec<String> {
        self.settings().discovery.on_device_tools()
    }

    /// The roots and the undo journal of the workspace; `None` without a workspace.
    #[must_use]
    pub fn journal(&self) -> Option<(&Roots, &Journal)> {
        let workspace = self.workspace.as_ref()?;
        Some((workspace.roots(), workspace.journal()?))
    }

    /// Undoes the changes of the undo journal with these numbers, newest first. `force` overwrites
    /// later changes.
    ///
    /// # Errors
    /// [`JournalError`] when one of them is not in the journal, or it cannot be read or written. A
    /// refusal is part of the report.
    pub fn undo(&self, ids: &[u64], force: bool) -> Result<UndoReport, JournalError> {
        let Some((roots, journal)) = self.journal() else { return Ok(UndoReport::default()) };
        journal.undo(roots, ids, force)
    }

    /// Redoes the undone changes with these numbers, the last undone first. `force` overwrites
    /// later changes.
    ///
    /// # Errors
    /// As for [`Toolcrib::undo`].
    pub fn redo(&self, ids: &[u64], force: bool) -> Result<UndoReport, JournalError> {
        let Some((roots, journal)) = self.journal() else { return Ok(UndoReport::default()) };
        journal.redo(roots, ids, force)
    }

    /// Runs the calls of one response of a model; the reply has the messages to append to its
    /// conversation.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use toolcrib_app::core::{Context, Origin, RunLimits, ViewRequest};
    /// use toolcrib_app::{ExecRequest, Settings, Toolcrib};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let home = tempfile::tempdir()?;
    /// # let (workspace, state) = (home.path().join("workspace"), home.path().join("state"));
    /// # std::fs::create_dir(&workspace)?;
    /// let toolcrib = Toolcrib::builder(Settings::new(&workspace, &state)).build().await?;
    /// let body = br#"{"content": [
    ///     {"type": "tool_use", "id": "toolu_1", "name": "get_current_time", "input": {}}
    /// ], "role": "assistant", "type": "message", "stop_reason": "tool_use"}"#;
    /// let request = ExecRequest {
    ///     body,
    ///     format: None,
    ///     origin: Origin::Model,
    ///     context: Arc::new(Context::default()),
    ///     view: ViewRequest::default(),
    ///     limits: RunLimits::default(),
    ///     key: None,
    /// };
    /// let reply = toolcrib.exec(request).await?;
    /// assert_eq!(reply.messages[0]["content"][0]["tool_use_id"], "toolu_1");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ExecError`] when the response cannot be read. Failing calls are not errors: they are
    /// results.
    pub async fn exec(&self, request: ExecRequest<'_>) -> Result<ExecReply, ExecError> {
        exec::run_exec(self, request).await
    }

    /// Waits up to 10 s until all observers have received the events so far; call it before the
    /// process ends. Returns failures of hooks since the last call, one line each.
    pub async fn flush_hooks(&self) -> Vec<String> {
        self.hooks.hooks().flush(&self.engine).await
    }

    /// Runs one manual call through the invoker.
    pub async fn call(&self, name: &str, args: RawArgs, origin: Origin) -> Option<Answer> {
        let batch = self.manual_batch(vec![Call::new(name, args)], origin);
        self.engine.invoke(batch).await.pop()
    }

    /// A batch of manual calls, outside a run, in the workspace.
    #[must_use]
    pub fn manual_batch(&self, calls: Vec<Call>, origin: Origin) -> Batch {
        Batch { context: self.with_workspace(Arc::default()), ..Batch::new(origin, calls) }
    }

    /// Adds the workspace to a context, since rules and permissions may depend on it.
    pub(crate) fn with_workspace(&self, context: Arc<Context>) -> Arc<Context> {
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
    /// Sets the approver. Without one, calls that need approval are denied.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.engine = self.engine.approver(approver);
        self
    }

    /// Replaces the permissions of the settings.
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

    /// Additional values that are masked everywhere, such as provider keys.
    #[must_use]
    pub fn secrets(mut self, secrets: Vec<String>) -> Self {
        self.host.secrets = secrets;
        self
    }

    /// Opaque data that another process needs to continue a call that waits for a person; stored
    /// with each question.
    #[must_use]
    pub fn run_setup(mut self, setup: serde_json::Value) -> Self {
        self.engine = self.engine.setup(setup);
        self
    }

    /// Identity of workspace, policy and tools: a stored call is carried out only in the
    /// environment that it was asked in. Without it, the workspace folders are the identity.
    #[must_use]
    pub fn environment(mut self, environment: String) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Uses stores that are already open, instead of those of the settings.
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

    /// Adds the tools of the agent loop: asking people, loading skills, and provider-hosted tools.
    /// A [`crate::runner::Runner`] needs them.
    #[must_use]
    pub fn for_agents(mut self) -> Self {
        let library = LibraryHandle::new(Library::default());
        let skills = load_skill::handler(library.clone());
        self.library = Some(library);
        let tools = vec![Entry::Local(ask_user::handler()), Entry::Local(skills)];
        self.source(FixedSource::new(AGENT_SOURCE, tools)).source(provider_tools::source())
    }

    /// Builds the Toolcrib. The order of the steps is a contract; each comment gives the reason.
    ///
    /// # Errors
    /// [`SetupError`] when a root, a network entry or a source cannot be used.
    pub async fn build(mut self) -> Result<Toolcrib, SetupError> {
        // First, since every later step reads the settings: vault values become configuration
        // values, and the list of secrets must be complete before the policy starts to mask them.
        let secrets = vault_secrets::inject_secrets(&mut self.settings)?;
        // The engine is built on the stores.
        let stores = match self.stores {
            Some(stores) => stores,
            None => Stores::open(self.settings.database.as_deref())?,
        };
        // Observers are fixed once the engine is built, hooks are not: the engine gets a relay
        // whose hooks `reconfigure` can replace.
        let hooks = Hooks::new(&self.settings.hooks, self.settings.roots.first());
        let relay = Arc::new(HookRelay::new(hooks.clone()));
        let kill_switch = KillSwitchFile::in_folder(&self.settings.state);
        let engine = self.engine.observer(Arc::clone(&relay) as Arc<dyn Observer>);
        // The engine creates its `sealing` when it is built, so it needs the vault's key by then.
        let engine = match &self.settings.vault {
            Some(vault) => engine.sealer(Arc::new(vault.clone())),
            None => engine,
        };
        let engine = engine
            .policy(self.host.policy(&self.settings, &hooks, secrets))
            .kill_switch(Arc::new(kill_switch.clone()))
            .artifacts(Arc::clone(&stores.artifacts))
            .calls(Arc::clone(&stores.calls))
            .approvals(Arc::clone(&stores.approvals))
            .grants(Arc::clone(&stores.grants))
            // The switches of the default owner, the only one so far.
            .switches(Arc::clone(&stores.switches), "")
            .environment(self.environment.unwrap_or_else(|| workspace_identity(&self.settings)))
            .build();
        // The run store needs the engine's `sealing`, so it is wrapped after the engine is built
        // and before any other part gets a store: none of them can write unsealed text.
        let stores = Stores {
            runs: Arc::new(SealedConversationAndRunStore::new(
                stores.runs,
                engine.sealing().clone(),
            )),
            ..stores
        };
        // The order of `attach` decides about equal names. A later tool of a remote source, such as
        // a folder or an MCP server, becomes a broken entry; a later tool of a local source is an
        // error. Local sources therefore come first, and the built-in tools are the first of them.
        let workspace = workspace(&self.settings)?.map(Arc::new);
        let web = vault_secrets::service_settings(&self.settings)?;
        let mut builtins = Builtins::new()
            .with_client(http_client(&self.settings)?)
            .with_web(web, self.settings.locale.as_deref())
            .with_artifacts(Arc::clone(&stores.artifacts))
            .with_introspection(history_records::history_records(&stores, &engine));
        if let Some(workspace) = &workspace {
            builtins = builtins.with_workspace(Arc::clone(workspace));
        }
        let workbench = workbench::build_workbench(&self.settings, workspace.as_deref())?;
        if let Some(workbench) = &workbench {
            workbench.set_shared_denials(workbench::shared_denials(&self.settings));
        }
        if let Some(workbench) = &workbench {
            builtins = builtins.with_program_runner(Arc::clone(workbench));
            if let Some(worker) = workbench::worker_program(&self.settings) {
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
        let secrets = engine.sealing().secrets.clone();
        let is_secret: SecretCheck = Arc::new(move |text: &str| secrets.occurs_in(text));
        let (assistant, souls) = assistant_setup::assistant_tools(
            &stores,
            &self.settings.state,
            builtins.document_text(),
            is_secret,
            engine.labels_of_runs(),
        );
        engine.catalog().attach(&assistant.source()).await.map_err(SetupError::Source)?;
        // Before code execution, because scripts search for tools with it. The index is built at
        // the first search, over all tools that are attached by then.
        let discovery = ToolSearcher::new(&self.settings.discovery)?;
        let (kernels, mut scripts) = (Arc::new(KernelPool::default()), None);
        if let Some(python) = &self.settings.python {
            let denied = protected_paths(&self.settings).map(Path::to_owned).collect();
            let backend = workbench.as_ref().map(|bench| bench.backend());
            let search = Arc::new(discovery.for_scripts(&engine.shared_catalog()));
            let state = &self.settings.state;
            let masks = Arc::new(WorkbenchMasks(workbench.clone()));
            let setup =
                python_settings::python_setup(python, state, denied, backend, masks, search);
            scripts = Some(setup.clone());
            let source = toolcrib_code_mode::source_with(setup, Arc::clone(&kernels));
            engine.catalog().attach(&source).await.map_err(SetupError::Source)?;
        }
        let finds = discovery.source(&engine.shared_catalog());
        engine.catalog().attach(&finds).await.map_err(SetupError::Source)?;
        // Sources of the embedder come after our own, whose names they cannot take.
        for source in &self.sources {
            engine.catalog().attach(&**source).await.map_err(SetupError::Source)?;
        }
        // MCP servers share the engine's list of secrets: tokens that they obtain later are masked
        // everywhere. Their tools have remote names and follow all local sources.
        let secrets = engine.sealing().secrets.clone();
        let mcp = mcp_servers(&self.settings, workbench.clone(), &stores, secrets)?;
        mcp.attach(&engine.shared_catalog()).await;
        // Tool folders come last, so that no external tool can take the name of another tool.
        let folders = ToolFolders::new(&self.settings, scripts);
        folders.load_first(engine.catalog()).await.map_err(SetupError::Source)?;
        // Needs all tools: matchers of hooks may use any alias.
        hooks.learn_aliases(&engine);
        let toolcrib = Toolcrib {
            engine,
            workspace,
            workbench,
            shells,
            kernels,
            stores,
            assistant,
            souls,
            library: self.library,
            mcp,
            kill_switch,
            folders: Arc::new(folders),
            hooks: relay,
            discovery,
            host: Arc::new(self.host),
            settings: Arc::new(RwLock::new(Arc::new(self.settings))),
        };
        // Before the caller gets the value: its first call already obeys the stored switches.
        toolcrib.refresh_switches().await?;
        Ok(toolcrib)
    }
}

/// Creates the connections of all enabled servers; none is connected yet.
fn mcp_servers(
    settings: &Settings,
    workbench: Option<Arc<ProgramRunner>>,
    stores: &Stores,
    secrets: Secrets,
) -> Result<Arc<McpServers>, SetupError> {
    let desk = ClientChannels::default();
    let host = Arc::new(McpClientHost {
        workbench,
        client: http_client(settings)?.with_keep_alive(),
        vault: settings.vault.clone(),
        secrets,
        facts: Arc::clone(&stores.facts),
        logs: settings.state.join("mcp"),
        client_channel: desk.clone(),
        servers: OnceLock::new(),
    });
    let on = settings.mcp_servers.iter().filter(|server| server.enabled);
    let connection = |server: &ServerConfig| {
        Connection::new(
            server.clone(),
            Arc::clone(&host) as Arc<dyn toolcrib_mcp::client::ClientHost>,
        )
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
        .map_err(|error| SetupError::State(error.to_string()))?;
    Ok(Some(Workspace::new(roots, journal)))
}

/// The identity of an environment that says nothing of its own: its workspace folders.
fn workspace_identity(settings: &Settings) -> String {
    let real = |root: &PathBuf| root.canonicalize().unwrap_or_else(|_| root.clone());
    let roots: Vec<String> =
        settings.roots.iter().map(|root| real(root).display().to_string()).collect();
    canonical_json::sha256(&serde_json::json!(roots))
}

/// The roots of these settings, without the protected paths.
pub(crate) fn roots(settings: &Settings) -> Result<Roots, SetupError> {
    Roots::open(&settings.roots)
        .and_then(|roots| roots.protect(protected_paths(settings)))
        .map_err(|error| SetupError::Root(error.to_string()))
}

/// Paths that models must not change: stored state, secrets, and tools. A tool written by a model
/// would otherwise run without review.
fn protected_paths(settings: &Settings) -> impl Iterator<Item = &Path> {
    let folders = settings.tool_folders.iter().map(|folder| folder.path.as_path());
    let vault = settings.vault.as_ref().map(toolcrib_store::vault::Vault::folder);
    [settings.state.as_path()]
        .into_iter()
        .chain(settings.protected.iter().map(PathBuf::as_path))
        .chain(folders)
        .chain(vault)
}

/// One journal per workspace, in a folder named by a hash of the real path of the first root.
fn journal_folder(settings: &Settings, roots: &Roots) -> PathBuf {
    let path = roots.paths().next().map(|path| path.to_string_lossy().into_owned());
    let hash = canonical_json::sha256_parts(&[&path.unwrap_or_default()]);
    settings.state.join("undo").join(hash.get(..16).unwrap_or(&hash))
}

/// The HTTP client with the address policy of these settings.
pub(crate) fn http_client(settings: &Settings) -> Result<HttpClient, SetupError> {
    let net = |error: &dyn std::fmt::Display| SetupError::Net(error.to_string());
    let policy = AddressPolicy::with_allowed(&settings.allow_net).map_err(|error| net(&error))?;
    let client = HttpClient::new(policy.with_blocked_ports(settings.own_ports.clone()));
    if settings.resolve.is_empty() {
        return Ok(client);
    }
    let fixed = StaticResolver::parse(&settings.resolve).map_err(|error| net(&error))?;
    Ok(client.with_resolver(Arc::new(fixed)))
}
