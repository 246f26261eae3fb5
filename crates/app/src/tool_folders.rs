//! Folders of tools, loaded again when they change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_agent::drive::Refresh;
use toolcrib_builtins::folder::FolderSource;
use toolcrib_core::{BoxFuture, Catalog, Source as _, Status, ToolError};

use crate::settings::{Settings, ToolFolder};

/// The folders of a Toolcrib.
#[derive(Default)]
pub(crate) struct ToolFolders {
    sources: Vec<FolderSource>,
    /// What each looked like when it was loaded last.
    seen: Mutex<HashMap<String, u64>>,
}

impl ToolFolders {
    /// The folders of these settings, with the values that are configured for their tools.
    pub(crate) fn new(settings: &Settings) -> Self {
        let sources = settings.tool_folders.iter().map(|folder| source(folder, settings));
        Self { sources: sources.collect(), seen: Mutex::default() }
    }

    /// Loads those that changed since the last time; calls in flight finish on the tools they began with.
    pub(crate) async fn load(&self, catalog: &dyn Catalog) -> Result<bool, ToolError> {
        let mut changed = false;
        for source in &self.sources {
            let now = source.fingerprint();
            let before = self.seen().insert(source.id().to_owned(), now);
            if before != Some(now) {
                catalog.attach(source).await?;
                changed = true;
            }
        }
        Ok(changed)
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, HashMap<String, u64>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ours(&self, source: &str) -> bool {
        self.sources.iter().any(|own| own.id() == source)
    }
}

fn source(folder: &ToolFolder, settings: &Settings) -> FolderSource {
    let tools = settings.engine.tools.iter();
    let config = tools.map(|(tool, settings)| (tool.clone(), settings.config.clone())).collect();
    let source = FolderSource::new(folder.id.clone(), &folder.path).with_config(config);
    let source = if folder.of_anybody { source.of_anybody() } else { source };
    match &settings.locale {
        Some(locale) => source.with_locale(locale.as_str()),
        None => source,
    }
}

/// Loads the folders again before each request of a run.
pub(crate) struct Reload {
    pub(crate) folders: Arc<ToolFolders>,
    pub(crate) catalog: Arc<dyn Catalog>,
}

impl Refresh for Reload {
    fn refresh(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async {
            match self.folders.load(&*self.catalog).await {
                Ok(false) => Vec::new(),
                Ok(true) => broken(&self.folders, &*self.catalog),
                Err(error) => vec![error.message],
            }
        })
    }
}

/// The tools of the folders that cannot be used, and why.
fn broken(folders: &ToolFolders, catalog: &dyn Catalog) -> Vec<String> {
    let infos = catalog.infos();
    let own = infos.iter().filter(|info| folders.is_ours(&info.source));
    own.filter_map(|info| match &info.status {
        Status::Error { reason } => Some(format!("tool {}: {reason}", info.id)),
        _ => None,
    })
    .collect()
}
