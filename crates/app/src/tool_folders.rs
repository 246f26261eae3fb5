//! Tool folders: external tools and saved scripts, reloaded when they change.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use toolcrib_agent::driver::ToolRefresh;
use toolcrib_builtins::external_tools::ExternalToolSource;
use toolcrib_code_mode::{SavedChains, Setup};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{BoxFuture, Catalog, Source, Status, ToolError};

use crate::python_settings;
use crate::settings::{Settings, ToolFolder};

/// A source that can detect changes.
trait WatchedSource: Source {
    /// Returns a number that changes when the source may load something else.
    fn fingerprint(&self) -> u64;
    /// Returns whether the fingerprint is cheap enough to compute every second.
    fn is_cheap(&self) -> bool;
}

impl WatchedSource for ExternalToolSource {
    fn fingerprint(&self) -> u64 {
        self.fingerprint()
    }

    fn is_cheap(&self) -> bool {
        false
    }
}

impl WatchedSource for SavedChains {
    fn fingerprint(&self) -> u64 {
        self.fingerprint()
    }

    fn is_cheap(&self) -> bool {
        true
    }
}

/// The tool folders of a Toolcrib.
#[derive(Default)]
pub(crate) struct ToolFolders {
    /// Source ids, which do not change.
    ids: Vec<String>,
    /// Locked while loading, so that an older state never replaces a newer one.
    held: Mutex<LoadedFolder>,
    /// The setup for running scripts; `None` disables them.
    setup: Option<Setup>,
    /// Time of the first load; cleared by the first check afterwards.
    loaded: std::sync::Mutex<Option<Instant>>,
}

#[derive(Default)]
struct LoadedFolder {
    sources: Vec<Box<dyn WatchedSource>>,
    /// Fingerprint of each source when it was last loaded.
    seen: HashMap<String, u64>,
}

/// Time after the first load in which a starting run does not check the folders again: with a
/// thousand tools, the check takes most of the start time.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

impl ToolFolders {
    /// Creates the folders of these settings with the configured values of their tools; `setup`
    /// runs the scripts in them.
    pub(crate) fn new(settings: &Settings, setup: Option<Setup>) -> Self {
        let sources = sources(settings, setup.as_ref());
        let ids = sources.iter().map(|source| source.id().to_owned()).collect();
        let held = LoadedFolder { sources, seen: HashMap::new() };
        Self { ids, held: Mutex::new(held), setup, ..Self::default() }
    }

    /// Applies new settings to the same folders: reads all of them, then calls `change`, then
    /// attaches their tools.
    ///
    /// # Errors
    /// A folder that cannot be read; nothing is changed in that case, and `change` is not called.
    pub(crate) async fn reconfigure(
        &self,
        settings: &Settings,
        catalog: &dyn Catalog,
        change: impl FnOnce(),
    ) -> Result<(), ToolError> {
        let mut held = self.held.lock().await;
        let (sources, mut seen) = (sources(settings, self.setup.as_ref()), HashMap::new());
        let mut read = Vec::with_capacity(sources.len());
        for source in &sources {
            // Compute the fingerprint before reading: a change in between causes another load.
            seen.insert(source.id().to_owned(), source.fingerprint());
            let tools = FixedSource::new(source.id(), source.load().await?);
            read.push(if source.is_remote() { tools.remote() } else { tools });
        }
        change();
        for source in &read {
            if catalog.attach(source).await.is_err() {
                // The source keeps its tools and is loaded again next time.
                seen.remove(source.id());
            }
        }
        *held = LoadedFolder { sources, seen };
        Ok(())
    }

    /// Loads all folders for the first time.
    ///
    /// # Errors
    /// See [`load`](Self::load).
    pub(crate) async fn load_first(&self, catalog: &dyn Catalog) -> Result<(), ToolError> {
        self.load(catalog).await?;
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok(())
    }

    /// Returns whether the folders were loaded within [`RELOAD_INTERVAL`]; `true` at most once.
    fn are_fresh(&self) -> bool {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).take();
        loaded.is_some_and(|loaded| loaded.elapsed() < RELOAD_INTERVAL)
    }

    /// Loads the folders that changed since the last time; returns whether any did. Running calls
    /// finish with the old tools.
    ///
    /// # Errors
    /// All failures as one error; the other folders are loaded, and the failed ones are loaded
    /// again next time.
    pub(crate) async fn load(&self, catalog: &dyn Catalog) -> Result<bool, ToolError> {
        self.load_matching(catalog, |_| true).await
    }

    /// Like [`load`](Self::load), only for scripts, which are cheap enough to poll.
    ///
    /// # Errors
    /// See [`load`](Self::load).
    pub(crate) async fn load_chains(&self, catalog: &dyn Catalog) -> Result<bool, ToolError> {
        self.load_matching(catalog, |folder| folder.is_cheap()).await
    }

    async fn load_matching(
        &self,
        catalog: &dyn Catalog,
        which: fn(&dyn WatchedSource) -> bool,
    ) -> Result<bool, ToolError> {
        let mut held = self.held.lock().await;
        let LoadedFolder { sources, seen } = &mut *held;
        let mut changed = false;
        let mut failed: Option<ToolError> = None;
        for source in sources.iter().filter(|source| which(&***source)) {
            let now = source.fingerprint();
            if seen.get(source.id()) == Some(&now) {
                continue;
            }
            match catalog.attach(&**source).await {
                Ok(_) => {
                    seen.insert(source.id().to_owned(), now);
                    changed = true;
                }
                Err(error) => match &mut failed {
                    None => failed = Some(error),
                    Some(first) => first.message = format!("{} {}", first.message, error.message),
                },
            }
        }
        failed.map_or(Ok(changed), Err)
    }

    /// Returns the setup for running scripts; `None` if they are disabled.
    pub(crate) fn setup(&self) -> Option<&Setup> {
        self.setup.as_ref()
    }

    fn is_ours(&self, source: &str) -> bool {
        self.ids.iter().any(|own| own == source)
    }
}

