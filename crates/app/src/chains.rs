//! Scripts that are kept as tools: kept, shown and removed while this runs.

use std::path::Path;

use toolcrib_chain::{ChainError, ChainFolder, KeptChain};

use crate::settings::ToolFolder;
use crate::toolcrib::Toolcrib;

/// The id of the folder of a workspace's tools.
const WORKSPACE: &str = "workspace";

/// A script that is kept, and the folder that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The script.
    pub kept: KeptChain,
    /// Id of its folder: `own`, `workspace` or one that was named.
    pub folder: String,
    /// Whether anybody may have written it: a person is asked before it runs.
    pub of_anybody: bool,
}

impl Toolcrib {
    /// The scripts that are kept, in the order of their folders. The first of a name is the tool.
    #[must_use]
    pub fn chains(&self) -> Vec<Chain> {
        let of = |folder: &ToolFolder| {
            let (id, of_anybody) = (folder.id.clone(), folder.of_anybody);
            let kept = ChainFolder::new(&folder.path).list().into_iter();
            kept.map(move |kept| Chain { kept, folder: id.clone(), of_anybody }).collect::<Vec<_>>()
        };
        self.settings().tool_folders.iter().flat_map(of).collect()
    }

    /// The folder that scripts are kept in when nobody names another: that of the workspace, else the first.
    #[must_use]
    pub fn chain_folder(&self) -> Option<ToolFolder> {
        let settings = self.settings();
        let folders = &settings.tool_folders;
        let workspace = folders.iter().find(|folder| folder.id == WORKSPACE);
        workspace.or_else(|| folders.first()).cloned()
    }

    /// Keeps a script as a tool, in place of one of the same name there. It can be called at once.
    ///
    /// # Errors
    /// [`ChainError`]: then nothing has changed. `Definition` also where the name is that of another tool.
    pub async fn save_chain(
        &self,
        folder: &Path,
        name: &str,
        code: &str,
    ) -> Result<KeptChain, ChainError> {
        let (folder, named) = (ChainFolder::new(folder), name.to_owned());
        let (looked, asked) = (folder.clone(), named.clone());
        let is_there = aside(move || Ok(looked.text(&asked).is_ok())).await?;
        if !is_there && let Some(spec) = self.spec(name) {
            let why = format!("there is a tool {} already; choose another name", spec.name);
            return Err(ChainError::Definition(why));
        }
        if let Some(setup) = self.folders.setup() {
            toolcrib_chain::check(setup, code).await?;
        }
        let code = code.to_owned();
        let kept = aside(move || folder.save(&named, &code)).await?;
        self.refresh_scripts().await;
        Ok(kept)
    }

    /// Removes a script; calls at work finish.
    ///
    /// # Errors
    /// [`ChainError`].
    pub async fn remove_chain(&self, folder: &Path, name: &str) -> Result<(), ChainError> {
        let (folder, name) = (ChainFolder::new(folder), name.to_owned());
        aside(move || folder.remove(&name)).await?;
        self.refresh_scripts().await;
        Ok(())
    }

    /// Takes up what has changed among the scripts that are kept.
    pub(crate) async fn refresh_scripts(&self) {
        // One that cannot be attached stays as it was, and is tried again.
        let _ = self.folders.load_chains(self.engine().catalog()).await;
    }
}

/// Work on files, on no thread that answers others.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ChainError> + Send + 'static,
) -> Result<T, ChainError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ChainError::Unchecked(error.to_string())))
}
