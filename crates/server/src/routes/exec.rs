//! The door over HTTP: a model's answer goes in as its provider sent it, the messages to append to
//! the conversation come out.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::core::{Answer, Origin, RunLimits};
use toolcrib_app::providers::{self, Format};
use toolcrib_app::{ExecError, ExecReply, ExecRequest};
use toolcrib_ops::calls::{CallDocument, PendingApproval};

use crate::active_requests::{
    IDEMPOTENCY_KEY_DESCRIPTION, IDEMPOTENCY_KEY_HEADER, idempotency_key, view_request_for,
};
use crate::admission::AdmittedCaller;
use crate::api::{Api, Bytes, Json, Operation, Query};
use crate::problem::Problem;
use crate::role::Role;
use crate::state::DaemonState;

/// How the answer of the model is read.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ExecQuery {
    /// `openai-chat`, `openai-responses`, `anthropic`, `gemini` or `text`; none = it is found out.
    format: Option<String>,
}

/// What goes back to the model, and what became of each call.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ExecDocument {
    /// The format that was read, and that the messages are in.
    format: String,
    /// The messages (or items) to append after the assistant's turn; empty when there was no call.
    messages: Vec<Value>,
    /// The assistant's turn itself, for callers that read a stream.
    assistant: Value,
    /// One for each call, in their order.
    calls: Vec<ExecutedCall>,
    /// Questions that a person has to decide before the calls they are about go on.
    waiting: Vec<PendingApproval>,
    /// Calls that the provider ran itself: name, kind and what came of them.
    hosted: Vec<HostedDocument>,
    /// What was odd about the answer.
    notes: Vec<String>,
    /// Whether the answer arrived whole; when not, none of its calls was run, and each result says
    /// so.
    complete: bool,
}

/// One call of an answer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ExecutedCall {
    /// The id that the provider gave it.
    provider_id: Option<String>,
    /// What became of it.
    #[serde(flatten)]
    call: CallDocument,
}

/// A call that the provider ran itself.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct HostedDocument {
    /// The tool, when it is known.
    name: Option<String>,
    /// The provider's word for it.
    kind: String,
}

pub(super) fn routes(api: &mut Api) {
    let exec = Operation::post("/exec", Role::Caller, "Runs the calls of a model's answer, and gives the messages to append.")
        .queues_calls()
        .description("The body is the provider's answer as it came: the whole JSON body, or a recorded stream with `Content-Type: text/event-stream`. Calls that fail are results for the model to read. Calls that wait for a person say so in their message.")
        .header(IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_DESCRIPTION)
        .query::<ExecQuery>()
        .body::<Value>()
        .also_accepts("text/event-stream")
        .returns_ok::<ExecDocument>("Every call has its result.")
        .returns::<ExecDocument>(202, "A call waits for a person: `waiting` says for what.");
    api.add(exec, exec_answer);
}

async fn exec_answer(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    headers: HeaderMap,
    Query(query): Query<ExecQuery>,
    Bytes(body): Bytes,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let format = query.format.as_deref().map(str::parse::<Format>).transpose();
    let format = format.map_err(|error| Problem::invalid(error.to_string()))?;
    // How many places it needs; what cannot be read needs none.
    let calls = match format.or_else(|| providers::detect(&body)) {
        Some(format) => providers::parse(format, &body).map_or(1, |turn| turn.calls.len()),
        None => 1,
    };
    let context = Arc::clone(&daemon.calls().build_batch(&principal, Vec::new()).context);
    let (toolcrib, view) = (daemon.toolcrib().clone(), view_request_for(&principal));
    let turn = daemon.calls().acquire_permit(&principal, calls).await?;
    let work = async move {
        let request = ExecRequest {
            body: &body,
            format,
            origin: Origin::Rest,
            context,
            view,
            limits: RunLimits::default(),
            key,
        };
        toolcrib.exec(request).await.map_err(Problem::from)
    };
    Ok(answer(daemon.calls().run_with_permit(turn, work).await?))
}

fn answer(reply: ExecReply) -> Response {
    let waits = |answer: &Answer| match answer {
        Answer::Suspended(request) => Some(PendingApproval::from(&**request)),
        Answer::Done(_) => None,
    };
    let waiting: Vec<PendingApproval> =
        reply.calls.iter().filter_map(|call| waits(&call.answer)).collect();
    let status = if waiting.is_empty() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let executed = |call: toolcrib_app::ExecCall| ExecutedCall {
        provider_id: call.provider_id,
        call: call.answer.into(),
    };
    let document = ExecDocument {
        format: reply.format.to_string(),
        messages: reply.messages,
        assistant: reply.assistant,
        calls: reply.calls.into_iter().map(executed).collect(),
        waiting,
        hosted: reply
            .hosted
            .into_iter()
            .map(|hosted| HostedDocument { name: hosted.name, kind: hosted.kind })
            .collect(),
        notes: reply.notes,
        complete: reply.complete,
    };
    (status, Json(document)).into_response()
}

impl From<ExecError> for Problem {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::UnknownFormat => Self::invalid(
                "the format of this answer is not recognised, or it is cut off before it can be; say it with `?format=` (openai-chat, openai-responses, anthropic, gemini or text)",
            ),
            ExecError::Parse(error) => Self::invalid(error.to_string()),
            ExecError::Run(error) => {
                Self::invalid(error.message).with_extra(json!({"error_type": error.error_type}))
            }
            ExecError::Key(error) => error.into(),
        }
    }
}
