//! What a model answered goes in, the messages to append to its conversation come out.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{
    Answer, Batch, Call, Context, ErrorType, Invoker as _, Label, Labels, ModelAbility, Origin,
    Raised, RawArgs, RunId, RunLimits, RunSpec, ToolError, ViewRequest,
};
use toolcrib_engine::{Engine, SubmitError};
use toolcrib_providers::{self as providers, Answered, Format, HostedCall, ParseError, Reply};

use crate::keyed;
use crate::toolcrib::Toolcrib;

/// One response of a model.
#[derive(Debug, Clone)]
pub struct ExecRequest<'a> {
    /// The whole response body, or a recorded stream.
    pub body: &'a [u8],
    /// Its format; `None` = found out from the body.
    pub format: Option<Format>,
    /// Who asks.
    pub origin: Origin,
    /// Whose calls they are.
    pub context: Arc<Context>,
    /// Which tools may be called; its model is filled in.
    pub view: ViewRequest,
    /// What these calls may use together. Under a key only the number of calls counts.
    pub limits: RunLimits,
    /// The caller's own word for this response, an idempotency key: sent again, nothing of it runs twice, and the answers are those of the
    /// first time. Its calls belong to no run then: one that another process goes on with after a crash would be gone by then. So they have
    /// no budget of time or tokens together, each has its own timeout.
    pub key: Option<String>,
}

/// One call with what became of it.
#[derive(Debug, Clone)]
pub struct ExecCall {
    /// The provider's id.
    pub provider_id: Option<String>,
    /// What became of it.
    pub answer: Answer,
}

/// What goes back.
#[derive(Debug, Clone)]
pub struct ExecReply {
    /// The format that was read, and that the messages are in.
    pub format: Format,
    /// The messages (or items) to append after the assistant's turn; empty when there was no call.
    pub messages: Vec<Value>,
    /// The assistant's turn itself, for callers that read a stream.
    pub assistant: Value,
    /// One per call, in order.
    pub calls: Vec<ExecCall>,
    /// Calls that the provider ran itself.
    pub hosted: Vec<HostedCall>,
    /// What was odd about the response.
    pub notes: Vec<String>,
    /// Whether the response arrived whole; when not, none of its calls was run, and each result says so.
    pub complete: bool,
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The format was not given and cannot be told from the body.
    #[error(
        "the format of this response is not recognised, or it is cut off before it can be; say it with --format (openai-chat, openai-responses, anthropic, gemini or text)"
    )]
    UnknownFormat,
    /// The body cannot be read.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// No run could be opened, or the response has more calls than it may.
    #[error("{}", .0.message)]
    Run(ToolError),
    /// The calls were not accepted under their key.
    #[error(transparent)]
    Key(#[from] SubmitError),
}

pub(crate) async fn run(
    toolcrib: &Toolcrib,
    request: ExecRequest<'_>,
) -> Result<ExecReply, ExecError> {
    let format = match request.format {
        Some(format) => format,
        None => providers::detect(request.body).ok_or_else(|| no_format(request.body))?,
    };
    let turn = providers::parse(format, request.body)?;
    let view = Arc::new(ViewRequest {
        model: ModelAbility { provider: format.to_string(), allow: None },
        ..request.view
    });
    let names = toolcrib.declare(format, &view, false).names;
    // What is no declared name is asked for as it is, and the door says what it thinks of it.
    let original = |name: &str| names.original(name).unwrap_or(name).to_owned();
    let calls: Vec<Call> =
        turn.calls.iter().map(|call| Call::new(original(&call.name), call.args.clone())).collect();
    let context = toolcrib.placed(request.context);
    let batch = Batch { view, context, ..Batch::new(request.origin, calls) };
    // A response that was cut off so early that none of its calls can run may come again, whole, under the same key.
    let runs = batch.calls.iter().any(|call| !matches!(call.args, RawArgs::Broken(_)));
    let answers = match request.key.as_deref().filter(|_| runs) {
        Some(key) => under_key(toolcrib.engine(), batch, request.limits, key).await?,
        None => {
            let labels = searched(&turn.hosted);
            in_a_run(toolcrib.engine(), batch, request.limits, labels).await?
        }
    };
    let replies: Vec<Reply<'_>> = answers
        .iter()
        .enumerate()
        .map(|(call, answer)| Reply { call, answer: answered(answer) })
        .collect();
    let messages = providers::reply(&turn, &replies);
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

/// What the model read in the response itself: what its provider looked up for it. What it read before, only the caller knows.
fn searched(hosted: &[HostedCall]) -> Labels {
    let mut labels = Labels::default();
    if let Some(call) = hosted.first() {
        let tool = call.name.clone().unwrap_or_else(|| call.kind.clone());
        labels.raise(Label::Untrusted, Raised { call: None, tool, source: None });
    }
    labels
}

async fn in_a_run(
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

async fn under_key(
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
    Ok(keyed::once(engine, batch, key).await?)
}

/// A run that is closed whatever happens to whoever waits for it.
struct OpenRun<'a> {
    engine: &'a Engine,
    run: RunId,
}

impl Drop for OpenRun<'_> {
    fn drop(&mut self) {
        self.engine.close_run(self.run);
    }
}

/// What is no answer in any format is told as what it is.
fn no_format(body: &[u8]) -> ExecError {
    match providers::parse(Format::OpenAiChat, body) {
        Err(
            error @ (ParseError::Empty | ParseError::Html { .. } | ParseError::Provider { .. }),
        ) => error.into(),
        _ => ExecError::UnknownFormat,
    }
}

fn answered(answer: &Answer) -> Answered<'_> {
    match answer {
        Answer::Done(outcome) => Answered::Outcome(outcome),
        Answer::Suspended(request) => Answered::Suspended(&request.summary),
    }
}
