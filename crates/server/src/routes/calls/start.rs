//! Starts calls, and waits for them as long as the client requests.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{Answer, Batch, Call, CallId, ConversationId, RawArgs};
use toolcrib_ops::calls::{self, CallDocument, CallState, CallerContextRequest, ResultLimit};

use super::document::{accepted_response, answer_response, no_answer};
use crate::active_requests::{CallsReply, MAX_BATCH_CALLS, idempotency_key};
use crate::admission::AdmittedCaller;
use crate::api::{BASE, Json};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Maximum `wait_ms` of a request (10 minutes). Without `wait_ms`, the request waits until the call
/// ends.
const MAX_WAIT_MS: u64 = 600_000;

/// One call.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewCall {
    /// Name of the tool, canonical or an alias.
    #[schemars(length(min = 1))]
    pub(crate) tool: String,
    /// Its arguments: an object, or the JSON text of one as a model wrote it. Absent = `{}`.
    #[serde(default)]
    pub(crate) arguments: Value,
}

impl NewCall {
    /// Returns the call. Text arguments are parsed as output of a model; other values are used
    /// unchanged.
    pub(crate) fn call(self) -> Call {
        let args = match self.arguments {
            Value::String(text) => RawArgs::Text(text),
            Value::Null => RawArgs::Text(String::new()),
            value => RawArgs::Value(value),
        };
        Call::new(self.tool, args)
    }
}

/// A call to be made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartCall {
    /// Name of the tool, canonical or an alias.
    #[schemars(length(min = 1))]
    tool: String,
    /// Its arguments: an object, or the JSON text of one as a model wrote it. Absent = `{}`.
    #[serde(default)]
    arguments: Value,
    /// Milliseconds to wait for its end, at most 600,000; 0 = do not wait, absent = without limit.
    /// A call with this field is stored before it starts, and continues after a restart of the
    /// daemon.
    #[schemars(range(max = 600_000))]
    wait_ms: Option<u64>,
    /// Name of the agent that makes the call: its tool list limits it, and rules for it apply.
    agent: Option<String>,
    /// A conversation of the caller, whose grants, shell and stored results apply.
    conversation: Option<String>,
    /// Purpose of the call, in at most 200 characters, for history and audit.
    #[schemars(length(max = 200))]
    topic: Option<String>,
    /// The maximum number of tokens of its result in this response, at least 64; the stored call
    /// has the whole result.
    #[schemars(range(min = 64))]
    max_tokens: Option<u32>,
}

/// Several calls that run concurrently.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartCalls {
    /// The calls, 1 to 100.
    #[schemars(length(min = 1, max = 100))]
    calls: Vec<NewCall>,
    /// Milliseconds to wait for the last of them; as with one call.
    #[schemars(range(max = 600_000))]
    wait_ms: Option<u64>,
    /// Name of the agent that makes the calls; as with one call.
    agent: Option<String>,
    /// A conversation of the caller; as with one call.
    conversation: Option<String>,
    /// Purpose of the calls; as with one call.
    #[schemars(length(max = 200))]
    topic: Option<String>,
    /// Maximum number of tokens of each result; as with one call.
    #[schemars(range(min = 64))]
    max_tokens: Option<u32>,
}

/// The outcomes of several calls.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CallsDocument {
    /// One for each call, in their order.
    pub(crate) calls: Vec<CallDocument>,
}

pub(super) fn parse_wait(millis: Option<u64>) -> Result<Option<Duration>, Problem> {
    match millis {
        Some(millis) if millis > MAX_WAIT_MS => {
            Err(Problem::invalid(format!("wait_ms is at most {MAX_WAIT_MS}")))
        }
        millis => Ok(millis.map(Duration::from_millis)),
    }
}

pub(super) async fn start_one(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    headers: HeaderMap,
    Json(body): Json<StartCall>,
) -> Result<Response, Problem> {
    let (wait, key) = (parse_wait(body.wait_ms)?, idempotency_key(&headers)?);
    let limit = body.max_tokens.map(ResultLimit::new).transpose()?;
    let StartCall { tool, arguments, agent, conversation, topic, .. } = body;
    let call = NewCall { tool: tool.clone(), arguments }.call();
    let batch = daemon.calls().build_batch(&principal, vec![call]);
    let context = context_request(agent, conversation.as_deref(), topic)?;
    let batch = in_context(&daemon, &principal, batch, context).await?;
    start_call(&daemon, &principal, batch, &tool, wait, key.as_deref(), limit).await
}

