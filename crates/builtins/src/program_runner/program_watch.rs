//! Watches a program's workspace: files that other programs execute later, and changes for the undo
//! journal. The folders are read off the async threads.

use std::path::PathBuf;

use toolcrib_core::CallCtx;

use crate::executed_files::{self, ExecutedFileWatch};
use crate::fs::{ProgramChanges, Workspace};

/// The state of a workspace before a program, for comparing it afterwards.
#[derive(Debug)]
pub struct ProgramWatch {
    /// `None` for a program without a sandbox, which has the rights of the person.
    executed_files: Option<ExecutedFileWatch>,
    /// The workspace of the undo journal; `None` if changes are not recorded.
    workspace: Option<Workspace>,
    /// The workspace before the current call.
    changes: Option<ProgramChanges>,
}

/// The folders that a program may write to, except for paths that are read-only.
#[derive(Debug, Default)]
pub(super) struct WritableFolders {
    pub(super) folders: Vec<PathBuf>,
    pub(super) read_only: Vec<PathBuf>,
}

impl ProgramWatch {
    /// Creates a watch for a program that cannot change the workspace.
    pub(super) fn unwatched() -> Self {
        Self { executed_files: None, workspace: None, changes: None }
    }

    /// Starts a watch for a program that starts now. `writable` are the folders to check for files
    /// that other programs execute. Changes in `workspace` are recorded from [`Self::begin_call`]
    /// on.
    pub(super) async fn begin(
        writable: Option<WritableFolders>,
        workspace: Option<Workspace>,
    ) -> Self {
        let real = |paths: Vec<PathBuf>| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
        };
        let begin = move || {
            let executed_files = writable.map(|WritableFolders { folders, read_only }| {
                ExecutedFileWatch::begin(real(folders), real(read_only))
            });
            Self { executed_files, workspace, changes: None }
        };
        let begun = tokio::task::spawn_blocking(begin).await;
        begun.unwrap_or_else(|_| Self::unwatched())
    }

    /// Starts recording the changes that the program makes for a call.
    pub(crate) async fn begin_call(&mut self, ctx: &CallCtx) {
        let ctx = ctx.clone();
        self.with(move |watch| {
            if let Some(executed_files) = &mut watch.executed_files {
                executed_files.begin_again();
            }
            let workspace = watch.workspace.as_ref().map(|workspace| workspace.for_call(&ctx));
            watch.changes = workspace.as_ref().and_then(ProgramChanges::begin);
        })
        .await;
    }

    /// Checks the files after the program has ended, records its changes under this name, and
    /// returns sentences that the model must read.
    pub async fn end(&mut self, ctx: &CallCtx, program: &str) -> Option<String> {
        let (ctx, program) = (ctx.clone(), program.to_owned());
        self.with(move |watch| {
            let note = watch.check();
            if let (Some(workspace), Some(changes)) = (&watch.workspace, watch.changes.take()) {
                changes.record(&workspace.for_call(&ctx), &program);
            }
            note
        })
        .await
        .flatten()
    }

    /// Checks for files that other programs execute, without recording changes: other calls may
    /// have changed files while a program that outlives its call was running.
    pub(crate) async fn end_in_background(&mut self) -> Option<String> {
        self.with(Self::check).await.flatten()
    }

    fn check(&mut self) -> Option<String> {
        self.executed_files.as_mut().and_then(|watch| executed_files::note(&watch.check()))
    }

    async fn with<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Self) -> T + Send + 'static,
    ) -> Option<T> {
        if self.executed_files.is_none() && self.workspace.is_none() {
            return None;
        }
        let mut watch = std::mem::replace(self, Self::unwatched());
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&mut watch);
            (watch, done)
        });
        let (watch, done) = done.await.ok()?;
        *self = watch;
        Some(done)
    }
}