/// Programs come before scripts, so that a script cannot take the name of a program.
fn sources(settings: &Settings, setup: Option<&Setup>) -> Vec<Box<dyn WatchedSource>> {
    let folders = &settings.tool_folders;
    let programs = folders.iter().map(|folder| Box::new(source(folder, settings)) as Box<_>);
    let scripts = setup.into_iter().flat_map(|setup| {
        folders.iter().map(|folder| Box::new(python_settings::saved_chains(folder, setup)) as _)
    });
    programs.chain(scripts).collect()
}

fn source(folder: &ToolFolder, settings: &Settings) -> ExternalToolSource {
    let source = ExternalToolSource::new(folder.id.clone(), &folder.path);
    let source = if folder.is_untrusted {
        source.untrusted()
    } else {
        let tools = settings.engine.tools.iter();
        source.with_config(tools.map(|(tool, own)| (tool.clone(), own.config.clone())).collect())
    };
    match &settings.locale {
        Some(locale) => source.with_locale(locale.as_str()),
        None => source,
    }
}

/// Loads changed folders before each request of a run.
pub(crate) struct ToolFolderReload {
    pub(crate) folders: Arc<ToolFolders>,
    pub(crate) catalog: Arc<dyn Catalog>,
}

impl ToolRefresh for ToolFolderReload {
    fn refresh(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async {
            if self.folders.are_fresh() {
                return Vec::new();
            }
            match self.folders.load(&*self.catalog).await {
                Ok(false) => Vec::new(),
                Ok(true) => broken_files(&self.folders, &*self.catalog),
                Err(error) => {
                    let others = broken_files(&self.folders, &*self.catalog);
                    std::iter::once(error.message).chain(others).collect()
                }
            }
        })
    }
}

/// Returns the unusable tools of the folders, with the reasons.
pub(crate) fn broken_files(folders: &ToolFolders, catalog: &dyn Catalog) -> Vec<String> {
    let infos = catalog.infos();
    let own = infos.iter().filter(|info| folders.is_ours(&info.source));
    own.filter_map(|info| match &info.status {
        Status::Error { reason } => Some(format!("tool {}: {reason}", info.id)),
        _ => None,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use toolcrib_core::{SwitchState, ToolInfo, View, ViewRequest};
    use toolcrib_engine::Engine;

    use super::*;

    /// A registry that refuses one source temporarily.
    struct Refusing<'a> {
        inner: &'a dyn Catalog,
        refuses: AtomicBool,
    }

    impl Catalog for Refusing<'_> {
        fn view(&self, request: &Arc<ViewRequest>) -> Arc<View> {
            self.inner.view(request)
        }

        fn infos(&self) -> Vec<ToolInfo> {
            self.inner.infos()
        }

        fn set_tool_state(&self, tool: &str, state: SwitchState) -> Result<(), ToolError> {
            self.inner.set_tool_state(tool, state)
        }

        fn set_tools_enabled(&self, enabled: bool) {
            self.inner.set_tools_enabled(enabled);
        }

        fn attach<'a>(&'a self, source: &'a dyn Source) -> BoxFuture<'a, Result<usize, ToolError>> {
            if source.id() == "bad" && self.refuses.load(Ordering::Relaxed) {
                return Box::pin(async { Err(ToolError::execution("No room for it.")) });
            }
            self.inner.attach(source)
        }

        fn detach(&self, source: &str) -> bool {
            self.inner.detach(source)
        }

        fn generation(&self) -> u64 {
            self.inner.generation()
        }
    }

    #[tokio::test]
    async fn a_folder_that_fails_is_tried_again_and_does_not_hold_up_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Settings::new(dir.path(), dir.path().join("state"));
        for id in ["bad", "good"] {
            let tool = dir.path().join(id).join(format!("{id}_tool"));
            std::fs::create_dir_all(&tool).unwrap();
            std::fs::write(tool.join("tool.toml"), "description = \"x\"\ncommand = [\"sh\"]")
                .unwrap();
            settings.tool_folders.push(ToolFolder::new(id, dir.path().join(id)));
        }
        let engine = Engine::builder().build();
        let catalog = Refusing { inner: engine.catalog(), refuses: AtomicBool::new(true) };
        let names = || catalog.infos().iter().map(|info| info.id.to_string()).collect::<Vec<_>>();
        let folders = ToolFolders::new(&settings, None);
        for _ in 0..2 {
            assert_eq!(folders.load(&catalog).await.unwrap_err().message, "No room for it.");
            assert_eq!(names(), ["good_tool"]);
        }
        catalog.refuses.store(false, Ordering::Relaxed);
        assert!(folders.load(&catalog).await.unwrap());
        assert_eq!(names(), ["good_tool", "bad_tool"]);
        assert!(!folders.load(&catalog).await.unwrap());
    }
}
