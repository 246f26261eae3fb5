//! Folders of tools, programs and scripts that are kept, loaded again when they change.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use toolcrib_agent::drive::Refresh;
use toolcrib_builtins::folder::FolderSource;
use toolcrib_chain::{SavedChains, Setup};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{BoxFuture, Catalog, Source, Status, ToolError};

use crate::python_settings;
use crate::settings::{Settings, ToolFolder};

/// A source that knows when it may give something else.
trait Folder: Source {
    /// A number that changes then.
    fn fingerprint(&self) -> u64;
    /// Whether it is looked at cheaply, so that this can be done every second.
    fn is_cheap(&self) -> bool;
}

impl Folder for FolderSource {
    fn fingerprint(&self) -> u64 {
        self.fingerprint()
    }

    fn is_cheap(&self) -> bool {
        false
    }
}

impl Folder for SavedChains {
    fn fingerprint(&self) -> u64 {
        self.fingerprint()
    }

    fn is_cheap(&self) -> bool {
        true
    }
}

/// The folders of a Toolcrib.
#[derive(Default)]
pub(crate) struct ToolFolders {
    /// Their ids, which stay.
    ids: Vec<String>,
    /// Held while they load, so that an older look never replaces a newer one.
    held: Mutex<Held>,
    /// How scripts are run; `None` = they are not.
    setup: Option<Setup>,
    /// When they were loaded first; taken by the first look after that.
    loaded: std::sync::Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Held {
    sources: Vec<Box<dyn Folder>>,
    /// What each looked like when it was loaded last.
    seen: HashMap<String, u64>,
}

/// A run that begins right after its folders were loaded does not look at them again: with a thousand tools that is most of its start.
const FRESH: Duration = Duration::from_secs(1);

impl ToolFolders {
    /// The folders of these settings, with the values that are configured for their tools, and the scripts in them, which run like this.
    pub(crate) fn new(settings: &Settings, setup: Option<Setup>) -> Self {
        let sources = sources(settings, setup.as_ref());
        let ids = sources.iter().map(|source| source.id().to_owned()).collect();
        let held = Held { sources, seen: HashMap::new() };
        Self { ids, held: Mutex::new(held), setup, ..Self::default() }
    }

    /// Sets the same folders up by other settings: all of them are read first, then `change` is made, then their tools come in.
    ///
    /// # Errors
    /// A folder that cannot be read; then nothing is changed, `change` included.
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
            // Before it is read: what changes meanwhile is read again the next time.
            seen.insert(source.id().to_owned(), source.fingerprint());
            let tools = FixedSource::new(source.id(), source.load().await?);
            read.push(if source.is_remote() { tools.remote() } else { tools });
        }
        change();
        for source in &read {
            if catalog.attach(source).await.is_err() {
                // It keeps the tools that it had, and is tried again the next time.
                seen.remove(source.id());
            }
        }
        *held = Held { sources, seen };
        Ok(())
    }

    /// Loads all of them for the first time.
    ///
    /// # Errors
    /// See [`load`](Self::load).
    pub(crate) async fn load_first(&self, catalog: &dyn Catalog) -> Result<(), ToolError> {
        self.load(catalog).await?;
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok(())
    }

    /// Whether they were loaded just now; asked twice, they were not.
    fn are_fresh(&self) -> bool {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).take();
        loaded.is_some_and(|loaded| loaded.elapsed() < FRESH)
    }

    /// Loads those that changed since the last time; calls in flight finish on the tools they began with. Whether any did.
    ///
    /// # Errors
    /// What is wrong with those that could not be loaded, as one error; all others are loaded, and these are tried again the next time.
    pub(crate) async fn load(&self, catalog: &dyn Catalog) -> Result<bool, ToolError> {
        self.load_those(catalog, |_| true).await
    }

    /// The same of scripts alone, which costs so little that it may be done all the time.
    ///
    /// # Errors
    /// See [`load`](Self::load).
    pub(crate) async fn load_chains(&self, catalog: &dyn Catalog) -> Result<bool, ToolError> {
        self.load_those(catalog, |folder| folder.is_cheap()).await
    }

    async fn load_those(
        &self,
        catalog: &dyn Catalog,
        which: fn(&dyn Folder) -> bool,
    ) -> Result<bool, ToolError> {
        let mut held = self.held.lock().await;
        let Held { sources, seen } = &mut *held;
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

    /// How scripts are run; `None` = they are not.
    pub(crate) fn setup(&self) -> Option<&Setup> {
        self.setup.as_ref()
    }

    fn is_ours(&self, source: &str) -> bool {
        self.ids.iter().any(|own| own == source)
    }
}

/// Programs come before scripts: these cannot take the name of one.
fn sources(settings: &Settings, setup: Option<&Setup>) -> Vec<Box<dyn Folder>> {
    let folders = &settings.tool_folders;
    let programs = folders.iter().map(|folder| Box::new(source(folder, settings)) as Box<_>);
    let scripts = setup.into_iter().flat_map(|setup| {
        folders.iter().map(|folder| Box::new(python_settings::saved_chains(folder, setup)) as _)
    });
    programs.chain(scripts).collect()
}

fn source(folder: &ToolFolder, settings: &Settings) -> FolderSource {
    let source = FolderSource::new(folder.id.clone(), &folder.path);
    let source = if folder.of_anybody {
        source.of_anybody()
    } else {
        let tools = settings.engine.tools.iter();
        source.with_config(tools.map(|(tool, own)| (tool.clone(), own.config.clone())).collect())
    };
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
            if self.folders.are_fresh() {
                return Vec::new();
            }
            match self.folders.load(&*self.catalog).await {
                Ok(false) => Vec::new(),
                Ok(true) => broken(&self.folders, &*self.catalog),
                Err(error) => {
                    let others = broken(&self.folders, &*self.catalog);
                    std::iter::once(error.message).chain(others).collect()
                }
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use toolcrib_core::{SwitchState, ToolInfo, View, ViewRequest};
    use toolcrib_engine::Engine;

    use super::*;

    /// A registry that refuses one source for a while.
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
