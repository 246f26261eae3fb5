//! A stored call that a person repeats: the same tool with the same arguments, as a new call of
//! that person.

use serde_json::Value;
use toolcrib_core::{CallDetails, CallId, ConversationId, canonical_json};

use super::lookup::CallLookup;
use crate::context::OpContext;
use crate::error::OpError;
use crate::tools::find_tool;

/// The call to repeat.
#[derive(Debug, Clone, Copy)]
pub struct RepeatCallRequest {
    /// Its id.
    pub call: CallId,
}

/// The content of the repeated call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallToRepeat {
    /// Canonical name of the tool.
    pub tool: String,
    /// The arguments that the tool got.
    pub arguments: Value,
    /// The conversation of the call, if it still exists.
    pub conversation: Option<ConversationId>,
}

/// Returns the tool and the arguments of a stored call. Nothing runs here: the surface makes the
/// call, which passes every check of a new call.
///
/// # Errors
/// [`OpError::NotFound`] for an unknown call and for a tool that is gone, [`OpError::Denied`] for a
/// caller that sees no arguments, [`OpError::Conflict`] if the arguments are not stored unchanged,
/// because they contain a secret or are too long. [`OpError::Store`].
pub async fn call_to_repeat(
    ctx: &OpContext<'_>,
    request: RepeatCallRequest,
) -> Result<CallToRepeat, OpError> {
    if !ctx.store.shows_payloads {
        return Err(OpError::Denied("you may not see arguments".to_owned()));
    }
    let call = request.call;
    let found = CallLookup::find(&ctx.store, call).await?;
    let not_begun =
        || OpError::Conflict(format!("{call} has not begun; decide about it, or wait for it"));
    let facts = found.stored.map(|stored| stored.row.facts).ok_or_else(not_begun)?;
    let named = facts.tool.as_ref().map(ToString::to_string).or_else(|| facts.asked.clone());
    let tool = find_tool(ctx.toolcrib, &named.unwrap_or_default())?.name.to_string();
    let arguments = stored_arguments(&facts)?;
    let conversation = facts.context.conversation.parse().ok();
    let conversation = match conversation {
        Some(id) => {
            let found = ctx.store.stores.runs.conversation(id).await?;
            found.filter(|found| found.owner == ctx.store.owner).map(|found| found.id)
        }
        None => None,
    };
    Ok(CallToRepeat { tool, arguments, conversation })
}

/// Returns the arguments, if they are stored unchanged: the hash covers the unmasked ones.
fn stored_arguments(facts: &CallDetails) -> Result<Value, OpError> {
    let call = facts.call;
    let Some(text) = &facts.args else {
        return Err(OpError::Conflict(format!(
            "the arguments of {call} are too long to be stored, or were never complete; make a new call with them"
        )));
    };
    if facts.args_hash.as_deref() != Some(canonical_json::sha256_text(text).as_str()) {
        return Err(OpError::Conflict(format!(
            "a secret was in the arguments of {call}, and secrets are not stored; make a new call with it"
        )));
    }
    serde_json::from_str(text).map_err(|error| OpError::Internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_testkit::conformance::call_facts;

    use super::*;

    #[test]
    fn arguments_with_a_masked_secret_are_not_sent_again() {
        let check = |stored: Option<Value>, real: Value, expected: Option<Value>| {
            let facts = CallDetails {
                args: stored.map(|args| canonical_json::to_string(&args)),
                args_hash: Some(canonical_json::sha256(&real)),
                ..call_facts("ann")
            };
            assert_eq!(stored_arguments(&facts).ok(), expected, "{facts:?}");
        };
        let plain = json!({"path": "a", "note": "*** is no secret here"});
        check(Some(plain.clone()), plain.clone(), Some(plain.clone()));
        check(Some(json!({"key": "***"})), json!({"key": "hunter2"}), None);
        check(None, plain, None);
    }
}
