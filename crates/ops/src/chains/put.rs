//! Saves a script as a tool.

use std::path::PathBuf;

use super::files::{WRITE_LOCK, load};
use super::list::list;
use super::row::ChainDetails;
use crate::administration::{Act, Recorder};
use crate::context::OpContext;
use crate::error::{OpError, Resource};
use crate::expected_version::ExpectedVersion;

/// A script to save.
#[derive(Clone)]
pub struct PutChainRequest<'a> {
    /// The name of its tool.
    pub name: String,
    /// Its text.
    pub code: String,
    /// The folder; `None` selects the workspace's folder of tools, or else the first one.
    pub folder: Option<PathBuf>,
    /// The text to replace.
    pub expected: ExpectedVersion<'a>,
}

/// The saved script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutChainReply {
    /// Whether the script is new.
    pub is_new: bool,
    /// The script.
    pub chain: ChainDetails,
}

/// Saves a script as a tool, which can be called at once.
///
/// # Errors
/// [`OpError::Invalid`] for a bad name or text; [`OpError::Conflict`] if there is no folder, or if
/// the script is in another one; the errors of [`ExpectedVersion`]; [`OpError::Internal`],
/// [`OpError::Unrecorded`].
pub async fn put(
    ctx: &OpContext<'_>,
    recorder: &Recorder<'_>,
    request: PutChainRequest<'_>,
) -> Result<PutChainReply, OpError> {
    let PutChainRequest { name, code, folder, expected } = request;
    let (path, id) = match folder {
        Some(path) => (path, None),
        None => default_folder(ctx)?,
    };
    let _alone = WRITE_LOCK.lock().await;
    let present = load(ctx.toolcrib, &name).await?;
    if let Some((chain, text)) = &present {
        expected.check(Resource::Chain, &name, Some(text))?;
        check_folder(&name, &chain.folder, id.as_deref())?;
    }
    let saved = ctx.toolcrib.save_chain(&path, &name, &code).await?;
    recorder.record(Act::new("chain.put", name.as_str())).await?;
    // Another folder may have a script of this name.
    let rows = list(ctx).await?;
    let path = std::path::absolute(&saved.path).unwrap_or(saved.path);
    let chain = rows.into_iter().find(|row| row.path == path);
    let chain = chain.ok_or_else(|| OpError::not_found(Resource::Chain, &name))?;
    Ok(PutChainReply { is_new: present.is_none(), chain: ChainDetails { chain, code } })
}

/// Returns the folder to which scripts are written, with its id.
pub(super) fn default_folder(ctx: &OpContext<'_>) -> Result<(PathBuf, Option<String>), OpError> {
    let folder = ctx.toolcrib.saved_chain_folder();
    let folder = folder.ok_or_else(|| OpError::Conflict("there is no folder for tools".into()))?;
    Ok((folder.path, Some(folder.id)))
}

/// Refuses a script in a folder that cannot be written.
pub(super) fn check_folder(name: &str, of: &str, written: Option<&str>) -> Result<(), OpError> {
    match written {
        Some(written) if written != of => Err(OpError::Conflict(format!(
            "the script {name} is in the folder {of}, which is not written here"
        ))),
        _ => Ok(()),
    }
}
