//! Built-in tools: time, files, HTTP, shell, git, code intelligence, artifacts, introspection; and
//! [`external_tools`], the tools that users write themselves.
//!
//! [`Builtins`] gets the resources that the tools may use (a [`fs::Workspace`], an HTTP client, an
//! artifact store, [`IntrospectionStores`], a [`program_runner::ProgramRunner`]) and builds one
//! source of them; tools whose resources are missing are left out. `tool` has one file per tool.
//!
//! Invariants
//! - A file tool never leaves its roots: every step of a path is one confined open of one name in
//!   an open folder, and the text of a link is walked the same way. All paths outside give the same
//!   error, whether the target exists or not.
//! - No file tool can reach Toolcrib's own state, even inside a root; it is protected by device and
//!   inode and by name.
//! - Only regular files are opened for reading or writing; a FIFO, socket or device is refused
//!   before it is opened.
//! - A change is recorded durably in the undo journal before it is made; a failed change leaves no
//!   entry and no partial result.
//! - Changes of one workspace are serialized, across processes too, so concurrent edits are all
//!   applied or refused.
//!
//! Out of scope: the engine, stores and providers; programs other than external tools and those of
//! the program runner; any path or address that the caller did not provide.

mod content_search;
pub mod document;
pub mod executed_files;
pub mod external_tools;
pub mod fs;
mod git;
mod html_to_markdown;
mod http_fetch;
pub mod image_type;
mod introspection;
mod lsp;
pub mod patch;
pub mod program_runner;
mod reading;
mod ruff;
pub mod shell;
pub mod terminal;
mod test_frameworks;
mod text_decoding;
mod tool;
pub mod web;

#[cfg(test)]
mod service_server;
#[cfg(test)]
mod test_support;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_core::entry::FixedSource;
use toolcrib_core::{ArtifactStore, Clock, Entry, Handler, SystemClock, ToolSpec, TypedHandler};
use toolcrib_net::HttpClient;

use document::Documents;
use fs::Workspace;
pub use introspection::{IntrospectionStores, RunUsageLookup};
use program_runner::ProgramRunner;
pub use reading::{DocumentPart, DocumentText, StoredDocuments};
use shell::Shells;
pub use tool::open_file::Opener;
use tool::open_url::LinkSurface;
pub use tool::open_url::ShowLink;
use web::WebSettings;
use web::docs::{DevDocs, InstalledDocs};
use web::feed::FeedReader;
use web::gdelt::Gdelt;
use web::location::Locator;
use web::search::SearchChain;
use web::weather::WeatherStation;

/// Id of the source of the built-in tools.
pub const SOURCE: &str = "builtin";

/// Builder of the built-in tools.
#[derive(Clone)]
pub struct Builtins {
    clock: Arc<dyn Clock>,
    workspace: Option<Arc<Workspace>>,
    client: Option<HttpClient>,
    artifacts: Option<Arc<dyn ArtifactStore>>,
    records: Option<IntrospectionStores>,
    document_worker: Option<PathBuf>,
    workbench: Option<Arc<ProgramRunner>>,
    shells: Option<Arc<Shells>>,
    opener: Option<Opener>,
    clients: Option<Arc<dyn ShowLink>>,
    stored_documents: Option<Arc<dyn StoredDocuments>>,
    web: WebSettings,
    locale: Option<String>,
}

impl Default for Builtins {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            workspace: None,
            client: None,
            artifacts: None,
            records: None,
            document_worker: None,
            workbench: None,
            shells: None,
            opener: None,
            clients: None,
            stored_documents: None,
            web: WebSettings::default(),
            locale: None,
        }
    }
}

impl fmt::Debug for Builtins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builtins")
            .field("workspace", &self.workspace)
            .field("client", &self.client)
            .field("artifacts", &self.artifacts.is_some())
            .field("records", &self.records.is_some())
            .field("document_worker", &self.document_worker)
            .field("workbench", &self.workbench)
            .finish_non_exhaustive()
    }
}

