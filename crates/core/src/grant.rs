//! Grants: remembered approvals for later calls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::ReasonKind;
use crate::canonical_json;
use crate::id::{GrantId, RunId};
use crate::spec::Risk;
use crate::tool_pattern;

/// How long an approval is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// For this call.
    #[default]
    Once,
    /// For the rest of the run.
    Run,
    /// For the rest of the conversation.
    Conversation,
    /// Until it is revoked or expires.
    Always,
}

/// A remembered approval that also answers later questions. It is listed, can be revoked, and
/// answers only the reasons it was given for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// Owner whose calls it covers.
    pub owner: String,
    /// The exact operation it covers.
    pub operation: String,
    /// Required form of arguments by name, one glob each (`*` matches any text). Text is compared
    /// as it is, other values as JSON. Empty matches any arguments.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
    /// Hash of the tool's definition: a changed tool needs a new approval.
    pub definition_hash: String,
    /// Reasons that it answers.
    pub reasons: Vec<ReasonKind>,
    /// The highest risk it covers: the risk that was shown when it was given.
    pub risk: Risk,
    /// How long it is valid.
    pub scope: GrantScope,
    /// The run, for [`GrantScope::Run`].
    pub run: Option<RunId>,
    /// The conversation, for [`GrantScope::Conversation`].
    pub conversation: Option<String>,
    /// Name of the person who gave it.
    pub created_by: String,
    /// Creation time, Unix time in milliseconds.
    pub created_at: i64,
    /// End, Unix time in milliseconds; `None` means until it is revoked.
    pub expires_at: Option<i64>,
}

/// The call for which a grant is looked up.
#[derive(Debug, Clone, Copy)]
pub struct GrantQuery<'a> {
    /// Owner of the call.
    pub owner: &'a str,
    /// Operation of the call.
    pub operation: &'a str,
    /// Arguments of the call, in the form that people see.
    pub args: &'a Value,
    /// Current hash of the tool's definition.
    pub definition_hash: &'a str,
    /// Assessed risk of the call.
    pub risk: Risk,
    /// Run of the call.
    pub run: Option<RunId>,
    /// Conversation of the call; empty if it has none.
    pub conversation: &'a str,
    /// Current Unix time in milliseconds.
    pub now_ms: i64,
}

impl Grant {
    /// Returns whether this grant answers a question of this kind about the call.
    #[must_use]
    pub fn covers(&self, query: &GrantQuery<'_>, reason: ReasonKind) -> bool {
        let in_scope = match self.scope {
            GrantScope::Once => false,
            GrantScope::Run => self.run.is_some() && self.run == query.run,
            GrantScope::Conversation => {
                !query.conversation.is_empty()
                    && self.conversation.as_deref() == Some(query.conversation)
            }
            GrantScope::Always => true,
        };
        in_scope
            && self.owner == query.owner
            && self.operation == query.operation
            && self.matches_args(query.args)
            && self.definition_hash == query.definition_hash
            && query.risk <= self.risk
            && self.reasons.contains(&reason)
            && self.expires_at.is_none_or(|end| query.now_ms < end)
    }

    /// Returns whether the arguments match the grant's globs.
    #[must_use]
    pub fn matches_args(&self, args: &Value) -> bool {
        self.args.iter().all(|(name, pattern)| match args.get(name) {
            Some(Value::String(text)) => tool_pattern::glob_matches(pattern, text),
            Some(value) => tool_pattern::glob_matches(pattern, &canonical_json::to_string(value)),
            None => false,
        })
    }
}
