//! Handler of a remote tool.

use std::sync::Arc;
use std::time::Instant;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
    ClientRequest, ErrorCode, InputRequest, InputRequiredResult, InputResponses, RequestId,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, Block, BoxFuture, CallCtx, Effect, ErrorType, Handler, ToolError, ToolOutput,
    ToolSpec, Trust,
};

use super::connection::{Connection, LiveConnection};
use super::inbound::UNREADABLE_ANSWER;
use super::oauth::AuthError;
use super::running_calls::{AskingCall, QuestionBudget};
use super::server_config::Remote;
use super::{tool_result, visible_text};

/// Maximum rounds of a call whose results contain questions, as in other implementations.
const ROUNDS: usize = 10;

/// One tool of one server.
pub(crate) struct RemoteTool {
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) connection: Arc<Connection>,
    /// Name of the tool at the server.
    pub(crate) own_name: String,
    /// Digest of the reviewed definition.
    pub(crate) pinned: String,
    /// Whether it can only be called as a task, in the form of revision 2025-11-25.
    pub(crate) requires_task: bool,
}

impl Handler for RemoteTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    /// Describes the call to a person in our words; the title is the server's text.
    fn assess(&self, _: &Value) -> Result<Assessment, ToolError> {
        let (tool, server) = (visible_text(&self.own_name), self.name());
        let summary = format!("call the tool \"{tool}\" of the MCP server {server}");
        Ok(Assessment { summary: Some(summary), ..Assessment::from_spec(&self.spec) })
    }

    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let stopped = || self.cancelled(false);
            let live = tokio::select! {
                live = self.connection.live() => live?,
                () = ctx.cancel.cancelled() => return Err(stopped()),
            };
            live.check(self.connection.config(), &self.own_name, &self.pinned)?;
            let watch = match &self.connection.config().remote {
                Remote::Stdio(program) => self.connection.host().watch_call(program, ctx).await,
                Remote::Http(_) => None,
            };
            let output = self.call_with_questions(&live, ctx, args).await;
            // Also for a failed call: its changes are recorded for undo.
            let note = match watch {
                Some(watch) => watch.end(ctx).await,
                None => None,
            };
            let mut output = output?;
            output.content.extend(note.map(Block::text));
            Ok(match live.sandbox() {
                Some(level) => output.with_sandbox(level),
                None => output,
            })
        })
    }
}

impl RemoteTool {
    async fn call_with_questions(
        &self,
        live: &Arc<LiveConnection>,
        ctx: &CallCtx,
        args: &Value,
    ) -> Result<ToolOutput, ToolError> {
        let mut params = CallToolRequestParams::new(self.own_name.clone());
        params.arguments = args.as_object().cloned();
        let call = AskingCall { ctx: ctx.clone(), questions: QuestionBudget::default() };
        if self.requires_task && live.protocol == "2025-11-25" {
            return self.call_as_legacy_task(live, &call, args).await;
        }
        for _ in 0..ROUNDS {
            let request = CallToolRequest::new(params.clone());
            let request = ClientRequest::CallToolRequest(request);
            let answer = self.send_request(live, &call, request).await?;
            match answer {
                ServerResult::CallToolResult(answer) => {
                    return Ok(self.output(answer));
                }
                ServerResult::InputRequiredResult(wanted) => {
                    let (answers, state) = self.answer(live, &call, wanted).await?;
                    params.input_responses = (!answers.is_empty()).then_some(answers);
                    params.request_state = state;
                }
                ServerResult::CreateTaskResult(created) => {
                    return self.follow_task(live, &call, created.task).await;
                }
                ServerResult::EmptyResult(_) => return Ok(ToolOutput::from_blocks(Vec::new())),
                _ => return Err(self.invalid_reply("its answer is not a result of a tool")),
            }
        }
        Err(self.asked_too_often())
    }

    /// Converts the server's result. Its text is untrusted unless the owner configured otherwise.
    pub(super) fn output(&self, answer: CallToolResult) -> ToolOutput {
        let mut output = tool_result::output(self.name(), answer);
        output.trust = Some(self.spec.trust);
        if self.spec.trust < Trust::External {
            // The origin of the text, which `explain` shows.
            let name = self.name();
            output.source = Some(format!(
                "MCP server {name}, whose results the owner counts as text of the workspace"
            ));
        }
        output
    }

    /// Sends one request, once, and waits for its response.
    pub(super) async fn send_request(
        &self,
        live: &Arc<LiveConnection>,
        call: &AskingCall,
        request: ClientRequest,
    ) -> Result<ServerResult, ToolError> {
        let ctx = &call.ctx;
        let peer = live.peer();
        let options = PeerRequestOptions::no_options();
        let handle = tokio::select! {
            sent = peer.send_cancellable_request(request, options) => {
                sent.map_err(|error| self.failed(&error))?
            }
            () = ctx.cancel.cancelled() => return Err(self.cancelled(true)),
        };
        let (id, token) = (handle.id.clone(), handle.progress_token.clone());
        let _at_work = self.connection.register_call(id, token, call.clone());
        let mut open = CancelOnDrop {
            connection: &self.connection,
            peer: peer.clone(),
            id: Some(handle.id.clone()),
            deadline: ctx.deadline,
        };
        let answer = tokio::select! {
            answer = handle.await_response() => answer,
            () = ctx.cancel.cancelled() => return Err(self.cancelled(true)),
            () = call.questions.exceeded.cancelled() => return Err(self.asked_too_often()),
        };
        open.id = None;
        self.connection.record_answer();
        answer.map_err(|error| self.failed(&error))
    }

