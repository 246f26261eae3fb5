//! The check of executed files around a program, off the async threads.

use std::path::PathBuf;

use crate::executed_files::{self, ExecutedFileWatch};

/// The executed files that a program could change.
#[derive(Debug)]
pub(crate) struct ExecutedFiles(Option<ExecutedFileWatch>);

impl ExecutedFiles {
    /// For a program that cannot change the workspace, or may do what the person may.
    pub(crate) fn unwatched() -> Self {
        Self(None)
    }

    /// For a program that starts now and may write in these folders, except in `read_only`.
    pub(super) async fn watch(folders: Vec<PathBuf>, read_only: Vec<PathBuf>) -> Self {
        let real = |paths: Vec<PathBuf>| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
        };
        let begin = move || ExecutedFileWatch::begin(real(folders), real(read_only));
        Self(tokio::task::spawn_blocking(begin).await.ok())
    }

    /// The same for another program that starts now.
    pub(crate) async fn begin_again(&mut self) {
        self.with(|watch| watch.begin_again()).await;
    }

    /// What the program left, which has ended; as sentences for the model.
    pub(crate) async fn check(&mut self) -> Option<String> {
        self.with(|watch| executed_files::note(&watch.check())).await.flatten()
    }

    async fn with<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut ExecutedFileWatch) -> T + Send + 'static,
    ) -> Option<T> {
        let mut watch = self.0.take()?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&mut watch);
            (watch, done)
        });
        let (watch, done) = done.await.ok()?;
        self.0 = Some(watch);
        Some(done)
    }
}
