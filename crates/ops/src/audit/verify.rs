//! Verifies that no record of the audit was changed, removed, added or moved.

use serde::Serialize;
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

/// The result of a verification.
#[derive(Debug, Clone, Serialize)]
pub struct VerifyReply {
    /// Whether there are no findings.
    pub sound: bool,
    /// Each chain with its findings.
    pub chains: Vec<ChainReport>,
    /// The calls, if they were compared.
    pub calls: Option<CallsReport>,
    /// Questions, grants and switches, if they were compared.
    pub decisions: Option<DecisionsReport>,
    /// Remarks that are not findings.
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
