//! Verifies the audit, and signs a checkpoint of it.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::OpError;
use toolcrib_ops::audit::{self, CheckpointReply, EvidenceRequest, VerifyReply, VerifyRequest};

use crate::api::Json;
use crate::problem::Problem;
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

pub(super) async fn verify_audit(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<VerifyBody>,
) -> Result<Json<VerifyReply>, Problem> {
    let VerifyBody { rows, keys: more_keys } = body;
    let folder = daemon.toolcrib().state_folder().join("audit");
    let read = move || EvidenceRequest { more_keys, ..EvidenceRequest::of_folder(&folder) }.read();
    let evidence = tokio::task::spawn_blocking(read).await;
    let evidence = evidence
        .unwrap_or_else(|_| Err(OpError::Internal("the key could not be read".to_owned())))?;
    let ctx = daemon.store_context(&principal);
    Ok(Json(audit::verify(&ctx, VerifyRequest { evidence, rows }).await?))
}

pub(super) async fn checkpoint_now(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<CheckpointReply>, Problem> {
    Ok(Json(audit::checkpoint(&daemon.store_context(&principal)).await?))
}
