//! A response that streams a file while it is written.

use std::future::Future;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use toolcrib_ops::OpError;

use crate::problem::{Code, Problem};

/// Number of pieces that are written ahead of a slow reader.
const PIECES_AHEAD: usize = 2;

/// The file to download.
#[derive(Debug, Clone, Copy)]
pub(in crate::routes) struct Download {
    pub(in crate::routes) media_type: &'static str,
    /// Name of the file.
    pub(in crate::routes) file: &'static str,
}

/// Streams the pieces that `write` sends. An error before the first piece becomes a problem
/// document; a later one aborts the stream.
pub(in crate::routes) async fn download<F>(
    what: Download,
    write: impl FnOnce(mpsc::Sender<Result<Bytes, OpError>>) -> F,
) -> Result<Response, Problem>
where
    F: Future<Output = Result<(), OpError>> + Send + 'static,
{
    let (send, mut receive) = mpsc::channel(PIECES_AHEAD);
    let written = write(send.clone());
    let task = tokio::spawn(async move {
        if let Err(error) = written.await {
            tracing::error!(%error, file = what.file, "a download broke off");
            // The reader may have disconnected.
            let _ = send.send(Err(error)).await;
        }
    });
    let Some(first) = receive.recv().await else {
        // No piece was sent: the file is empty, or the writer panicked.
        let failed = |_| Problem::new(Code::Internal, format!("{} has no content", what.file));
        task.await.map_err(failed)?;
        return Ok(response(what, Body::empty()));
    };
    let first = first?;
    let rest =
        stream::unfold(receive, |mut receive| async { Some((receive.recv().await?, receive)) });
    Ok(response(what, Body::from_stream(stream::iter([Ok(first)]).chain(rest))))
}

fn response(what: Download, body: Body) -> Response {
    let mut response = (StatusCode::OK, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(what.media_type));
    let disposition = format!("attachment; filename=\"{}\"", what.file);
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}
