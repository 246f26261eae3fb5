//! Remembered approvals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::ReasonKind;
use crate::canonical;
use crate::id::{GrantId, RunId};
use crate::pattern;
use crate::spec::Risk;

/// How long an approval holds.
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
    /// From now on.
    Always,
}

/// An approval that answers later questions too. It is listed, it can be revoked, and it answers only the reasons it was given for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// Whose calls it covers.
    pub owner: String,
    /// The operation it covers, exactly.
    pub operation: String,
    /// What arguments must look like, by name: a glob for each (`*` is any text). Text is compared as it is, other values as JSON. Empty =
    /// any arguments.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
    /// Hash of the tool's definition: a changed tool is asked about again.
    pub definition_hash: String,
    /// Reasons it answers.
    pub reasons: Vec<ReasonKind>,
    /// The highest risk it answers for: what was shown when it was given.
    pub risk: Risk,
    /// How long it holds.
    pub scope: GrantScope,
    /// The run, for [`GrantScope::Run`].
    pub run: Option<RunId>,
    /// The conversation, for [`GrantScope::Conversation`].
    pub conversation: Option<String>,
    /// Who gave it.
    pub created_by: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970; `None` = until revoked.
    pub expires_at: Option<i64>,
}

/// The call that a grant is looked up for.
#[derive(Debug, Clone, Copy)]
pub struct GrantQuery<'a> {
    /// Owner of the call.
    pub owner: &'a str,
    /// Operation of the call.
    pub operation: &'a str,
    /// Arguments of the call, as people see them.
    pub args: &'a Value,
    /// Hash of the tool's definition now.
    pub definition_hash: &'a str,
    /// Assessed risk of the call.
    pub risk: Risk,
    /// Run of the call.
    pub run: Option<RunId>,
    /// Conversation of the call; empty = none.
    pub conversation: &'a str,
    /// Now, in milliseconds since 1970.
    pub now_ms: i64,
}

impl Grant {
    /// Whether this grant covers the call, for a question of this kind.
    #[must_use]
    pub fn answers(&self, query: &GrantQuery<'_>, reason: ReasonKind) -> bool {
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
            && self.fits(query.args)
            && self.definition_hash == query.definition_hash
            && query.risk <= self.risk
            && self.reasons.contains(&reason)
            && self.expires_at.is_none_or(|end| query.now_ms < end)
    }

    /// Whether arguments look as they must.
    #[must_use]
    pub fn fits(&self, args: &Value) -> bool {
        self.args.iter().all(|(name, pattern)| match args.get(name) {
            Some(Value::String(text)) => pattern::glob(pattern, text),
            Some(value) => pattern::glob(pattern, &canonical::to_string(value)),
            None => false,
        })
    }
}
