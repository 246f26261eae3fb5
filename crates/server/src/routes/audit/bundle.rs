//! The audit as a bundle that is verified without Toolcrib.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use toolcrib_ops::OpError;
use toolcrib_ops::audit::{BundleRequest, bundle};

use crate::problem::{Code, Problem};
use crate::role::Principal;
use crate::state::DaemonState;

/// The media type of a tar archive.
pub(super) const MEDIA_TYPE: &str = "application/x-tar";

pub(super) async fn export_bundle(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Response, Problem> {
    daemon.admin_audit().record(&principal, "audit.bundle", "").await?;
    // A few files ahead of a slow reader, and no more.
    let (send, mut receive) = mpsc::channel::<Result<Bytes, OpError>>(2);
    tokio::spawn(async move {
        if let Err(error) = write(&daemon, &principal, &send).await {
            tracing::error!(%error, "a bundle of the audit broke off");
            // The reader may be gone.
            let _ = send.send(Err(error)).await;
        }
    });
    let ended = || Problem::new(Code::Internal, "the bundle has no content");
    // What fails before the first byte is a problem document.
    let first = receive.recv().await.ok_or_else(ended)??;
    let rest =
        stream::unfold(receive, |mut receive| async { Some((receive.recv().await?, receive)) });
    let pieces = stream::iter([Ok(first)]).chain(rest);
    let headers = [
        (header::CONTENT_TYPE, MEDIA_TYPE),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"audit.tar\""),
    ];
    Ok((StatusCode::OK, headers, Body::from_stream(pieces)).into_response())
}

async fn write(
    daemon: &DaemonState,
    principal: &Principal,
    to: &mpsc::Sender<Result<Bytes, OpError>>,
) -> Result<(), OpError> {
    let ctx = daemon.op_context(principal, None);
    let mut export = bundle(&ctx, BundleRequest::default()).await?;
    let failed = |error: toolcrib_app::audit::BundleError| OpError::Internal(error.to_string());
    while let Some(bytes) = export.next().await.map_err(failed)? {
        if to.send(Ok(bytes.into())).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}
