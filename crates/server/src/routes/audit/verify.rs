//! Verifies the audit, and signs a checkpoint of it.

use std::path::{Path, PathBuf};

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::ANCHORS_FILE;
use toolcrib_audit::{AnchorFile, Evidence, Start, TrustedKeys};
use toolcrib_ops::audit::{self, CheckpointReply, VerifyReply, VerifyRequest};

use crate::api::Json;
use crate::problem::{Code, Problem};
use crate::role::Principal;
use crate::state::DaemonState;

/// The scope of the verification.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct VerifyBody {
    /// Whether calls, questions, grants and switches are compared with their records: slower,
    /// because every row is read.
    rows: bool,
    /// Public keys to trust besides those in the state folder of this daemon, 64 hexadecimal digits
    /// each: the keys of the other machines that share the database.
    keys: Vec<String>,
}

fn folder(daemon: &DaemonState) -> PathBuf {
    daemon.toolcrib().state_folder().join("audit")
}

/// Returns the evidence for comparing the records. A key or anchors that do not exist yet, because
/// nothing was signed, count as empty.
fn evidence(folder: &Path, named: &[String]) -> Result<Evidence, Problem> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Problem::new(Code::Unavailable, format!("{what} of the audit cannot be read: {error}"))
    };
    let keys = TrustedKeys::in_folder(folder).map_err(|error| failed("the keys", &error))?;
    let own = keys.unwrap_or_default();
    let keys = match named {
        [] => own,
        named => own.and(&named.join("\n")).map_err(|error| {
            Problem::new(Code::Invalid, format!("`keys` cannot be used: {error}"))
        })?,
    };
    let path = folder.join(ANCHORS_FILE);
    let anchors = if path.exists() {
        Some(AnchorFile::read(&path).map_err(|error| failed("the anchors", &error))?)
    } else {
        None
    };
    Ok(Evidence { keys, anchors, start: Start::Genesis })
}

pub(super) async fn verify_audit(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<VerifyBody>,
) -> Result<Json<VerifyReply>, Problem> {
    let (folder, rows) = (folder(&daemon), body.rows);
    let evidence = tokio::task::spawn_blocking(move || evidence(&folder, &body.keys)).await;
    let evidence = evidence
        .unwrap_or_else(|_| Err(Problem::new(Code::Internal, "the key could not be read")))?;
    let ctx = daemon.store_context(&principal);
    Ok(Json(audit::verify(&ctx, VerifyRequest { evidence, rows }).await?))
}

pub(super) async fn checkpoint_now(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<CheckpointReply>, Problem> {
    Ok(Json(audit::checkpoint(&daemon.store_context(&principal)).await?))
}
