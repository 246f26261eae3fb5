//! Verifies that no record of the audit was changed, removed, added or moved.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolcrib_audit::{
    CallsReport, ChainReport, DecisionStores, DecisionsReport, Evidence, Remark, verify_calls,
    verify_decisions,
};
use toolcrib_core::audit::LOCAL_CHAIN;
use toolcrib_core::{AuditStore, StoreError};

use super::evidence::{EvidenceSummary, FoundEvidence};
use crate::context::StoreContext;
use crate::error::OpError;

/// The scope and the evidence of the verification.
#[derive(Debug, Clone, Default)]
pub struct VerifyRequest {
    /// Trusted keys and anchors.
    pub evidence: FoundEvidence,
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
    /// The keys and anchors that were used.
    pub evidence: EvidenceSummary,
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
        let evidence = evidence.into();
        Self { sound, evidence, chains, calls: None, decisions: None, remarks }
    }
}

/// Verifies the chains of the store, and with `rows` the rows of this owner.
///
/// # Errors
/// [`OpError::Unreadable`] if records were signed and there is no key, [`OpError::Store`].
pub async fn verify(
    ctx: &StoreContext<'_>,
    request: VerifyRequest,
) -> Result<VerifyReply, OpError> {
    let audit = &*ctx.stores.audit;
    let has_keys = request.evidence.keys.is_some();
    if !has_keys && (request.evidence.is_anchored() || has_checkpoints(audit).await?) {
        let words = "there is no public key to verify the checkpoints";
        return Err(OpError::Unreadable(words.to_owned()));
    }
    let evidence = Evidence::from(request.evidence);
    let chains = toolcrib_audit::verify(audit, &evidence).await?;
    let reply = VerifyReply::of_chains(chains, &evidence);
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

/// Returns whether any chain was ever signed. A database without its records may still have its
/// checkpoints.
async fn has_checkpoints(audit: &dyn AuditStore) -> Result<bool, StoreError> {
    let chains = audit.chains().await?.into_iter().map(|(chain, _)| chain);
    for chain in chains.chain([LOCAL_CHAIN]) {
        if !audit.checkpoints(chain).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
