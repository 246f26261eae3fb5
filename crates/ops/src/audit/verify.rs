//! Verifies that no record of the audit was changed, removed, added or moved.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolcrib_audit::{
    CallsReport, ChainReport, DecisionStores, DecisionsReport, Evidence, Remark, verify_calls,
    verify_decisions,
};

use crate::context::StoreContext;
use crate::error::OpError;

/// The scope and the evidence of the verification.
#[derive(Debug, Clone, Default)]
pub struct VerifyRequest {
    /// Trusted keys and anchors.
    pub evidence: Evidence,
    /// Whether to compare calls, questions, grants and switches with their records, too, which
    /// reads every row.
    pub rows: bool,
}

/// The findings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Verified")]
pub struct VerifyReply {
    /// Whether there are no findings. A key that is on this machine proves nothing to others: they
    /// verify an export with a key that they hold.
    pub sound: bool,
    /// Each chain with its findings.
    #[schemars(with = "Value")]
    pub chains: Vec<ChainReport>,
    /// The outcomes of the calls; absent unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub calls: Option<CallsReport>,
    /// The same of questions, grants and switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub decisions: Option<DecisionsReport>,
    /// Remarks that are no findings.
    #[schemars(with = "Vec<Value>")]
    pub remarks: Vec<Remark>,
}

impl VerifyReply {
    /// Creates the reply about chains alone, such as those of an export.
    #[must_use]
    pub fn of_chains(chains: Vec<ChainReport>, evidence: &Evidence) -> Self {
        let sound = chains.iter().all(ChainReport::is_sound);
        let remarks = evidence.remark().into_iter().collect();
        Self { sound, chains, calls: None, decisions: None, remarks }
    }
}

/// Verifies the chains of the store, and with `rows` the rows of this owner.
///
/// # Errors
/// [`OpError::Store`].
pub async fn verify(
    ctx: &StoreContext<'_>,
    request: VerifyRequest,
) -> Result<VerifyReply, OpError> {
    let audit = &*ctx.stores.audit;
    let chains = toolcrib_audit::verify(audit, &request.evidence).await?;
    let reply = VerifyReply::of_chains(chains, &request.evidence);
    if !request.rows {
        return Ok(reply);
    }
    let owners = [ctx.owner];
    let stores = DecisionStores {
        approvals: &*ctx.stores.approvals,
        grants: &*ctx.stores.grants,
        switches: &*ctx.stores.switches,
    };
    let calls = verify_calls(audit, &*ctx.stores.calls, &*ctx.stores.history, &owners).await?;
    let decisions = verify_decisions(audit, stores, &owners).await?;
    let sound = reply.sound && calls.is_sound() && decisions.is_sound();
    Ok(VerifyReply { sound, calls: Some(calls), decisions: Some(decisions), ..reply })
}
