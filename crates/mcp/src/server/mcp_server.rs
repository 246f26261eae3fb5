//! The MCP server, shared by all clients and transports.

mod channel;
mod detached;
mod handler;
mod stdio_fast_path;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use channel::{ClientRoute, client_channel};
use detached::{DetachedReply, DetachedRequest, request_binding};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ContentBlock, ErrorData,
    GetPromptResult, Implementation, RequestId, Role, ServerCapabilities, ServerConfig,
    ServerResult,
};
use serde_json::{Map, Value};
use stdio_fast_path::StdioFastPath;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolcrib_core::{Answer, BatchSubscriber, Call, RawArgs, ToolError};

use super::request_state::{PendingRequests, RequestStep};
use super::tasks::McpTasks;
use super::tool_list::{ToolList, ToolListCache};
use super::{
    ClientIdentity, McpBackend, ResourcesAndPrompts, ToolListMode, approval, call_result, tool_list,
};
use crate::client_channel::{ClientChannel, ClientChannels, ClientQuestions};
use crate::stdio::StdioTransport;

/// The server.
#[derive(Clone)]
pub struct McpServer(Arc<Inner>);

struct Inner {
    backend: Arc<dyn McpBackend>,
    desk: ClientChannels,
    mode: ToolListMode,
    tickets: PendingRequests<DetachedReply>,
    tasks: McpTasks,
    /// How long a call may take before it becomes a task, for clients that support tasks.
    soon: Duration,
    listings: ToolListCache,
    /// Cancelled when the client of a stdio connection has closed its end.
    input_ended: CancellationToken,
    info: ServerConfig,
}

/// Metadata key with which a request of the current revision requests log lines.
pub(super) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Default of [`McpServer::with_tasks_after`].
const TASK_DELAY: Duration = Duration::from_secs(1);

struct QuestionWatch;

impl BatchSubscriber for QuestionWatch {
    fn handles_approvals(&self) -> bool {
        true
    }
}

impl McpServer {
    /// Creates a server over this backend. `key` must be random; it signs request states, and a
    /// server with another key does not accept them.
    #[must_use]
    pub fn new(
        backend: Arc<dyn McpBackend>,
        desk: ClientChannels,
        mode: ToolListMode,
        key: [u8; 32],
    ) -> Self {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_resources()
            .enable_completions()
            .enable_tasks()
            .enable_skills()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("toolcrib", env!("CARGO_PKG_VERSION"));
        info.server_info.title = Some("Toolcrib".to_owned());
        info.instructions = Some("Tools of this machine, behind rules. A call may need the approval of a person; a refusal says what to do.".to_owned());
        Self(Arc::new(Inner {
            backend,
            desk,
            mode,
            tickets: PendingRequests::new(key),
            tasks: McpTasks::default(),
            soon: TASK_DELAY,
            listings: ToolListCache::default(),
            input_ended: CancellationToken::new(),
            info,
        }))
    }

    /// Changes the capabilities, for a backend that offers more.
    #[must_use]
    pub fn with_capabilities(mut self, change: impl FnOnce(&mut ServerCapabilities)) -> Self {
        self.change(|inner| change(&mut inner.info.capabilities));
        self
    }

    /// Sets the time after which calls become tasks, for clients that support tasks.
    #[must_use]
    pub fn with_tasks_after(mut self, soon: Duration) -> Self {
        self.change(|inner| inner.soon = soon);
        self
    }

