//! Exports the audit as lines that can be verified on another machine.

use toolcrib_audit::{ExportFrom, Exporter};

use crate::administration::{Act, Recorder};
use crate::context::StoreContext;
use crate::error::OpError;

/// The records to export.
#[derive(Debug, Clone, Copy)]
pub struct ExportRequest {
    /// The first record.
    pub from: ExportFrom,
}

/// Starts an export of all chains with hashes and checkpoints. The caller takes the lines from the
/// reply.
///
/// # Errors
/// [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn export<'a>(
    ctx: &StoreContext<'a>,
    recorder: &Recorder<'_>,
    request: ExportRequest,
) -> Result<Exporter<'a>, OpError> {
    // Record the export before the first line: even a reader that disconnects has read something.
    recorder.record(Act::new("audit.export", "")).await?;
    Ok(Exporter::new(&*ctx.stores.audit, request.from).await?)
}