impl Builtins {
    /// Creates a builder with only the tools that need no resources: the time.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Adds the file tools on this workspace.
    #[must_use]
    pub fn with_workspace(mut self, workspace: Arc<Workspace>) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// Adds the HTTP tools on this client, which determines the address policy and the resolver.
    #[must_use]
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.client = Some(client);
        self
    }

    /// Adds `read_artifact` on this store.
    #[must_use]
    pub fn with_artifacts(mut self, artifacts: Arc<dyn ArtifactStore>) -> Self {
        self.artifacts = Some(artifacts);
        self
    }

    /// Adds the introspection tools, `review_tool_calls` and `introspect`.
    #[must_use]
    pub fn with_introspection(mut self, records: IntrospectionStores) -> Self {
        self.records = Some(records);
        self
    }

    /// Adds the tools that run programs. The shell tools also need [`Self::with_shells`].
    #[must_use]
    pub fn with_program_runner(mut self, workbench: Arc<ProgramRunner>) -> Self {
        self.workbench = Some(workbench);
        self
    }

    /// Adds `pdf_read`, which also needs the workspace and the program runner. `program` is this
    /// executable; its `main` must call [`document::worker_entry`] first.
    #[must_use]
    pub fn with_document_worker(mut self, program: impl Into<PathBuf>) -> Self {
        self.document_worker = Some(program.into());
        self
    }

    /// Adds `execute_shell_command` and `manage_process` on these shells.
    #[must_use]
    pub fn with_shells(mut self, shells: Arc<Shells>) -> Self {
        self.shells = Some(shells);
        self
    }

    /// Adds `open_file`, which opens files of the program runner's folders with this program, and
    /// with [`Self::with_client`] `open_url`.
    #[must_use]
    pub fn with_opener(mut self, opener: Opener) -> Self {
        self.opener = Some(opener);
        self
    }

    /// Lets `read` read documents that people have added.
    #[must_use]
    pub fn with_stored_documents(mut self, documents: Arc<dyn StoredDocuments>) -> Self {
        self.stored_documents = Some(documents);
        self
    }

    /// Makes `open_url` show links on the pages and clients of a daemon instead of the desktop.
    #[must_use]
    pub fn with_link_clients(mut self, clients: Arc<dyn ShowLink>) -> Self {
        self.clients = Some(clients);
        self
    }

    /// Sets the services of the web tools, which also need [`Self::with_client`], and the locale
    /// of the person, such as `de-AT`.
    #[must_use]
    pub fn with_web(mut self, web: WebSettings, locale: Option<&str>) -> Self {
        self.web = web;
        self.locale = locale.map(str::to_owned);
        self
    }

    /// Returns the tools in declaration order.
    #[must_use]
    pub fn handlers(&self) -> Vec<Arc<dyn Handler>> {
        use tool::*;
        let clock = Arc::clone(&self.clock);
        let now = Arc::clone(&clock);
        let mut handlers = vec![TypedHandler::handler(get_current_time::GetCurrentTime { clock })];
        if let Some(workspace) = &self.workspace {
            let ws = || Arc::clone(workspace);
            let git = self.git(workspace);
            handlers.extend([
                TypedHandler::handler(read_file::ReadFile { workspace: ws() }),
                TypedHandler::handler(write_file::WriteFile { workspace: ws() }),
                TypedHandler::handler(edit_file::EditFile { workspace: ws() }),
                TypedHandler::handler(diff_editor::DiffEditor {
                    workspace: ws(),
                    git: git.clone(),
                }),
                TypedHandler::handler(list_dir::ListDir { workspace: ws() }),
                TypedHandler::handler(file_info::FileInfo { workspace: ws() }),
                TypedHandler::handler(make_dir::MakeDir { workspace: ws() }),
                TypedHandler::handler(copy_path::CopyPath { workspace: ws() }),
                TypedHandler::handler(move_path::MovePath { workspace: ws() }),
                TypedHandler::handler(delete_file::DeleteFile { workspace: ws() }),
                TypedHandler::handler(find_files::FindFiles { workspace: ws() }),
                TypedHandler::handler(code_search::CodeSearch { workspace: ws() }),
            ]);
            if let (Some(git), Some(workbench)) = (git, &self.workbench) {
                let bench = || Arc::clone(workbench);
                handlers.extend([
                    TypedHandler::handler(git_manager::GitManager { git }),
                    TypedHandler::handler(test_runner::TestRunner {
                        workspace: ws(),
                        workbench: bench(),
                    }),
                ]);
            }
        }
        let documents = self.documents();
        if let (Some(workspace), Some(documents)) = (&self.workspace, documents.clone()) {
            let workspace = Arc::clone(workspace);
            handlers.push(TypedHandler::handler(pdf_read::PdfRead { workspace, documents }));
        }
        if let (Some(workspace), Some(workbench)) = (&self.workspace, &self.workbench) {
            let servers = lsp::Servers::new(Arc::clone(workbench));
            let workspace = Arc::clone(workspace);
            handlers.push(TypedHandler::handler(lsp_manager::LspManager { workspace, servers }));
        }
        if let Some(client) = &self.client {
            let client = || client.clone();
            handlers.extend([
                TypedHandler::handler(http_request::HttpRequest { client: client() }),
                TypedHandler::handler(fetch_url::FetchUrl { client: client() }),
            ]);
            let chain = Arc::new(SearchChain::new(&client(), &self.web.search));
            let locator = Arc::new(Locator::new(&client(), &self.web.location));
            let station = Arc::new(WeatherStation::new(
                &client(),
                &self.web.weather,
                self.locale.as_deref(),
                Arc::clone(&locator),
            ));
            handlers.extend([
                TypedHandler::handler(docs_search::DocsSearch {
                    chain: Arc::clone(&chain),
                    dev_docs: DevDocs::new(&client(), self.web.docs.as_deref()),
                    installed: self.web.docs_folder.clone().map(InstalledDocs::new).map(Arc::new),
                }),
                TypedHandler::handler(news::News {
                    gdelt: Gdelt::new(&client(), self.web.news.as_deref()),
                    feeds: FeedReader::new(client()),
                }),
                TypedHandler::handler(web_search::WebSearch { chain }),
                TypedHandler::handler(get_weather::GetWeather { station }),
                TypedHandler::handler(get_location_from_ip::GetLocationFromIp { locator }),
            ]);
        }
        if let Some(client) = &self.client {
            handlers.push(TypedHandler::handler(open_url::OpenUrl {
                surface: self.link_surface(),
                opener: self.opener.clone(),
                workspace: self.workspace.clone(),
                client: client.clone(),
            }));
        }
        if self.workspace.is_some() || self.client.is_some() {
            let (workspace, client) = (self.workspace.clone(), self.client.clone());
            let stored = self.stored_documents.clone();
            let read = read::Read { workspace, client, documents, stored };
            handlers.push(TypedHandler::handler(read));
        }
        if let Some(shells) = &self.shells {
            let shells = || Arc::clone(shells);
            handlers.extend([
                TypedHandler::handler(execute_shell_command::ExecuteShellCommand {
                    shells: shells(),
                }),
                TypedHandler::handler(manage_process::ManageProcess { shells: shells() }),
            ]);
        }
        if let Some(bench) = &self.workbench {
            let bench = || Arc::clone(bench);
            handlers.push(TypedHandler::handler(ssh_configure_host::SshConfigureHost {
                bench: bench(),
            }));
            let opener = self.opener.iter().cloned();
            let open = opener.map(|opener| open_file::OpenFile { bench: bench(), opener });
            handlers.extend(open.map(TypedHandler::handler));
        }
        if let Some(store) = &self.artifacts {
            let store = Arc::clone(store);
            handlers.push(TypedHandler::handler(read_artifact::ReadArtifact { store }));
        }
        if let Some(records) = &self.records {
            let records = || records.clone();
            handlers.extend([
                TypedHandler::handler(review_tool_calls::ReviewToolCalls { records: records() }),
                TypedHandler::handler(introspect::Introspect { records: records(), clock: now }),
            ]);
        }
        handlers
    }

    /// Returns where links are opened.
    fn link_surface(&self) -> LinkSurface {
        let clients = self.clients.clone().map(LinkSurface::Clients);
        let desktop = || self.opener.clone().map(LinkSurface::Desktop);
        clients.or_else(desktop).unwrap_or(LinkSurface::Result)
    }

    /// Returns the reader for the text of documents that people add.
    #[must_use]
    pub fn document_text(&self) -> document::DocumentText {
        document::DocumentText { workspace: self.workspace.clone(), documents: self.documents() }
    }

    /// Returns the reader of documents, if programs can be run.
    fn documents(&self) -> Option<Documents> {
        let (workbench, program) = (self.workbench.as_ref()?, self.document_worker.as_ref()?);
        Some(Documents::new(Arc::clone(workbench), program))
    }

    /// Returns git for a workspace, if programs can be run.
    fn git(&self, workspace: &Arc<Workspace>) -> Option<git::Git> {
        let workbench = Arc::clone(self.workbench.as_ref()?);
        Some(git::Git { workspace: Arc::clone(workspace), workbench })
    }

    /// Returns the tools as a source for the registry.
    #[must_use]
    pub fn source(&self) -> FixedSource {
        FixedSource::new(SOURCE, self.handlers().into_iter().map(Entry::Local).collect())
    }
}

/// Returns the definitions of all built-in tools in order, for documentation; needs no resources.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    use tool::*;
    vec![
        get_current_time::spec(),
        read_file::spec(),
        write_file::spec(),
        edit_file::spec(),
        diff_editor::spec(),
        list_dir::spec(),
        file_info::spec(),
        make_dir::spec(),
        copy_path::spec(),
        move_path::spec(),
        delete_file::spec(),
        find_files::spec(),
        code_search::spec(),
        git_manager::spec(),
        test_runner::spec(),
        pdf_read::spec(),
        lsp_manager::spec(),
        http_request::spec(),
        fetch_url::spec(),
        docs_search::spec(),
        news::spec(),
        web_search::spec(true),
        get_weather::spec(),
        get_location_from_ip::spec(),
        open_url::spec(),
        read::spec(),
        execute_shell_command::spec(),
        manage_process::spec(),
        ssh_configure_host::spec(),
        open_file::spec(),
        read_artifact::spec(),
        review_tool_calls::spec(),
        introspect::spec(),
    ]
}

#[cfg(test)]
mod tests;