/// Starts the one call of a batch, and responds with its state when it ends or the wait time is
/// over.
pub(super) async fn start_call(
    daemon: &DaemonState,
    principal: &AdmittedCaller,
    batch: Batch,
    tool: &str,
    wait: Option<Duration>,
    key: Option<&str>,
    limit: Option<ResultLimit>,
) -> Result<Response, Problem> {
    let (id, response) = match daemon.calls().run(principal, batch, wait, key).await? {
        CallsReply::Answers(mut answers) => {
            let given = limited(answers.pop().ok_or_else(no_answer)?, limit);
            (id_of(&given), answer_response(given))
        }
        CallsReply::Accepted(calls) => {
            let id = *calls.first().ok_or_else(no_answer)?;
            (id, accepted_response(id, tool))
        }
    };
    Ok(with_location(response, id))
}

pub(super) async fn start_batch(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    headers: HeaderMap,
    Json(body): Json<StartCalls>,
) -> Result<Response, Problem> {
    let (wait, key) = (parse_wait(body.wait_ms)?, idempotency_key(&headers)?);
    if body.calls.is_empty() || body.calls.len() > MAX_BATCH_CALLS {
        return Err(Problem::invalid(format!("a batch has 1 to {MAX_BATCH_CALLS} calls")));
    }
    let limit = body.max_tokens.map(ResultLimit::new).transpose()?;
    let names: Vec<String> = body.calls.iter().map(|call| call.tool.clone()).collect();
    let calls = body.calls.into_iter().map(NewCall::call).collect();
    let batch = daemon.calls().build_batch(&principal, calls);
    let context = context_request(body.agent, body.conversation.as_deref(), body.topic)?;
    let batch = in_context(&daemon, &principal, batch, context).await?;
    let calls: Vec<CallDocument> =
        match daemon.calls().run(&principal, batch, wait, key.as_deref()).await? {
            CallsReply::Answers(answers) => {
                answers.into_iter().map(|answer| limited(answer, limit).into()).collect()
            }
            CallsReply::Accepted(ids) => {
                let bare =
                    |(id, name)| CallDocument::with_status_only(id, name, CallState::Running);
                ids.into_iter().zip(names).map(bare).collect()
            }
        };
    let open = |call: &CallDocument| matches!(call.status, CallState::Running | CallState::Waiting);
    let status = if calls.iter().any(open) { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, Json(CallsDocument { calls })).into_response())
}

/// Limits the result to the number of tokens that the caller requested.
fn limited(answer: Answer, limit: Option<ResultLimit>) -> Answer {
    match limit {
        Some(limit) => limit.apply(answer),
        None => answer,
    }
}

pub(crate) fn context_request(
    agent: Option<String>,
    conversation: Option<&str>,
    topic: Option<String>,
) -> Result<CallerContextRequest, Problem> {
    let conversation = conversation.map(str::parse::<ConversationId>).transpose();
    let conversation = conversation.map_err(|error| Problem::invalid(error.to_string()))?;
    Ok(CallerContextRequest { agent, conversation, topic })
}

/// Adds the agent, the conversation and the topic that the caller names.
pub(crate) async fn in_context(
    daemon: &DaemonState,
    principal: &Principal,
    batch: Batch,
    request: CallerContextRequest,
) -> Result<Batch, Problem> {
    if request == CallerContextRequest::default() {
        return Ok(batch);
    }
    let library = daemon.runner().library();
    let ctx = daemon.op_context(principal, Some(&library));
    Ok(calls::with_caller_context(&ctx, batch, request).await?)
}

fn id_of(answer: &Answer) -> CallId {
    match answer {
        Answer::Done(outcome) => outcome.call,
        Answer::Suspended(request) => request.call,
    }
}

/// Adds the `Location` of the call.
fn with_location(mut response: Response, call: CallId) -> Response {
    if let Ok(place) = HeaderValue::from_str(&format!("{BASE}/calls/{call}")) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}
