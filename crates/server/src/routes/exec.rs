//! The pipeline over HTTP: accepts a model's response in the provider's format, and returns the
//! messages to append to the conversation.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::{ExecError, ExecReply, ExecRequest};
use toolcrib_core::{Origin, RunLimits};
use toolcrib_ops::calls::ExecDocument;
use toolcrib_providers::{self, Format};

use crate::active_requests::{
    IDEMPOTENCY_KEY_DESCRIPTION, IDEMPOTENCY_KEY_HEADER, idempotency_key, view_request_for,
};
use crate::admission::AdmittedCaller;
use crate::api::{Api, Bytes, Json, Operation, Query};
use crate::problem::Problem;
use crate::role::Role;
use crate::state::DaemonState;

/// The format of the model's response.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ExecQuery {
    /// `openai-chat`, `openai-responses`, `anthropic`, `gemini` or `text`; by default it is
    /// detected.
    format: Option<String>,
}

pub(super) fn routes(api: &mut Api) {
    let exec = Operation::post("/exec", Role::Caller, "Runs the calls of a model's response, and returns the messages to append.")
        .queues_calls()
        .description("The body is the unchanged response of the provider: the whole JSON body, or a recorded stream with `Content-Type: text/event-stream`. Failed calls are results for the model. The message of a call that waits for a person says so.")
        .header(IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_DESCRIPTION)
        .query::<ExecQuery>()
        .body::<Value>()
        .also_accepts("text/event-stream")
        .returns_ok::<ExecDocument>("Every call has its result.")
        .returns::<ExecDocument>(202, "A call waits for a person; `waiting` has the question.");
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
    // Number of slots that the calls need; a response that cannot be parsed needs none.
    let calls = match format.or_else(|| toolcrib_providers::detect(&body)) {
        Some(format) => toolcrib_providers::parse(format, &body).map_or(1, |turn| turn.calls.len()),
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
    let document = ExecDocument::from(reply);
    let is_decided = document.waiting.is_empty();
    let status = if is_decided { StatusCode::OK } else { StatusCode::ACCEPTED };
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
