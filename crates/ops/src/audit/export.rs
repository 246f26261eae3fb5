//! Exports the audit as lines that can be verified elsewhere.

use toolcrib_audit::{ExportFrom, Exporter};

use crate::administration::{Act, Recorder};
use crate::context::StoreContext;
use crate::error::OpError;

/// Which records are exported.
#[derive(Debug, Clone, Copy)]
pub struct ExportRequest {
    /// The first record.
    pub from: ExportFrom,
}

/// Begins an export of all chains with hashes and checkpoints. The caller takes the lines from the
/// reply.
///
/// # Errors
/// [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn export<'a>(
    ctx: &StoreContext<'a>,
    recorder: &Recorder<'_>,
    request: ExportRequest,
) -> Result<Exporter<'a>, OpError> {
    // Before the first line: a reader that breaks off has read something too.
    recorder.record(Act::new("audit.export", "")).await?;
    Ok(Exporter::new(&*ctx.stores.audit, request.from).await?)
}
