//! Toolcrib: the facade value that owns engine, stores and tool sources.

mod assistant_tools;
mod builder;
mod channel_tools;
mod from_settings;
mod host_policy;
mod mail_tools;
mod paired_apps;
mod search_tools;
mod sms_tools;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use toolcrib_agent::library::LibraryHandle;
use toolcrib_assistant::AssistantTools;
use toolcrib_assistant::heartbeat::Heartbeats;
use toolcrib_builtins::fs::{Journal, JournalError, Roots, UndoReport, Workspace};
use toolcrib_builtins::program_runner::ProgramRunner;
use toolcrib_builtins::shell::Shells;
use toolcrib_channels::ChannelTools;
use toolcrib_code_mode::KernelPool;
use toolcrib_core::{
    Answer, ApprovalStore, Batch, Call, CallId, Catalog, Clock as _, Context,
    ConversationAndRunStore, ConversationId, Decision, DecisionRecord, Entry, Invoker as _,
    KeyValueStore, Origin, RawArgs, RunId, StoreError, SystemClock, ToolInfo, ToolSpec,
    ViewRequest,
};
use toolcrib_devices::Apps;
use toolcrib_engine::rules::RuleSet;
use toolcrib_engine::{Engine, Preset};
use toolcrib_mail::MailTools;
use toolcrib_providers::{self as providers, Declarations, Format, Options};
use toolcrib_sms::SmsTools;

use crate::hooks::HookRelay;
use crate::kill_switch_file::KillSwitchFile;
use crate::mcp::McpServers;
use crate::settings::Settings;
use crate::stores::Stores;
use crate::tool_folders::{ToolFolderReload, ToolFolders, broken_files};
use crate::tool_search::ToolSearcher;

pub use builder::Builder;
pub(crate) use from_settings::{http_client, roots};
pub(crate) use host_policy::HostPolicy;

/// Id of the source of the tools that only the agent loop runs: `ask_user`, `load_skill` and the
/// like.
pub const AGENT_SOURCE: &str = "agent";

/// Name in records for the decision on questions of a deleted conversation.
const CLOSED_BY: &str = "removed";

/// A working Toolcrib: engine, tools and stores. Clones share their state.
#[derive(Clone)]
pub struct Toolcrib {
    engine: Engine,
    workspace: Option<Arc<Workspace>>,
    workbench: Option<Arc<ProgramRunner>>,
    shells: Option<Arc<Shells>>,
    kernels: Arc<KernelPool>,
    stores: Stores,
    assistant: AssistantTools,
    mail: MailTools,
    channels: ChannelTools,
    sms: SmsTools,
    apps: Apps,
    heartbeats: Heartbeats,
    library: Option<LibraryHandle>,
    kill_switch: KillSwitchFile,
    mcp: Arc<McpServers>,
    pub(crate) folders: Arc<ToolFolders>,
    pub(crate) hooks: Arc<HookRelay>,
    pub(crate) discovery: ToolSearcher,
    pub(crate) host: Arc<HostPolicy>,
    /// The current settings.
    pub(crate) settings: Arc<RwLock<Arc<Settings>>>,
}

impl Toolcrib {
    /// Returns the engine: [`toolcrib_core::Invoker`] and switches.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the registry.
    #[must_use]
    pub fn catalog(&self) -> &dyn Catalog {
        self.engine.catalog()
    }

    /// Returns the rules of all layers in force.
    #[must_use]
    pub fn rules(&self) -> RuleSet {
        self.settings().rules.clone()
    }

    /// Returns the preset in force, which decides if no rule matches.
    #[must_use]
    pub fn preset(&self) -> Preset {
        self.settings().engine.preset
    }

    /// Returns the settings in force; those that need a restart have the values from the start.
    /// They contain values of the vault.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns addresses that the owner allows although they are not public, as `HOST:PORT`.
    #[must_use]
    pub fn allowed_addresses(&self) -> Vec<String> {
        self.settings().allow_net.clone()
    }

    /// Returns the files beside the database in which other processes change the state: the kill
    /// switch, and the accounts of mail and chat channels.
    #[must_use]
    pub fn state_files(&self) -> Vec<PathBuf> {
        let settings = self.settings();
        let accounts = [&settings.mail_accounts, &settings.channel_accounts];
        let accounts = accounts.into_iter().flatten().cloned();
        accounts.chain([self.kill_switch().path.clone()]).collect()
    }

    /// Blocks this local port for all tools, even if it is allowed, because this program listens on
    /// it.
    pub fn deny_port(&self, port: u16) {
        self.settings().own_ports.block(port);
    }

