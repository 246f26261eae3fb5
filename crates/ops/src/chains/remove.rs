//! Removes a script.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{WRITE_LOCK, find};
use super::put::{check_folder, default_folder};
use crate::administration::{Act, Recorder};
use crate::context::OpContext;
use crate::error::{OpError, Resource};
use crate::expected_version::ExpectedVersion;

/// The script to remove.
#[derive(Clone)]
pub struct RemoveChainRequest<'a> {
    /// Its name.
    pub name: String,
    /// Its folder; `None` selects the workspace's folder of tools, or else the first one.
    pub folder: Option<PathBuf>,
    /// The text to remove.
    pub expected: ExpectedVersion<'a>,
}

/// A removed script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedChain {
    /// Its name.
    pub removed: String,
}

/// Removes a script; running calls finish.
///
/// # Errors
/// [`OpError::NotFound`]; [`OpError::Conflict`] for a script in another folder; the errors of
/// [`ExpectedVersion`]; [`OpError::Internal`], [`OpError::Unrecorded`].
pub async fn remove(
    ctx: &OpContext<'_>,
    recorder: &Recorder<'_>,
    request: RemoveChainRequest<'_>,
) -> Result<RemovedChain, OpError> {
    let RemoveChainRequest { name, folder, expected } = request;
    let _alone = WRITE_LOCK.lock().await;
    let path = match folder {
        Some(path) => path,
        None => {
            let (path, id) = default_folder(ctx)?;
            let (chain, code) = find(ctx.toolcrib, &name).await?;
            expected.check(Resource::Chain, &name, Some(&code))?;
            check_folder(&name, &chain.folder, id.as_deref())?;
            path
        }
    };
    ctx.toolcrib.remove_chain(&path, &name).await?;
    recorder.record(Act::new("chain.remove", name.as_str())).await?;
    Ok(RemovedChain { removed: name })
}
