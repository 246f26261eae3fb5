//! Runs the tool calls of one model response and returns the messages to append to the
//! conversation.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{
    Answer, Batch, Call, Context, ErrorType, Invoker as _, Label, LabelSource, Labels,
    ModelCapabilities, Origin, RawArgs, RunId, RunLimits, RunSpec, ToolError, ViewRequest,
};
use toolcrib_engine::{Engine, SubmitError};
use toolcrib_providers::{
    self as providers, CallResult, Format, HostedCall, ParseError, ResultEntry,
};

use crate::call_idempotency;
use crate::toolcrib::Toolcrib;

/// One response of a model.
#[derive(Debug, Clone)]
pub struct ExecRequest<'a> {
    /// The whole response body, or a recorded stream.
    pub body: &'a [u8],
    /// Format of the response; `None` detects it from the body.
    pub format: Option<Format>,
    /// The origin of the calls.
    pub origin: Origin,
    /// The context of the calls.
    pub context: Arc<Context>,
    /// The tools that may be called; `exec` sets the field `model`.
    pub view: ViewRequest,
    /// Limits of these calls together. With a key, only the number of calls is limited.
    pub limits: RunLimits,
    /// Idempotency key of this response: repeating it returns the first results, and nothing runs
    /// twice. Such calls belong to no run, because another process that takes them over after a
    /// crash would not have that run any more. They therefore share no budget of time or tokens;
    /// each has its own timeout.
    pub key: Option<String>,
}

/// One call with its outcome.
#[derive(Debug, Clone)]
pub struct ExecCall {
    /// Call id of the provider.
    pub provider_id: Option<String>,
    /// The outcome.
    pub answer: Answer,
}

/// The result of [`Toolcrib::exec`](crate::Toolcrib::exec).
#[derive(Debug, Clone)]
pub struct ExecReply {
    /// The format of the response and of the messages.
    pub format: Format,
    /// The messages or items to append after the assistant's turn; empty if the response has no
    /// call.
    pub messages: Vec<Value>,
    /// The assistant's turn, assembled for callers that passed a stream.
    pub assistant: Value,
    /// One entry per call, in order.
    pub calls: Vec<ExecCall>,
    /// Calls that the provider ran itself.
    pub hosted: Vec<HostedCall>,
    /// Irregularities in the response.
    pub notes: Vec<String>,
    /// Whether the response is complete. If not, none of its calls ran, and each result says so.
    pub complete: bool,
}

/// The reason why no call ran.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The format was not given and cannot be detected.
    #[error(
        "the format of this response is not recognised, or it is cut off before it can be; say it with --format (openai-chat, openai-responses, anthropic, gemini or text)"
    )]
    UnknownFormat,
    /// The body cannot be parsed.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The run could not be opened, or the response has more calls than allowed.
    #[error("{}", .0.message)]
    Run(ToolError),
    /// The calls were not accepted under their idempotency key.
    #[error(transparent)]
    Key(#[from] SubmitError),
}

impl Toolcrib {
    /// Runs the calls of one response of a model; the reply contains the messages to append to its
    /// conversation.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use toolcrib_core::{Context, Origin, RunLimits, ViewRequest};
    /// use toolcrib_app::{ExecRequest, Settings, Toolcrib};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let home = tempfile::tempdir()?;
    /// # let (workspace, state) = (home.path().join("workspace"), home.path().join("state"));
    /// # std::fs::create_dir(&workspace)?;
    /// let toolcrib = Toolcrib::builder(Settings::new(&workspace, &state)).build().await?;
    /// let body = br#"{"content": [
    ///     {"type": "tool_use", "id": "toolu_1", "name": "get_current_time", "input": {}}
    /// ], "role": "assistant", "type": "message", "stop_reason": "tool_use"}"#;
    /// let request = ExecRequest {
    ///     body,
    ///     format: None,
    ///     origin: Origin::Model,
    ///     context: Arc::new(Context::default()),
    ///     view: ViewRequest::default(),
    ///     limits: RunLimits::default(),
    ///     key: None,
    /// };
    /// let reply = toolcrib.exec(request).await?;
    /// assert_eq!(reply.messages[0]["content"][0]["tool_use_id"], "toolu_1");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ExecError`] if the response cannot be read. A failed call is not an error but a result.
    pub async fn exec(&self, request: ExecRequest<'_>) -> Result<ExecReply, ExecError> {
        run_exec(self, request).await
    }
}