    /// Forwards the server's questions to the person of this call; questions that are not allowed
    /// are omitted.
    pub(super) async fn answer(
        &self,
        live: &LiveConnection,
        call: &AskingCall,
        wanted: InputRequiredResult,
    ) -> Result<(InputResponses, Option<String>), ToolError> {
        let mut answers = InputResponses::new();
        for (key, request) in wanted.input_requests.unwrap_or_default() {
            if !call.questions.take() {
                return Err(self.asked_too_often());
            }
            let answer = match request {
                InputRequest::Elicitation(request) => {
                    let answer = live.service.service().elicit(&call.ctx, request.params).await;
                    serde_json::to_value(answer).unwrap_or_default()
                }
                InputRequest::ListRoots(_) => json!({"roots": []}),
                _ => continue,
            };
            answers.insert(key, answer);
        }
        Ok((answers, wanted.request_state))
    }

    pub(super) fn name(&self) -> &str {
        self.connection.config().name.as_str()
    }

    /// Creates the error of a cancelled or timed-out call.
    pub(super) fn cancelled(&self, sent: bool) -> ToolError {
        let doubt = if sent && !self.spec.effect.is_repeatable() {
            " The server was told, but whether it took effect is unknown: check before you call it again."
        } else {
            ""
        };
        ToolError::new(ErrorType::Cancelled, format!("The call was stopped.{doubt}"))
    }

    /// Creates the error for a server that asks too many questions. The effect of the call is
    /// unknown.
    fn asked_too_often(&self) -> ToolError {
        let name = self.name();
        self.connection.log().push_line("it asked too many questions in one call, which was ended");
        let text = format!(
            "The MCP server {name} asked too many questions in one call, so the call was ended; whether it took effect is unknown. Check before you call it again, and tell the user."
        );
        ToolError::new(ErrorType::UnknownOutcome, text)
    }

    pub(super) fn invalid_reply(&self, what: &str) -> ToolError {
        let text = format!(
            "The MCP server {} broke the protocol: {what}. Go on without it, or tell the user.",
            self.name()
        );
        ToolError::execution(text)
    }

    fn failed(&self, error: &ServiceError) -> ToolError {
        match error {
            ServiceError::McpError(error) if error.code == UNREADABLE_ANSWER => {
                self.unreadable(&error.message)
            }
            ServiceError::McpError(error) => self.refused(error.code, &error.message),
            ServiceError::UnexpectedResponse | ServiceError::InputRequiredRoundsExceeded { .. } => {
                self.invalid_reply("its answer is not a result of a tool")
            }
            error if error.auth_challenge().is_some() => self.connection.needs_authorization(),
            error => match auth_error(error) {
                Some(error) => self.unauthorized(error),
                None => self.connection_lost(error),
            },
        }
    }

    /// Creates the error for a missing token.
    fn unauthorized(&self, error: &AuthError) -> ToolError {
        let server = self.name();
        let text = format!(
            "The MCP server {server} was not called: its authorization failed. Calling it again at once does not help. Tell the user, or continue without it."
        );
        ToolError::new(ErrorType::NotConfigured, text).with_detail(error.to_string())
    }

    /// Creates the error for a JSON-RPC error response.
    fn refused(&self, code: ErrorCode, message: &str) -> ToolError {
        let message: String = message.chars().take(2000).collect();
        let text = format!("The MCP server {} refused the call: {message}", self.name());
        match code {
            ErrorCode::INVALID_PARAMS => ToolError::validation(text),
            _ => ToolError::execution(text),
        }
    }

    /// Creates the error for a response that cannot be read. The call itself may have taken effect.
    fn unreadable(&self, why: &str) -> ToolError {
        let server = self.name();
        if self.spec.effect <= Effect::Read {
            return ToolError::execution(format!(
                "The answer of the MCP server {server} cannot be read: {why}. The same call will most likely give the same; ask for less, or continue without it."
            ));
        }
        let text = format!(
            "The answer of the MCP server {server} cannot be read: {why}. Whether the call took effect is unknown: check before you call it again."
        );
        ToolError::new(ErrorType::UnknownOutcome, text)
    }

    /// Creates the error for a lost response. A call that may have changed something is never sent
    /// again.
    pub(super) fn connection_lost(&self, error: &ServiceError) -> ToolError {
        self.connection
            .log()
            .push_line(&format!("the answer to {} was lost: {error}", self.own_name));
        let server = self.name();
        if self.spec.effect <= Effect::Idempotent {
            let text = format!(
                "The connection to the MCP server {server} broke before its answer came. The tool changes nothing, so it can be called again."
            );
            return ToolError::new(ErrorType::NetworkError, text).with_detail(error.to_string());
        }
        let text = format!(
            "The connection to the MCP server {server} broke before its answer came: whether the call took effect is unknown. Check before you call it again."
        );
        ToolError::new(ErrorType::UnknownOutcome, text).with_detail(error.to_string())
    }
}

/// Returns the authorization error that prevented a request from being sent.
fn auth_error(error: &ServiceError) -> Option<&AuthError> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(found) = inner.and_then(|inner| inner.downcast_ref::<AuthError>()) {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// A request in flight. Dropping it before the response, also after a timeout, notifies the server
/// that the request is cancelled.
struct CancelOnDrop<'a> {
    connection: &'a Connection,
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
    deadline: Instant,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if Instant::now() >= self.deadline {
            self.connection.record_timeout();
        }
        let peer = self.peer.clone();
        let told = json!({"requestId": id, "reason": "no caller waits for it any more"});
        let Ok(told) = serde_json::from_value::<CancelledNotificationParam>(told) else { return };
        runtime.spawn(async move { peer.notify_cancelled(told).await });
    }
}