    /// Returns the folder of artifacts, undo journals, the audit key and its anchors; tools cannot
    /// access it.
    #[must_use]
    pub fn state_folder(&self) -> PathBuf {
        self.settings().state.clone()
    }

    /// Returns the workspace folder.
    #[must_use]
    pub fn workspace_folder(&self) -> Option<PathBuf> {
        self.settings().roots.first().and_then(|root| root.canonicalize().ok())
    }

    /// Returns the vault, if there is one.
    #[must_use]
    pub fn vault(&self) -> Option<toolcrib_store::vault::Vault> {
        self.settings().vault.clone()
    }

    /// Returns the program runner of tools; `None` if tools run no programs.
    #[must_use]
    pub fn workbench(&self) -> Option<&Arc<ProgramRunner>> {
        self.workbench.as_ref()
    }

    /// Returns the configured MCP servers.
    #[must_use]
    pub fn mcp(&self) -> &Arc<McpServers> {
        &self.mcp
    }

    /// Returns the kill switch of the state folder. While it is engaged, no tool runs;
    /// [`stop_calls`](Self::stop_calls) cancels running calls.
    #[must_use]
    pub fn kill_switch(&self) -> &KillSwitchFile {
        &self.kill_switch
    }

    /// Reads the stored switches, which other processes may have changed, and applies them. Running
    /// calls obey them at their next stage. Returns whether anything changed; if not, this costs
    /// one query.
    ///
    /// # Errors
    /// The error of the store; nothing is changed in that case.
    pub async fn refresh_switches(&self) -> Result<bool, StoreError> {
        let changed = self.engine.refresh_switches().await?;
        // Also applies if the engine has read the switches itself, before a call.
        if let Some(library) = &self.library {
            library.set_skills_off(self.engine.skills_off());
        }
        Ok(changed)
    }

    /// Ends the processes of a conversation: its shell, and its background processes.
    pub fn end_conversation(&self, owner: &str, conversation: &str) {
        if let Some(shells) = &self.shells {
            shells.end(owner, conversation);
        }
    }

    /// Deletes a conversation of this owner with its messages and runs, so that it can be restored,
    /// and ends its processes. Its calls stay in the history and in the audit.
    ///
    /// # Errors
    /// As [`trash_conversation`](toolcrib_core::ConversationStore::trash_conversation) of the
    /// store; then nothing is changed.
    pub async fn trash_conversation(
        &self,
        owner: &str,
        id: ConversationId,
    ) -> Result<(), StoreError> {
        self.stores().runs.trash_conversation(owner, id, SystemClock.now_ms()).await?;
        self.close_conversation(owner, id).await;
        Ok(())
    }

    /// Deletes a conversation for good, as [`trash_conversation`](Self::trash_conversation) does
    /// otherwise.
    ///
    /// # Errors
    /// The errors of
    /// [`delete_conversation`](toolcrib_core::ConversationStore::delete_conversation); nothing is
    /// changed in that case.
    pub async fn delete_conversation(
        &self,
        owner: &str,
        id: ConversationId,
    ) -> Result<(), StoreError> {
        self.stores().runs.delete_conversation(owner, id).await?;
        self.close_conversation(owner, id).await;
        Ok(())
    }

    /// Ends the processes and questions of a deleted conversation.
    async fn close_conversation(&self, owner: &str, id: ConversationId) {
        self.end_conversation(owner, &id.to_string());
        self.deny_pending_approvals(owner, &id.to_string()).await;
    }

