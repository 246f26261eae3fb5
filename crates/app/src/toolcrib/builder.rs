//! Builds a Toolcrib.

use std::path::Path;
use std::sync::{Arc, OnceLock, RwLock};

use toolcrib_agent::ask_user;
use toolcrib_agent::library::{Library, LibraryHandle, load_skill};
use toolcrib_assistant::SecretCheck;
use toolcrib_assistant::custom_instructions::move_former_instructions;
use toolcrib_assistant::draft::Carrier;
use toolcrib_assistant::heartbeat::Heartbeats;

use toolcrib_builtins::Builtins;
use toolcrib_builtins::program_runner::ProgramRunner;
use toolcrib_builtins::shell::Shells;
use toolcrib_channels::ChatCarrier;
use toolcrib_code_mode::KernelPool;
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{Approver, Entry, Gate, Guard, Observer, Permissions, Source};
use toolcrib_engine::{Engine, EngineBuilder, Secrets};
use toolcrib_mcp::client_channel::ClientChannels;
use toolcrib_providers::provider_tools;
use toolcrib_sms::SmsCarrier;

use super::assistant_tools::{assistant_tools, notifier};
use super::channel_tools::{channel_accounts, channel_tools};
use super::from_settings::{
    client_for_servers, http_client, protected_paths, workspace, workspace_identity,
};
use super::host_policy::HostPolicy;
use super::mail_tools::mail_tools;
use super::paired_apps::paired_apps;
use super::sms_tools::{sms, sms_tools};
use super::{AGENT_SOURCE, Toolcrib};
use crate::document_files::{DocumentFiles, ReadableDocuments};
use crate::history_records;
use crate::hooks::{HookRelay, Hooks};
use crate::kill_switch_file::KillSwitchFile;
use crate::link_notifications::LinkNotifications;
use crate::mcp::{McpClientHost, McpServers};
use crate::python_settings;
use crate::sealed_stores::SealedConversationAndRunStore;
use crate::settings::{Settings, SetupError};
use crate::stores::Stores;
use crate::tool_folders::ToolFolders;
use crate::tool_search::ToolSearcher;
use crate::workbench::WorkbenchMasks;
use crate::{vault_secrets, workbench};

