//! The whole audit as JSON lines.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use toolcrib_app::audit::{ExportFrom, Exporter};
use toolcrib_app::core::StoreError;

use crate::api::Query;
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Where an export begins.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExportQuery {
    /// Number of the first record.
    from: Option<u64>,
    /// In place of it: the first record of this time or later, in milliseconds since 1970.
    since: Option<i64>,
}

pub(super) async fn export_audit(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<ExportQuery>,
) -> Result<Response, Problem> {
    let from = match (query.from, query.since) {
        (None, None) => ExportFrom::Beginning,
        (Some(number), None) => ExportFrom::Number(number),
        (None, Some(time)) => ExportFrom::Time(time),
        (Some(_), Some(_)) => return Err(Problem::invalid("say `from` or `since`, not both")),
    };
    daemon.admin_audit().record(&principal, "audit.export", "").await?;
    // A few pages ahead of a slow reader, and no more; one that is gone ends it.
    let (send, receive) = mpsc::channel::<Result<Bytes, std::io::Error>>(2);
    tokio::spawn(async move {
        if let Err(error) = export(&daemon, from, &send).await {
            tracing::error!(%error, "an export of the audit broke off");
            let _ = send.send(Err(std::io::Error::other(error))).await;
        }
    });
    let pieces =
        stream::unfold(receive, |mut receive| async { Some((receive.recv().await?, receive)) });
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"audit.jsonl\""),
    ];
    Ok((StatusCode::OK, headers, Body::from_stream(pieces)).into_response())
}

async fn export(
    daemon: &DaemonState,
    from: ExportFrom,
    to: &mpsc::Sender<Result<Bytes, std::io::Error>>,
) -> Result<(), StoreError> {
    let mut export = Exporter::new(&*daemon.stores().audit, from).await?;
    while let Some(lines) = export.next().await? {
        let mut text = String::new();
        for line in lines {
            text += &line.text();
            text.push('\n');
        }
        if to.send(Ok(text.into())).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}
