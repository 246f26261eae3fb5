//! Saved chains: scripts that are stored as tools. Lists, saves and removes them at run time.

use std::path::Path;

use toolcrib_code_mode::{ChainError, ChainFile, ChainFolder};

use crate::settings::ToolFolder;
use crate::toolcrib::Toolcrib;

/// Source id of a workspace's tool folder.
const WORKSPACE: &str = "workspace";

/// A saved script and its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainEntry {
    /// The script.
    pub kept: ChainFile,
    /// Id of its folder: `own`, `workspace` or a configured one.
    pub folder: String,
    /// Whether the folder is untrusted: its scripts need approval.
    pub is_untrusted: bool,
}

impl Toolcrib {
    /// Returns the saved scripts in the order of their folders. If a name occurs twice, the first
    /// one is the tool.
    #[must_use]
    pub fn saved_chains(&self) -> Vec<ChainEntry> {
        let of = |folder: &ToolFolder| {
            let (id, is_untrusted) = (folder.id.clone(), folder.is_untrusted);
            let kept = ChainFolder::new(&folder.path).list().into_iter();
            kept.map(move |kept| ChainEntry { kept, folder: id.clone(), is_untrusted })
                .collect::<Vec<_>>()
        };
        self.settings().tool_folders.iter().flat_map(of).collect()
    }

    /// Returns the default folder for saving: the workspace's folder, otherwise the first one.
    #[must_use]
    pub fn saved_chain_folder(&self) -> Option<ToolFolder> {
        let settings = self.settings();
        let folders = &settings.tool_folders;
        let workspace = folders.iter().find(|folder| folder.id == WORKSPACE);
        workspace.or_else(|| folders.first()).cloned()
    }

    /// Saves a script as a tool, replacing a script of the same name in the folder. It can be
    /// called at once.
    ///
    /// # Errors
    /// [`ChainError`]; nothing is changed in that case. `Definition` also if the name belongs to
    /// another
    /// tool.
    pub async fn save_chain(
        &self,
        folder: &Path,
        name: &str,
        code: &str,
    ) -> Result<ChainFile, ChainError> {
        let (folder, named) = (ChainFolder::new(folder), name.to_owned());
        let (looked, asked) = (folder.clone(), named.clone());
        let is_there = run_blocking(move || Ok(looked.text(&asked).is_ok())).await?;
        if !is_there && let Some(spec) = self.spec(name) {
            let why = format!("there is a tool {} already; choose another name", spec.name);
            return Err(ChainError::Definition(why));
        }
        if let Some(setup) = self.folders.setup() {
            toolcrib_code_mode::check_syntax(setup, code).await?;
        }
        let code = code.to_owned();
        let kept = run_blocking(move || folder.save(&named, &code)).await?;
        self.refresh_scripts().await;
        Ok(kept)
    }

    /// Removes a script; running calls finish.
    ///
    /// # Errors
    /// [`ChainError`].
    pub async fn remove_chain(&self, folder: &Path, name: &str) -> Result<(), ChainError> {
        let (folder, name) = (ChainFolder::new(folder), name.to_owned());
        run_blocking(move || folder.remove(&name)).await?;
        self.refresh_scripts().await;
        Ok(())
    }

    /// Loads changes among the saved scripts.
    pub(crate) async fn refresh_scripts(&self) {
        // A folder that fails keeps its tools and is tried again at the next poll.
        let _ = self.folders.load_chains(self.engine().catalog()).await;
    }
}

/// Runs file operations on a blocking thread.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ChainError> + Send + 'static,
) -> Result<T, ChainError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ChainError::Unchecked(error.to_string())))
}