async fn run_exec(toolcrib: &Toolcrib, request: ExecRequest<'_>) -> Result<ExecReply, ExecError> {
    let format = match request.format {
        Some(format) => format,
        None => providers::detect(request.body).ok_or_else(|| unknown_format(request.body))?,
    };
    let turn = providers::parse(format, request.body)?;
    let view = Arc::new(ViewRequest {
        model: ModelCapabilities { provider: format.to_string(), allow: None },
        ..request.view
    });
    let names = toolcrib.declare(format, &view, false).names;
    // An undeclared name is passed on unchanged, and the pipeline rejects it.
    let original = |name: &str| names.original(name).unwrap_or(name).to_owned();
    let calls: Vec<Call> =
        turn.calls.iter().map(|call| Call::new(original(&call.name), call.args.clone())).collect();
    let context = toolcrib.with_workspace(request.context);
    let batch = Batch { view, context, ..Batch::new(request.origin, calls) };
    // A response cut off so early that no call can run does not use up the key: the complete
    // response may be sent under it.
    let runs = batch.calls.iter().any(|call| !matches!(call.args, RawArgs::Broken(_)));
    let answers = match request.key.as_deref().filter(|_| runs) {
        Some(key) => invoke_with_key(toolcrib.engine(), batch, request.limits, key).await?,
        None => {
            let labels = hosted_labels(&turn.hosted);
            invoke_in_run(toolcrib.engine(), batch, request.limits, labels).await?
        }
    };
    let replies: Vec<ResultEntry<'_>> = answers
        .iter()
        .enumerate()
        .map(|(call, answer)| ResultEntry { call, answer: to_provider_answer(answer) })
        .collect();
    let messages = providers::result_messages(&turn, &replies);
    let calls = turn
        .calls
        .into_iter()
        .zip(answers)
        .map(|(call, answer)| ExecCall { provider_id: call.provider_id, answer })
        .collect();
    Ok(ExecReply {
        format,
        messages,
        assistant: turn.assistant,
        calls,
        hosted: turn.hosted,
        notes: turn.notes,
        complete: turn.complete,
    })
}

/// Returns the taint labels of the response itself, from content that the provider looked up. Only
/// the caller knows what the model had read before.
fn hosted_labels(hosted: &[HostedCall]) -> Labels {
    let mut labels = Labels::default();
    if let Some(call) = hosted.first() {
        let tool = call.name.clone().unwrap_or_else(|| call.kind.clone());
        labels.raise(Label::Untrusted, LabelSource { call: None, tool, source: None });
    }
    labels
}

async fn invoke_in_run(
    engine: &Engine,
    batch: Batch,
    limits: RunLimits,
    labels: Labels,
) -> Result<Vec<Answer>, ExecError> {
    let spec = RunSpec { limits, labels, ..RunSpec::default() };
    let run = engine.open_run(spec).map_err(ExecError::Run)?;
    let _open = OpenRun { engine, run };
    Ok(engine.invoke(Batch { run: Some(run), ..batch }).await)
}

async fn invoke_with_key(
    engine: &Engine,
    batch: Batch,
    limits: RunLimits,
    key: &str,
) -> Result<Vec<Answer>, ExecError> {
    if let Some(most) = limits.calls.filter(|&most| batch.calls.len() as u64 > most) {
        let text =
            format!("The response has {} calls, more than the {most} it may.", batch.calls.len());
        return Err(ExecError::Run(ToolError::new(ErrorType::BudgetExceeded, text)));
    }
    Ok(call_idempotency::invoke_once_and_wait(engine, batch, key).await?)
}

/// An open run, closed on drop even if the caller's future is cancelled.
struct OpenRun<'a> {
    engine: &'a Engine,
    run: RunId,
}

impl Drop for OpenRun<'_> {
    fn drop(&mut self) {
        self.engine.close_run(self.run);
    }
}

/// Returns the error for a body in an unknown format, with a guess at its kind.
fn unknown_format(body: &[u8]) -> ExecError {
    match providers::parse(Format::OpenAiChat, body) {
        Err(
            error @ (ParseError::Empty | ParseError::Html { .. } | ParseError::Provider { .. }),
        ) => error.into(),
        _ => ExecError::UnknownFormat,
    }
}

fn to_provider_answer(answer: &Answer) -> CallResult<'_> {
    match answer {
        Answer::Done(outcome) => CallResult::Outcome(outcome),
        Answer::Suspended(request) => CallResult::Suspended(&request.summary),
    }
}