    /// Denies the pending questions of a deleted conversation: their runs no longer exist, and an
    /// approved call would run alone. A question that cannot be closed stays open.
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
                // An earlier decision wins, and its process continues the call.
                let _ = approvals.decide(request.id, closed).await;
            }
        }
    }

    /// Releases the resources of a run after its end: the variables of its code.
    pub fn end_run(&self, run: RunId) {
        self.kernels.end(run);
    }

    /// Cancels running calls and kills their programs, shells, background processes and servers, if
    /// the kill switch is engaged, by its file or in the store, and running calls may not finish.
    /// Returns the cancelled calls; [`toolcrib_sandbox::wait_for_dropped`] waits for the programs.
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
                // Processes that are merely ended get time to exit. Calls are cancelled first, so
                // that none of them ends with the error of a crashed program.
                if let Some(workbench) = &self.workbench {
                    workbench.kill_started();
                }
                stopped
            }
        }
    }

    /// Returns all tools, enabled or not.
    #[must_use]
    pub fn infos(&self) -> Vec<ToolInfo> {
        self.catalog().infos()
    }

    /// Returns whether a tool is a program in a folder of tools, which runs without isolation.
    #[must_use]
    pub fn is_unisolated(&self, tool: &str) -> bool {
        let infos = self.infos();
        let source =
            infos.iter().find(|info| info.id.as_str() == tool).map(|info| info.source.as_str());
        self.settings().tool_folders.iter().any(|folder| source == Some(folder.id.as_str()))
    }

    /// Returns the definition of a tool, enabled or not.
    #[must_use]
    pub fn spec(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.engine.spec(name)
    }

    /// Returns the entry of a tool, enabled or not.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<Entry> {
        self.engine.entry(name)
    }

    /// Returns the tool declarations of a view for a provider's request.
    #[must_use]
    pub fn declare(&self, format: Format, view: &Arc<ViewRequest>, strict: bool) -> Declarations {
        let view = self.catalog().view(view);
        providers::declare(format, &view.tools, &Options { strict, ..Options::default() })
    }

    /// Returns the store of conversations and runs.
    #[must_use]
    pub fn runs(&self) -> &Arc<dyn ConversationAndRunStore> {
        &self.stores.runs
    }

    /// Returns the store of approvals and questions.
    #[must_use]
    pub fn approvals(&self) -> &Arc<dyn ApprovalStore> {
        &self.stores.approvals
    }

    /// Returns all stores.
    #[must_use]
    pub fn stores(&self) -> &Stores {
        &self.stores
    }

    /// Returns the key-value store.
    #[must_use]
    pub fn facts(&self) -> &Arc<dyn KeyValueStore> {
        &self.stores.facts
    }

    /// Returns the library that `load_skill` reads; `None` if this was not built for agents.
    pub(crate) fn library(&self) -> Option<&LibraryHandle> {
        self.library.as_ref()
    }

    /// Returns the tools of the tool folders that failed to load, each with the reason.
    #[must_use]
    pub fn broken_tools(&self) -> Vec<String> {
        broken_files(&self.folders, self.engine.catalog())
    }

    /// Returns a check that reloads changed tool folders during a run.
    pub(crate) fn reload(&self) -> Arc<dyn toolcrib_agent::driver::ToolRefresh> {
        let (folders, catalog) = (Arc::clone(&self.folders), self.engine.shared_catalog());
        Arc::new(ToolFolderReload { folders, catalog })
    }

    /// Returns the entries of the undo journal, newest first; empty without a workspace.
    ///
    /// # Errors
    /// [`JournalError`] if the journal cannot be read.
    pub fn changes(&self) -> Result<Vec<toolcrib_builtins::fs::JournalEntry>, JournalError> {
        self.workspace.as_ref().and_then(|w| w.journal()).map_or(Ok(Vec::new()), Journal::list)
    }

    /// Returns the tools that a model on this device may get, as entries of tool lists.
    #[must_use]
    pub fn on_device_tools(&self) -> Vec<String> {
        self.settings().discovery.on_device_tools()
    }

    /// Returns the roots and the undo journal of the workspace; `None` without a workspace.
    #[must_use]
    pub fn journal(&self) -> Option<(&Roots, &Journal)> {
        let workspace = self.workspace.as_ref()?;
        Some((workspace.roots(), workspace.journal()?))
    }

    /// Undoes the changes of the undo journal with these numbers, newest first. `force` overwrites
    /// later changes.
    ///
    /// # Errors
    /// [`JournalError`] if one of them is not in the journal, or it cannot be read or written. A
    /// refusal is part of the report.
    pub fn undo(&self, ids: &[u64], force: bool) -> Result<UndoReport, JournalError> {
        let Some((roots, journal)) = self.journal() else { return Ok(UndoReport::default()) };
        journal.undo(roots, ids, force)
    }

    /// Redoes the undone changes with these numbers, the last undone first. `force` overwrites
    /// later changes.
    ///
    /// # Errors
    /// The errors of [`Toolcrib::undo`].
    pub fn redo(&self, ids: &[u64], force: bool) -> Result<UndoReport, JournalError> {
        let Some((roots, journal)) = self.journal() else { return Ok(UndoReport::default()) };
        journal.redo(roots, ids, force)
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

    /// Builds a batch of manual calls, outside a run, in the workspace.
    #[must_use]
    pub fn manual_batch(&self, calls: Vec<Call>, origin: Origin) -> Batch {
        Batch { context: self.with_workspace(Arc::default()), ..Batch::new(origin, calls) }
    }

    /// Adds the workspace to a context, because rules and permissions may depend on it.
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
