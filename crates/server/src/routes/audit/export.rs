//! The whole audit as JSON lines.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use toolcrib_audit::ExportFrom;
use toolcrib_ops::OpError;
use toolcrib_ops::audit::{self, ExportRequest};

use super::download::{Download, download};
use crate::api::Query;
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// The media type of JSON lines.
pub(super) const MEDIA_TYPE: &str = "application/x-ndjson";

/// The start of an export.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExportQuery {
    /// Number of the first record.
    from: Option<u64>,
    /// Instead of `from`: start at the first record at or after this time, in milliseconds since
    /// 1970.
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
    let (what, request) =
        (Download { media_type: MEDIA_TYPE, file: "audit.jsonl" }, ExportRequest { from });
    download(what, |to| async move { write(&daemon, &principal, request, &to).await }).await
}

async fn write(
    daemon: &DaemonState,
    principal: &Principal,
    request: ExportRequest,
    to: &mpsc::Sender<Result<Bytes, OpError>>,
) -> Result<(), OpError> {
    let (ctx, recorder) = (daemon.store_context(principal), daemon.recorder(principal));
    let mut export = audit::export(&ctx, &recorder, request).await?;
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