    /// Changes the server before it is used; has no effect afterwards.
    fn change(&mut self, change: impl FnOnce(&mut Inner)) {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            change(inner);
        }
    }

    /// Serves one client over a transport until it disconnects.
    ///
    /// # Errors
    /// Why the handshake failed.
    pub async fn serve_transport(
        self,
        input: impl tokio::io::AsyncRead + Send + Unpin + 'static,
        output: impl tokio::io::AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), String> {
        use rmcp::ServiceExt as _;
        let piped = Arc::new(StdioFastPath::new(self.clone()));
        let beside = Arc::clone(&piped) as Arc<_>;
        let ended = self.0.input_ended.clone();
        let transport = StdioTransport::new(input, output).with_fast_path(beside).with_end(ended);
        let served = self.serve(transport).await;
        let running = match served {
            Ok(running) => running,
            // A client that closes at once is not an error.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        piped.set_peer(running.peer());
        running.waiting().await.map(drop).map_err(|error| error.to_string())
    }

    /// Runs a call of a client that needs only a response: the fast path without rmcp.
    pub(super) async fn call_fast(
        &self,
        who: ClientIdentity,
        id: RequestId,
        params: CallToolRequestParams,
        capabilities: ClientCapabilities,
    ) -> Result<ServerResult, ErrorData> {
        let takes_tasks = capabilities.supports_tasks();
        let way = ClientRoute { peer: None, id, progress: None, logs: false };
        let (caller, questions) = client_channel(way, capabilities, true);
        self.begin_call(who, caller, questions, takes_tasks, None, params)
            .await?
            .into_tool_response()
            .map(ServerResult::from)
    }

    async fn begin_call(
        &self,
        who: ClientIdentity,
        caller: Arc<ClientChannel>,
        questions: Option<mpsc::Receiver<ClientQuestions>>,
        takes_tasks: bool,
        stop: Option<&CancellationToken>,
        params: CallToolRequestParams,
    ) -> Result<RequestStep<DetachedReply>, ErrorData> {
        let about = || request_binding(&who, "tool", &params.name, params.arguments.as_ref());
        let about = questions.is_some().then(about);
        let call = self.build_call(&params.name, params.arguments);
        let aside = (takes_tasks || about.is_some()).then(|| DetachedRequest {
            about: about.unwrap_or_default(),
            id: call.id.to_string(),
            questions: questions.unwrap_or_else(|| mpsc::channel(1).1),
            task_of: takes_tasks.then(|| who.client.clone()),
            caller: Arc::clone(&caller),
        });
        let inner = Arc::clone(&self.0);
        let work = async move { DetachedReply::Tool(inner.call(who, caller, call).await) };
        // Boxed, so that the enclosing futures do not copy it on each move.
        self.run(aside, stop, Box::pin(work)).await
    }

    /// Returns the cached tool list of this caller.
    pub(super) fn listing(
        &self,
        who: &ClientIdentity,
        capabilities: &ClientCapabilities,
    ) -> Option<Arc<ToolList>> {
        self.0.listings.get(self.0.backend.view(who), self.0.mode, self.pages_for(capabilities))
    }

    /// Returns the source of our own pages, if this client shows pages.
    fn pages_for(&self, capabilities: &ClientCapabilities) -> Option<&dyn ResourcesAndPrompts> {
        tool_list::takes_pages(capabilities).then(|| self.0.backend.resources_and_prompts())
    }

    pub(super) fn backend(&self) -> &dyn McpBackend {
        &*self.0.backend
    }

    /// Builds the call of a request. In lean mode `call_tool` calls other tools by name.
    fn build_call(&self, name: &str, arguments: Option<Map<String, Value>>) -> Call {
        let mut arguments = arguments.unwrap_or_default();
        if self.0.mode == ToolListMode::Lean
            && name == tool_list::CALL_TOOL
            && let Some(Value::String(inner)) = arguments.get("name").cloned()
        {
            let args = arguments.remove("arguments").unwrap_or_else(|| Value::Object(Map::new()));
            return Call::new(inner, RawArgs::Value(args));
        }
        Call::new(name, RawArgs::Value(Value::Object(arguments)))
    }
}

impl Inner {
    async fn call(
        &self,
        who: ClientIdentity,
        caller: Arc<ClientChannel>,
        call: Call,
    ) -> Result<CallToolResult, ErrorData> {
        let _at_desk = self.desk.register(call.id, Arc::clone(&caller));
        let watch =
            caller.can_elicit().then(|| Arc::new(QuestionWatch) as Arc<dyn BatchSubscriber>);
        let asks = watch.is_some();
        let answer = match self.backend.call(&who, call, watch).await {
            Ok(Answer::Suspended(request)) if asks => {
                approval::settle(&*self.backend, &who, &caller, request).await
            }
            answer => answer,
        };
        let is_told = asks && matches!(answer, Ok(Answer::Suspended(_)));
        let mut result = match answer {
            Ok(answer) => call_result::call_tool_result(&answer)?,
            Err(ToolError { message, .. }) => {
                CallToolResult::error(vec![ContentBlock::text(message)])
            }
        };
        if is_told && !self.backend.may_decide(&who) {
            let text = format!("Note: {}.", approval::MAY_NOT_DECIDE);
            result.content.push(ContentBlock::text(text));
        }
        let lacks = caller.missing_capability.lock().unwrap_or_else(PoisonError::into_inner).take();
        match lacks.filter(|_| result.is_error == Some(true)) {
            Some(needed) => Err(ErrorData::missing_required_client_capability(needed)),
            None => Ok(result),
        }
    }

    async fn prompt(
        &self,
        who: ClientIdentity,
        caller: Arc<ClientChannel>,
        name: String,
        arguments: BTreeMap<String, String>,
    ) -> Result<GetPromptResult, ErrorData> {
        let prompt =
            self.backend.resources_and_prompts().prompt(&who, &caller, &name, &arguments).await;
        let messages = prompt.map_err(|words| ErrorData::invalid_params(words, None))?;
        let messages = messages.iter().map(|message| {
            let role = if message.by_model { Role::Assistant } else { Role::User };
            rmcp::model::PromptMessage::new(role, call_result::block(&message.content))
        });
        Ok(GetPromptResult::new(messages.collect()))
    }
}
