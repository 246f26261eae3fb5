//! The tools that ship with Toolcrib and have no crate of their own: time, files, HTTP, stored results, looking back; and [`folder`], the tools that
//! people write themselves.
//!
//! [`Builtins`] is given what the tools may use (a [`fs::Workspace`], an HTTP client, an artifact store, [`Records`], a [`workbench::Workbench`]) and makes one
//! source of them; a tool whose means are missing is not in it. One tool per file in `tool`.
//!
//! Invariants
//! - A file tool never leaves its roots: every step of a path is one confined open of one name in a folder that is already open,
//!   and a link's text is walked the same way. Outside is one error, whether the target exists or not.
//! - Toolcrib's own state is out of reach of every file tool, by identity and by name, even inside a root.
//! - Nothing but a plain file is ever opened for reading or writing; a FIFO, socket or device is refused without being opened.
//! - A change is recorded durably in the undo journal before it is made; a change that fails leaves no entry and no part of it.
//! - Changes of one workspace are made one at a time, between processes too, so concurrent edits are all applied or refused.
//!
//! Absent on purpose: the engine, stores, providers, shells, programs but those of folder tools and of the workbench; any path or address that the caller did not give.

pub mod folder;
pub mod fs;
mod html;
mod records;
mod text;
mod tool;
mod web;
pub mod workbench;

#[cfg(test)]
mod testing;

use std::fmt;
use std::sync::Arc;

use toolcrib_core::entry::FixedSource;
use toolcrib_core::{ArtifactStore, Clock, Entry, Handler, SystemClock, ToolSpec, Typed};
use toolcrib_net::HttpClient;

use fs::Workspace;
use workbench::Workbench;
pub use records::{Records, UsageOfRun};

/// Id of the source of the built-in tools.
pub const SOURCE: &str = "builtin";

/// What the built-in tools may use.
#[derive(Clone)]
pub struct Builtins {
    clock: Arc<dyn Clock>,
    workspace: Option<Arc<Workspace>>,
    client: Option<HttpClient>,
    artifacts: Option<Arc<dyn ArtifactStore>>,
    records: Option<Records>,
    workbench: Option<Arc<Workbench>>,
}

impl Default for Builtins {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            workspace: None,
            client: None,
            artifacts: None,
            records: None,
            workbench: None,
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
            .field("workbench", &self.workbench)
            .finish_non_exhaustive()
    }
}

impl Builtins {
    /// Only what needs nothing: the time.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same telling time by another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The same with the file tools on this workspace.
    #[must_use]
    pub fn with_workspace(mut self, workspace: Arc<Workspace>) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// The same with the HTTP tools over this client, which brings the address policy and the resolver.
    #[must_use]
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.client = Some(client);
        self
    }

    /// The same with `read_artifact` on this store.
    #[must_use]
    pub fn with_artifacts(mut self, artifacts: Arc<dyn ArtifactStore>) -> Self {
        self.artifacts = Some(artifacts);
        self
    }

    /// The same with the tools that look back, `review_tool_calls` and `introspect`, on these records.
    #[must_use]
    pub fn with_records(mut self, records: Records) -> Self {
        self.records = Some(records);
        self
    }

    /// The same with the tools that run programs, on this bench.
    #[must_use]
    pub fn with_workbench(mut self, workbench: Arc<Workbench>) -> Self {
        self.workbench = Some(workbench);
        self
    }

    /// The tools, in the order in which they are declared.
    #[must_use]
    pub fn handlers(&self) -> Vec<Arc<dyn Handler>> {
        use tool::*;
        let clock = Arc::clone(&self.clock);
        let now = Arc::clone(&clock);
        let mut handlers = vec![Typed::handler(get_current_time::GetCurrentTime { clock })];
        if let Some(workspace) = &self.workspace {
            let ws = || Arc::clone(workspace);
            handlers.extend([
                Typed::handler(read_file::ReadFile { workspace: ws() }),
                Typed::handler(write_file::WriteFile { workspace: ws() }),
                Typed::handler(edit_file::EditFile { workspace: ws() }),
                Typed::handler(list_dir::ListDir { workspace: ws() }),
                Typed::handler(file_info::FileInfo { workspace: ws() }),
                Typed::handler(make_dir::MakeDir { workspace: ws() }),
                Typed::handler(copy_path::CopyPath { workspace: ws() }),
                Typed::handler(move_path::MovePath { workspace: ws() }),
                Typed::handler(delete_file::DeleteFile { workspace: ws() }),
                Typed::handler(find_files::FindFiles { workspace: ws() }),
            ]);
        }
        if let Some(client) = &self.client {
            let client = || client.clone();
            handlers.extend([
                Typed::handler(http_request::HttpRequest { client: client() }),
                Typed::handler(fetch_url::FetchUrl { client: client() }),
            ]);
        }
        if let Some(store) = &self.artifacts {
            let store = Arc::clone(store);
            handlers.push(Typed::handler(read_artifact::ReadArtifact { store }));
        }
        if let Some(records) = &self.records {
            let records = || records.clone();
            handlers.extend([
                Typed::handler(review_tool_calls::ReviewToolCalls { records: records() }),
                Typed::handler(introspect::Introspect { records: records(), clock: now }),
            ]);
        }
        handlers
    }

    /// The tools as a source for the registry.
    #[must_use]
    pub fn source(&self) -> FixedSource {
        FixedSource::new(SOURCE, self.handlers().into_iter().map(Entry::Local).collect())
    }
}

/// The definitions of all built-in tools, in their order; for documentation, without anything they run on.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    use tool::*;
    vec![
        get_current_time::spec(),
        read_file::spec(),
        write_file::spec(),
        edit_file::spec(),
        list_dir::spec(),
        file_info::spec(),
        make_dir::spec(),
        copy_path::spec(),
        move_path::spec(),
        delete_file::spec(),
        find_files::spec(),
        http_request::spec(),
        fetch_url::spec(),
        read_artifact::spec(),
        review_tool_calls::spec(),
        introspect::spec(),
    ]
}

#[cfg(test)]
mod tests;
