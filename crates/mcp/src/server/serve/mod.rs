//! One server for all clients: a call is what they all come to.

mod aside;
mod caller;
mod handler;
mod piped;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use aside::{Aside, Reply, about};
use caller::{Way, caller};
use piped::Piped;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ContentBlock, ErrorData,
    GetPromptResult, Implementation, RequestId, Role, ServerCapabilities, ServerConfig,
    ServerResult,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolcrib_core::{Answer, Call, RawArgs, ToolError, Watch};

use super::offer::{Listing, Listings};
use super::tasks::Tasks;
use super::tickets::{Step, Tickets};
use super::{Door, Mode, Who, answer, approval, offer};
use crate::desk::{Caller, Desk, Questions};
use crate::lines::Lines;

/// The server.
#[derive(Clone)]
pub struct Serve(Arc<Inner>);

struct Inner {
    door: Arc<dyn Door>,
    desk: Desk,
    mode: Mode,
    tickets: Tickets<Reply>,
    tasks: Tasks,
    /// How long a client that takes tasks waits for a call before it is one.
    soon: Duration,
    listings: Listings,
    info: ServerConfig,
}

/// Where a request of today's revision says that it wants lines for its log.
pub(super) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// How long a call may take before a client that takes tasks is given one.
const SOON: Duration = Duration::from_secs(1);

struct TakesQuestions;

impl Watch for TakesQuestions {
    fn takes_questions(&self) -> bool {
        true
    }
}

impl Serve {
    /// A server in front of this door. `key` is random; with another one no client can come back with an answer.
    #[must_use]
    pub fn new(door: Arc<dyn Door>, desk: Desk, mode: Mode, key: [u8; 32]) -> Self {
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
            door,
            desk,
            mode,
            tickets: Tickets::new(key),
            tasks: Tasks::default(),
            soon: SOON,
            listings: Listings::default(),
            info,
        }))
    }

    /// The same with other capabilities, for a door that has more to offer.
    #[must_use]
    pub fn with_capabilities(mut self, change: impl FnOnce(&mut ServerCapabilities)) -> Self {
        self.change(|inner| change(&mut inner.info.capabilities));
        self
    }

    /// The same with calls that become tasks after this time, where the client takes tasks.
    #[must_use]
    pub fn with_tasks_after(mut self, soon: Duration) -> Self {
        self.change(|inner| inner.soon = soon);
        self
    }

    /// A server that serves already stays as it is.
    fn change(&mut self, change: impl FnOnce(&mut Inner)) {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            change(inner);
        }
    }

    /// Serves one client over its input and output, until it goes away.
    ///
    /// # Errors
    /// Why the two did not come together.
    pub async fn over(
        self,
        input: impl tokio::io::AsyncRead + Send + Unpin + 'static,
        output: impl tokio::io::AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), String> {
        use rmcp::ServiceExt as _;
        let piped = Arc::new(Piped::new(self.clone()));
        let beside = Arc::clone(&piped) as Arc<_>;
        let served = self.serve(Lines::new(input, output).answering(beside)).await;
        let running = match served {
            Ok(running) => running,
            // A client that closes at once has said nothing wrong.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        piped.meets(running.peer());
        running.waiting().await.map(drop).map_err(|error| error.to_string())
    }

    /// A call of a client that is asked and told of nothing but by the answer: the way without the library.
    pub(super) async fn call_plainly(
        &self,
        who: Who,
        id: RequestId,
        params: CallToolRequestParams,
        capabilities: ClientCapabilities,
    ) -> Result<ServerResult, ErrorData> {
        let takes_tasks = capabilities.supports_tasks();
        let way = Way { peer: None, id, progress: None, logs: false };
        let (caller, questions) = caller(way, capabilities, true);
        self.begin_call(who, caller, questions, takes_tasks, None, params)
            .await?
            .of_tool()
            .map(ServerResult::from)
    }

    async fn begin_call(
        &self,
        who: Who,
        caller: Arc<Caller>,
        questions: Option<mpsc::Receiver<Questions>>,
        takes_tasks: bool,
        stop: Option<&CancellationToken>,
        params: CallToolRequestParams,
    ) -> Result<Step<Reply>, ErrorData> {
        let about = || about(&who, "tool", &params.name, params.arguments.as_ref());
        let about = questions.is_some().then(about);
        let call = self.call_of(&params.name, params.arguments);
        let aside = (takes_tasks || about.is_some()).then(|| Aside {
            about: about.unwrap_or_default(),
            id: call.id.to_string(),
            questions: questions.unwrap_or_else(|| mpsc::channel(1).1),
            task_of: takes_tasks.then(|| who.client.clone()),
        });
        let inner = Arc::clone(&self.0);
        let work = async move { Reply::Tool(inner.call(who, caller, call).await) };
        // In a place of its own: what is around it would move it again and again.
        self.run(aside, stop, Box::pin(work)).await
    }

    /// The tools that this caller sees, written down.
    pub(super) fn listing(&self, who: &Who) -> Option<Arc<Listing>> {
        self.0.listings.of(self.0.door.view(who), self.0.mode)
    }

    pub(super) fn door(&self) -> &dyn Door {
        &*self.0.door
    }

    /// The call that a request means; in lean mode one tool calls others by their names.
    fn call_of(&self, name: &str, arguments: Option<Map<String, Value>>) -> Call {
        let mut arguments = arguments.unwrap_or_default();
        if self.0.mode == Mode::Lean
            && name == offer::CALL_TOOL
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
        who: Who,
        caller: Arc<Caller>,
        call: Call,
    ) -> Result<CallToolResult, ErrorData> {
        let _at_desk = self.desk.enter(call.id, Arc::clone(&caller));
        let watch = caller.can_elicit().then(|| Arc::new(TakesQuestions) as Arc<dyn Watch>);
        let asks = watch.is_some();
        let answer = match self.door.call(&who, call, watch).await {
            Ok(Answer::Suspended(request)) if asks => {
                approval::settle(&*self.door, &who, &caller, request).await
            }
            answer => answer,
        };
        let result = match answer {
            Ok(answer) => answer::result(&answer)?,
            Err(ToolError { message, .. }) => {
                CallToolResult::error(vec![ContentBlock::text(message)])
            }
        };
        let lacks = caller.lacks.lock().unwrap_or_else(PoisonError::into_inner).take();
        match lacks.filter(|_| result.is_error == Some(true)) {
            Some(needed) => Err(ErrorData::missing_required_client_capability(needed)),
            None => Ok(result),
        }
    }

    async fn prompt(
        &self,
        who: Who,
        caller: Arc<Caller>,
        name: String,
        arguments: BTreeMap<String, String>,
    ) -> Result<GetPromptResult, ErrorData> {
        let prompt = self.door.shelf().prompt(&who, &caller, &name, &arguments).await;
        let messages = prompt.map_err(|words| ErrorData::invalid_params(words, None))?;
        let messages = messages.iter().map(|message| {
            let role = if message.by_model { Role::Assistant } else { Role::User };
            rmcp::model::PromptMessage::new(role, answer::block(&message.content))
        });
        Ok(GetPromptResult::new(messages.collect()))
    }
}