/// Builds a [`Toolcrib`], with your own tools and your own approver of risky calls.
///
/// ```
/// use std::sync::Arc;
///
/// use toolcrib_core::entry::FixedSource;
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
    /// Creates a builder with these settings.
    #[must_use]
    pub fn builder(settings: Settings) -> Builder {
        let (engine, host, sources) = (Engine::builder(), HostPolicy::default(), Vec::new());
        Builder { settings, engine, host, sources, stores: None, library: None, environment: None }
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

    /// Adds a gate: your own part of policy. It votes together with permissions, rules and the
    /// preset, and can only make a decision stricter.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use serde_json::json;
    /// use toolcrib_app::{ErrorType, Gate, GateInput, Origin, Settings, Toolcrib, ToolError, Vote};
    ///
    /// struct NoNotes;
    ///
    /// impl Gate for NoNotes {
    ///     fn name(&self) -> &'static str {
    ///         "no notes"
    ///     }
    ///
    ///     fn evaluate(&self, call: &GateInput<'_>) -> Result<Vote, String> {
    ///         if call.args["path"] != "notes.md" {
    ///             return Ok(Vote::Abstain);
    ///         }
    ///         let error = ToolError::new(ErrorType::PolicyDenied, "The notes are private.");
    ///         Ok(Vote::Deny { error, rule: None })
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let home = tempfile::tempdir()?;
    /// # let (workspace, state) = (home.path().join("workspace"), home.path().join("state"));
    /// # std::fs::create_dir(&workspace)?;
    /// let settings = Settings::new(&workspace, &state);
    /// let toolcrib = Toolcrib::builder(settings).gate(Arc::new(NoNotes)).build().await?;
    /// let args = json!({"path": "notes.md"}).into();
    /// let answer = toolcrib.call("read_file", args, Origin::Cli).await.ok_or("no answer")?;
    /// let outcome = answer.outcome().ok_or("it waits for approval")?;
    /// assert!(outcome.to_text().contains("The notes are private."));
    /// # Ok(())
    /// # }
    /// ```
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

    /// Adds values that are masked everywhere, such as provider keys.
    #[must_use]
    pub fn secrets(mut self, secrets: Vec<String>) -> Self {
        self.host.secrets = secrets;
        self
    }

    /// Sets opaque data that another process needs to continue a call that waits for a person;
    /// stored with each question.
    #[must_use]
    pub fn run_setup(mut self, setup: serde_json::Value) -> Self {
        self.engine = self.engine.setup(setup);
        self
    }

    /// Sets the identity of workspace, policy and tools: a stored call runs only in the environment
    /// in which it was requested. By default, the workspace folders are the identity.
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

    /// Adds a source of tools besides the built-in ones.
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

    /// Builds the Toolcrib. The order of the steps is part of its contract; each comment gives the
    /// reason.
    ///
    /// # Errors
    /// [`SetupError`] if a root, a network entry or a source cannot be used.
    pub async fn build(mut self) -> Result<Toolcrib, SetupError> {
        // This step is first, because every later step reads the settings: vault values become
        // configuration values, and the list of secrets must be complete before the policy starts
        // to mask them.
        let secrets = vault_secrets::inject_secrets(&mut self.settings)?;
        // The engine is built on the stores.
        let stores = match self.stores {
            Some(stores) => stores,
            None => Stores::open(self.settings.database.as_deref())?,
        };
        // Observers are fixed once the engine is built, but hooks are not: the engine gets a relay
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
        // and before any other part gets a store: none of them can then write unsealed text.
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
        let secrets = engine.sealing().secrets.clone();
        let is_secret: SecretCheck = Arc::new(move |text: &str| secrets.occurs_in(text));
        let notifier = notifier(&self.settings, &stores, &is_secret)?;
        if self.settings.links_to_clients {
            let labels = engine.labels_of_runs();
            let links = LinkNotifications { notifier: notifier.clone(), labels };
            builtins = builtins.with_link_clients(Arc::new(links));
        }
        let files = Arc::new(DocumentFiles(builtins.document_text()));
        let labels = engine.labels_of_runs();
        let assistant =
            assistant_tools(&self.settings, &stores, notifier, files, &is_secret, labels)?;
        builtins = builtins.with_stored_documents(Arc::new(ReadableDocuments {
            documents: assistant.documents.clone(),
            catalog: Arc::downgrade(&engine.shared_catalog()),
        }));
        engine.catalog().attach(&builtins.source()).await.map_err(SetupError::Source)?;
        let accounts = channel_accounts(&self.settings, &engine)?;
        let sms = sms(&self.settings, &stores, &engine)?;
        let carriers: Vec<Arc<dyn Carrier>> = vec![
            Arc::new(ChatCarrier::new(accounts.clone())),
            Arc::new(SmsCarrier::new(sms.phones.clone())),
        ];
        let mail = mail_tools(&self.settings, &stores, &assistant, (is_secret, carriers), &engine)?;
        let sms = sms_tools(sms, &mail.drafts, &assistant);
        let channels = channel_tools(accounts, &mail.drafts, &assistant);
        // Earlier versions kept promoted memories apart from the person's text. A store that cannot
        // be read now is read at the next start.
        move_former_instructions(&assistant.memories, &assistant.custom_instructions).await.ok();
        let heartbeats = Heartbeats::new(
            assistant.tasks.clone(),
            assistant.memories.clone(),
            &stores.assistant_rows,
            self.settings.heartbeat.clone(),
        );
        engine.catalog().attach(&assistant.source()).await.map_err(SetupError::Source)?;
        engine.catalog().attach(&mail.source()).await.map_err(SetupError::Source)?;
        engine.catalog().attach(&channels.source()).await.map_err(SetupError::Source)?;
        engine.catalog().attach(&sms.source()).await.map_err(SetupError::Source)?;
        // Discovery precedes code execution, because scripts search for tools with it. The index is
        // built at the first search, over all tools that are attached by then.
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
        // The embedder's sources follow the built-in ones, whose names they cannot take.
        for source in &self.sources {
            engine.catalog().attach(&**source).await.map_err(SetupError::Source)?;
        }
        // MCP servers share the engine's list of secrets: tokens that they obtain later are masked
        // everywhere. Their tools have remote names and follow all local sources.
        let secrets = engine.sealing().secrets.clone();
        let mcp = mcp_servers(&self.settings, workbench.clone(), &stores, secrets)?;
        mcp.attach(&engine.shared_catalog()).await;
        // The tools of apps have remote names, too. A store that cannot be read leaves them out;
        // the loop of a daemon attaches them later.
        let apps = paired_apps(&self.settings, &stores, &engine)?;
        apps.refresh(engine.catalog()).await.ok();
        // Tool folders come last, so that no external tool can take the name of another tool.
        let folders = ToolFolders::new(&self.settings, scripts);
        folders.load_first(engine.catalog()).await.map_err(SetupError::Source)?;
        // This step needs all tools: matchers of hooks may use any alias.
        hooks.learn_aliases(&engine);
        let toolcrib = Toolcrib {
            engine,
            workspace,
            workbench,
            shells,
            kernels,
            stores,
            assistant,
            mail,
            channels,
            sms,
            apps,
            heartbeats,
            library: self.library,
            mcp,
            kill_switch,
            folders: Arc::new(folders),
            hooks: relay,
            discovery,
            host: Arc::new(self.host),
            settings: Arc::new(RwLock::new(Arc::new(self.settings))),
        };
        // This step precedes the return of the value: its first call must already obey the stored
        // switches.
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
        client_for: client_for_servers(settings),
        vault: settings.vault.clone(),
        secrets,
        facts: Arc::clone(&stores.facts),
        logs: settings.state.join("mcp"),
        client_channel: desk.clone(),
        servers: OnceLock::new(),
    });
    let of_servers: Arc<dyn toolcrib_mcp::client::ClientHost> = Arc::clone(&host) as _;
    let servers = Arc::new(McpServers::new(desk, of_servers, &settings.mcp_servers));
    let _ = host.servers.set(Arc::downgrade(&servers));
    Ok(servers)
}
