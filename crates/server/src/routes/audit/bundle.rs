//! Exports the audit as a bundle that can be verified without Toolcrib.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use tokio::sync::mpsc;
use toolcrib_ops::OpError;
use toolcrib_ops::audit::{BundleRequest, bundle};

use super::download::{Download, download};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// The media type of a tar archive.
pub(super) const MEDIA_TYPE: &str = "application/x-tar";

pub(super) async fn export_bundle(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Response, Problem> {
    let what = Download { media_type: MEDIA_TYPE, file: "audit.tar" };
    download(what, |to| async move { write(&daemon, &principal, &to).await }).await
}

async fn write(
    daemon: &DaemonState,
    principal: &Principal,
    to: &mpsc::Sender<Result<Bytes, OpError>>,
) -> Result<(), OpError> {
    let (ctx, recorder) = (daemon.op_context(principal, None), daemon.recorder(principal));
    let mut export = bundle(&ctx, &recorder, BundleRequest::default()).await?;
    let failed = |error: toolcrib_audit::BundleError| OpError::Internal(error.to_string());
    while let Some(bytes) = export.next().await.map_err(failed)? {
        if to.send(Ok(bytes.into())).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}
