//! The files of scripts.

use tokio::sync::Mutex;
use toolcrib_app::{ChainEntry, Toolcrib};
use toolcrib_code_mode::ChainError;

use crate::error::{OpError, Resource};

/// Held while a script is read and changed: if two callers change the same version, one of them
/// gets an error.
pub(super) static WRITE_LOCK: Mutex<()> = Mutex::const_new(());

/// Reads files on a thread for blocking work.
pub(super) async fn run_blocking<T: Send + 'static>(
    toolcrib: &Toolcrib,
    work: impl FnOnce(&Toolcrib) -> T + Send + 'static,
) -> Result<T, OpError> {
    let toolcrib = toolcrib.clone();
    let done = tokio::task::spawn_blocking(move || work(&toolcrib)).await;
    done.map_err(|error| OpError::Internal(error.to_string()))
}

/// Returns a script with its text; `None` if there is none with this name.
pub(super) async fn load(
    toolcrib: &Toolcrib,
    name: &str,
) -> Result<Option<(ChainEntry, String)>, OpError> {
    let named = name.to_owned();
    let found = run_blocking(toolcrib, move |toolcrib| {
        let chain = toolcrib.saved_chains().into_iter().find(|chain| chain.kept.name == named);
        chain.map(|chain| chain.kept.text().map(|code| (chain, code)))
    });
    let read = found.await?.transpose();
    read.map_err(|error| OpError::Conflict(format!("the script {name} cannot be read: {error}")))
}

/// Like [`load`], for a script that has to exist.
pub(super) async fn find(toolcrib: &Toolcrib, name: &str) -> Result<(ChainEntry, String), OpError> {
    load(toolcrib, name).await?.ok_or_else(|| OpError::not_found(Resource::Chain, name))
}

impl From<ChainError> for OpError {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Missing(name) => Self::not_found(Resource::Chain, name),
            ChainError::File { .. } => {
                tracing::error!(%error, "the file of a script cannot be used");
                Self::Internal(error.to_string())
            }
            error => Self::Invalid(error.to_string()),
        }
    }
}
