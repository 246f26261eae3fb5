//! Verifies the audit, and signs a checkpoint of it.

use std::path::{Path, PathBuf};

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::ANCHORS_FILE;
use toolcrib_audit::{AnchorFile, Evidence, Start, TrustedKeys};
use toolcrib_ops::audit::{self, CheckpointReply, VerifyRequest};

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

/// The findings.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Verified {
    /// Whether there are no findings. A key on this machine proves nothing to others: they verify
    /// an export with a key that they hold.
    sound: bool,
    /// Each chain with its findings.
    chains: Value,
    /// The outcomes of the calls; absent unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls: Option<Value>,
    /// The comparison of questions, grants and switches; absent unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decisions: Option<Value>,
    /// Remarks that are not findings.
    remarks: Vec<Value>,
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
) -> Result<Json<Verified>, Problem> {
    let (folder, rows) = (folder(&daemon), body.rows);
    let evidence = tokio::task::spawn_blocking(move || evidence(&folder, &body.keys)).await;
    let evidence = evidence
        .unwrap_or_else(|_| Err(Problem::new(Code::Internal, "the key could not be read")))?;
    let ctx = daemon.store_context(&principal);
    let reply = audit::verify(&ctx, VerifyRequest { evidence, rows }).await?;
    Ok(Json(Verified {
        sound: reply.sound,
        chains: json!(reply.chains),
        calls: reply.calls.map(|report| json!(report)),
        decisions: reply.decisions.map(|report| json!(report)),
        remarks: reply.remarks.iter().map(|remark| json!(remark)).collect(),
    }))
}

pub(super) async fn checkpoint_now(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<CheckpointReply>, Problem> {
    Ok(Json(audit::checkpoint(&daemon.store_context(&principal)).await?))
}
