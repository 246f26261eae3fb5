//! A grant in the replies of these operations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::approval::ReasonKind;
use toolcrib_core::{Grant, GrantId, GrantScope, Risk, RunId};

use super::PastCalls;
use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// A remembered approval: matching calls no longer ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GrantRow")]
pub struct GrantReply {
    /// Its id.
    #[schemars(with = "String")]
    pub id: GrantId,
    /// The operation that it covers, exactly.
    pub operation: String,
    /// Required values of arguments, by name: a glob for each; empty = any. Absent for viewers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub args: Option<BTreeMap<String, String>>,
    /// Hash of the tool's definition: calls of a changed tool ask again.
    pub definition_hash: String,
    /// The reasons for asking that it covers.
    #[schemars(with = "Value")]
    pub reasons: Vec<ReasonKind>,
    /// The highest risk that it covers: `safe`, `high` or `critical`.
    #[schemars(with = "Value")]
    pub risk: Risk,
    /// Its scope: `run`, `conversation` or `always`.
    #[schemars(with = "Value")]
    pub scope: GrantScope,
    /// The run, for the scope `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub run: Option<RunId>,
    /// The conversation, for the scope `conversation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The person or token that gave it.
    pub created_by: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970; absent = until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Past calls that it would have matched, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub past_calls: Option<PastCalls>,
}

impl GrantReply {
    pub(super) fn new(ctx: &StoreContext<'_>, grant: Grant) -> Self {
        Self {
            id: grant.id,
            operation: grant.operation,
            args: ctx.shows_payloads.then_some(grant.args),
            definition_hash: grant.definition_hash,
            reasons: grant.reasons,
            risk: grant.risk,
            scope: grant.scope,
            run: grant.run,
            conversation: grant.conversation,
            created_by: grant.created_by,
            created_at: grant.created_at,
            expires_at: grant.expires_at,
            past_calls: None,
        }
    }

    /// Returns the stored grant. Arguments that the reply omits are also missing in it.
    #[must_use]
    pub fn to_grant(&self, owner: &str) -> Grant {
        Grant {
            id: self.id,
            owner: owner.to_owned(),
            operation: self.operation.clone(),
            args: self.args.clone().unwrap_or_default(),
            definition_hash: self.definition_hash.clone(),
            reasons: self.reasons.clone(),
            risk: self.risk,
            scope: self.scope,
            run: self.run,
            conversation: self.conversation.clone(),
            created_by: self.created_by.clone(),
            created_at: self.created_at,
            expires_at: self.expires_at,
        }
    }
}

/// Returns the stored grant of this owner.
pub(super) async fn find(ctx: &StoreContext<'_>, id: GrantId) -> Result<Grant, OpError> {
    let grants = ctx.stores.grants.list(ctx.owner).await?;
    let found = grants.into_iter().find(|grant| grant.id == id);
    found.ok_or_else(|| OpError::not_found(Resource::Grant, id))
}
