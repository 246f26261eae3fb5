//! Repeats a stored call, as a new call of the requesting principal.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::CallId;
use toolcrib_ops::calls::{self, CallToRepeat, CallerContextRequest, RepeatCallRequest};

use super::document::document_status_codes;
use super::start::{NewCall, in_context, parse_wait, start_call};
use crate::active_requests::{
    IDEMPOTENCY_KEY_DESCRIPTION, IDEMPOTENCY_KEY_HEADER, idempotency_key,
};
use crate::admission::AdmittedCaller;
use crate::api::{Api, Json, Operation, Path};
use crate::problem::Problem;
use crate::role::Role;
use crate::state::DaemonState;

/// Options for repeating a call.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct RepeatCall {
    /// Milliseconds to wait for its end, at most 600,000; 0 = do not wait, absent = without limit.
    #[schemars(range(max = 600_000))]
    wait_ms: Option<u64>,
}

pub(super) fn routes(api: &mut Api) {
    let again = Operation::post(
        "/calls/{id}/again",
        Role::Caller,
        "Makes a call once more: the same tool with the same arguments.",
    );
    let again = again
        .queues_calls()
        .description("It is a new call of yours: policy decides about it again, and a person where it has to. It belongs to the conversation of the first one while that exists. A call whose arguments had a secret in them, or are too long to be stored, is a `conflict`.")
        .header(IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_DESCRIPTION)
        .body::<RepeatCall>();
    api.add(document_status_codes(again), repeat_call);
}

async fn repeat_call(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    headers: HeaderMap,
    Path(call): Path<CallId>,
    Json(body): Json<RepeatCall>,
) -> Result<Response, Problem> {
    let (wait, key) = (parse_wait(body.wait_ms)?, idempotency_key(&headers)?);
    daemon.require_call(&principal, call).await?;
    let ctx = daemon.op_context(&principal, None);
    let found = calls::call_to_repeat(&ctx, RepeatCallRequest { call }).await?;
    let CallToRepeat { tool, arguments, conversation } = found;
    let new = NewCall { tool: tool.clone(), arguments };
    let batch = daemon.calls().build_batch(&principal, vec![new.call()]);
    let topic = Some(format!("the call {call} again"));
    let context = CallerContextRequest { agent: None, conversation, topic };
    let batch = in_context(&daemon, &principal, batch, context).await?;
    start_call(&daemon, &principal, batch, &tool, wait, key.as_deref(), None).await
}
