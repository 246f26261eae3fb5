//! One server for all clients: what the protocol asks, answered by the door.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::ServerHandler;
#[expect(deprecated, reason = "the older revisions have it")]
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ClientCapabilities,
    CompleteRequestParams, CompleteResult, ContentBlock, CreateTaskResult, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, GetSkillRequestParams,
    GetSkillResult, GetTaskParams, GetTaskResult, Implementation, InputResponses,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, MetaObject, PaginatedRequestParams, ProgressToken, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, RequestId,
    ResourceContents, Role, ServerCapabilities, ServerConfig, ServerResult, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{Peer, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolcrib_core::{Answer, Call, RawArgs, ToolError, Watch, canonical};

use super::offer::{Listing, Listings};
use super::plain::Lists;
use super::tasks::{Ends, Tasks};
use super::tickets::{Step, Tickets, Work};
use super::{Body, Door, Mode, Who, answer, approval, offer, skills};
use crate::desk::{Caller, Desk, Questions};
use crate::lines::Lines;

/// What a request that may ask ends with.
enum Reply {
    Tool(Result<CallToolResult, ErrorData>),
    Prompt(Result<GetPromptResult, ErrorData>),
}

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
/// How often the tools are looked at for somebody who wants to hear of changes.
const LOOK: Duration = Duration::from_millis(500);

/// What a request is about that comes back with answers: nobody else's, and nothing else.
fn about(who: &Who, kind: &str, name: &str, arguments: Option<&Map<String, Value>>) -> String {
    let arguments = Value::Object(arguments.cloned().unwrap_or_default());
    canonical::sha256_parts(&[&who.client, kind, name, &canonical::to_string(&arguments)])
}

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
        let at_once = Arc::new(Lists(self.clone()));
        let served = self.serve(Lines::new(input, output).answering(at_once)).await;
        let running = match served {
            Ok(running) => running,
            // A client that closes at once has said nothing wrong.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        running.waiting().await.map(drop).map_err(|error| error.to_string())
    }

    fn who(&self, context: &RequestContext<RoleServer>) -> Result<Who, ErrorData> {
        let parts = context.extensions.get::<::http::request::Parts>();
        let who = self.0.door.who(parts.map(|parts| &parts.extensions));
        who.map_err(|words| ErrorData::invalid_request(words, None))
    }

    /// The way back to whoever asks, and its questions if they are answers of ours.
    fn caller(
        context: &RequestContext<RoleServer>,
    ) -> (Arc<Caller>, Option<mpsc::Receiver<Questions>>) {
        let modern = context
            .protocol_version()
            .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let way = Way {
            peer: Some(context.peer.clone()),
            id: context.id.clone(),
            progress: context.meta.get_progress_token(),
            logs: !modern || context.meta.contains_key(LOG_LEVEL),
        };
        caller(way, context.client_capabilities().unwrap_or_default(), modern)
    }

    /// Work of a request: in place where it is told of by requests, aside where the client comes back for it.
    async fn run<F>(
        &self,
        aside: Option<Aside>,
        stop: Option<&CancellationToken>,
        work: F,
    ) -> Result<Step<Reply>, ErrorData>
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let Some(Aside { about, id, questions, task_of }) = aside else {
            return unless_stopped(stop, async { Ok(Step::Done(work.await)) }).await;
        };
        let work = Tickets::begin(about, id, questions, work);
        unless_stopped(stop, self.follow(work, task_of.as_deref())).await
    }

    /// Goes on until the work is done or asks, or so long that it is made a task of this client.
    async fn follow(
        &self,
        mut work: Work<Reply>,
        task_of: Option<&str>,
    ) -> Result<Step<Reply>, ErrorData> {
        let next = match task_of {
            None => work.next().await,
            Some(client) => match tokio::time::timeout(self.0.soon, work.next()).await {
                Ok(next) => next,
                Err(_) => {
                    let id = work.id.clone();
                    return Ok(Step::Later(self.0.tasks.keep(client, &id, work)));
                }
            },
        };
        self.0.tickets.step(work, next?)
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
        self.run(aside, stop, work).await
    }

    /// The tools that this caller sees, written down.
    pub(super) fn listing(&self, who: &Who) -> Option<Arc<Listing>> {
        self.0.listings.of(self.0.door.view(who), self.0.mode)
    }

    pub(super) fn door(&self) -> &dyn Door {
        &*self.0.door
    }

    /// A request that comes back with answers.
    async fn comes_back(
        &self,
        about: &str,
        state: &str,
        given: Option<InputResponses>,
        task_of: Option<&str>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Step<Reply>, ErrorData> {
        match self.0.tickets.take_up(about, state, given)? {
            Ok(work) => unless_stopped(Some(&context.ct), self.follow(work, task_of)).await,
            Err(again) => Ok(Step::Asks(again)),
        }
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

/// How a client is told of things.
struct Way {
    peer: Option<Peer<RoleServer>>,
    id: RequestId,
    progress: Option<ProgressToken>,
    logs: bool,
}

fn caller(
    way: Way,
    capabilities: ClientCapabilities,
    modern: bool,
) -> (Arc<Caller>, Option<mpsc::Receiver<Questions>>) {
    let (send, receive) = if modern && can_be_asked(&capabilities) {
        let (send, receive) = mpsc::channel(1);
        (Some(send), Some(receive))
    } else {
        (None, None)
    };
    // Nobody of today's revision is asked by a request.
    let capabilities =
        if modern && send.is_none() { ClientCapabilities::default() } else { capabilities };
    let caller = Caller {
        peer: way.peer,
        request: way.id,
        progress: way.progress,
        capabilities,
        logs: way.logs,
        lacks: Mutex::default(),
        questions: send,
    };
    (Arc::new(caller), receive)
}

/// Something that is given up when its client takes the request back.
async fn unless_stopped<T>(
    stop: Option<&CancellationToken>,
    work: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    let Some(stop) = stop else { return work.await };
    tokio::select! {
        done = work => done,
        () = stop.cancelled() => Err(ErrorData::internal_error("the request was cancelled", None)),
    }
}

impl Step<Reply> {
    /// What a call of a tool is answered.
    fn of_tool(self) -> Result<CallToolResponse, ErrorData> {
        match self {
            Self::Done(Reply::Tool(result)) => result.map(CallToolResponse::Complete),
            Self::Done(Reply::Prompt(_)) => Err(mixed_up()),
            Self::Asks(asks) => Ok(CallToolResponse::InputRequired(asks)),
            Self::Later(task) => Ok(CallToolResponse::Task(CreateTaskResult::new(task))),
        }
    }
}

impl Ends for Reply {
    fn result(self) -> Result<CallToolResult, ErrorData> {
        match self {
            Self::Tool(result) => result,
            Self::Prompt(_) => Err(mixed_up()),
        }
    }
}

/// What is needed to go on with work in another request.
struct Aside {
    about: String,
    id: String,
    questions: mpsc::Receiver<Questions>,
    /// Whose task it becomes if it is not over soon; `None` = it is waited for.
    task_of: Option<String>,
}

/// Whether this client takes tasks. Older revisions had another form of them.
fn takes_tasks(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
        && context.client_capabilities().is_some_and(|own| own.supports_tasks())
}

fn can_be_asked(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.is_some()
        || capabilities.sampling.is_some()
        || capabilities.roots.is_some()
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

fn arguments(given: Option<Map<String, Value>>) -> BTreeMap<String, String> {
    let text = |value: Value| match value {
        Value::String(text) => text,
        value => value.to_string(),
    };
    given.unwrap_or_default().into_iter().map(|(name, value)| (name, text(value))).collect()
}

fn resource(own: super::Resource) -> rmcp::model::Resource {
    let mut resource = rmcp::model::Resource::new(own.uri, own.name);
    resource.description = own.description;
    resource.mime_type = own.media_type;
    resource.size = own.size;
    resource
}

#[expect(deprecated, reason = "the older revisions have it")]
impl ServerHandler for Serve {
    fn get_info(&self) -> ServerConfig {
        self.0.info.clone()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.door.tool(name).map(|entry| offer::tool(entry.spec()))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let view = self.0.door.view(&self.who(&context)?);
        Ok(ListToolsResult::with_all_items(offer::tools(&view, self.0.mode)))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let who = self.who(&context)?;
        let takes_tasks = takes_tasks(&context);
        let step = if let Some(state) = &params.request_state {
            let about = about(&who, "tool", &params.name, params.arguments.as_ref());
            let task_of = takes_tasks.then_some(&*who.client);
            self.comes_back(&about, state, params.input_responses, task_of, &context).await?
        } else {
            let (caller, questions) = Self::caller(&context);
            let stop = Some(&context.ct);
            self.begin_call(who, caller, questions, takes_tasks, stop, params).await?
        };
        step.of_tool()
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let who = self.who(&context)?;
        Ok(GetTaskResult::new(self.0.tasks.get(&who.client, &params.task_id)?))
    }

    async fn update_task(
        &self,
        params: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let who = self.who(&context)?;
        self.0.tasks.update(&who.client, &params.task_id, params.input_responses)
    }

    async fn cancel_task(
        &self,
        params: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let who = self.who(&context)?;
        self.0.tasks.cancel(&who.client, &params.task_id)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.0.door.shelf().prompts(&self.who(&context)?).await;
        let prompts = prompts.into_iter().map(|own| {
            let arguments = own.arguments.into_iter().map(|(name, about, required)| {
                rmcp::model::PromptArgument::new(name)
                    .with_description(about)
                    .with_required(required)
            });
            let arguments: Vec<_> = arguments.collect();
            let arguments = (!arguments.is_empty()).then_some(arguments);
            let mut prompt = rmcp::model::Prompt::new(own.name, Some(own.description), arguments);
            prompt.title = own.title;
            prompt
        });
        Ok(ListPromptsResult::with_all_items(prompts.collect()))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let who = self.who(&context)?;
        let about = || about(&who, "prompt", &params.name, params.arguments.as_ref());
        let step = if let Some(state) = &params.request_state {
            self.comes_back(&about(), state, params.input_responses, None, &context).await?
        } else {
            let (caller, questions) = Self::caller(&context);
            let (about, id, task_of) = (questions.is_some().then(about), String::new(), None);
            let aside = questions.map(|questions| Aside {
                about: about.unwrap_or_default(),
                id,
                questions,
                task_of,
            });
            let inner = Arc::clone(&self.0);
            let (name, arguments) = (params.name, arguments(params.arguments));
            let work =
                async move { Reply::Prompt(inner.prompt(who, caller, name, arguments).await) };
            self.run(aside, Some(&context.ct), work).await?
        };
        match step {
            Step::Done(Reply::Prompt(result)) => result.map(GetPromptResponse::Complete),
            Step::Done(Reply::Tool(_)) | Step::Later(_) => Err(mixed_up()),
            Step::Asks(asks) => Ok(GetPromptResponse::InputRequired(asks)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let who = self.who(&context)?;
        let view = self.0.door.view(&who);
        let resources = self.0.door.shelf().resources(&who, &view).await;
        Ok(ListResourcesResult::with_all_items(resources.into_iter().map(resource).collect()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.0.door.shelf().templates().into_iter().map(|own| {
            let mut template = rmcp::model::ResourceTemplate::new(own.uri, own.name);
            template.description = own.description;
            template.mime_type = own.media_type;
            template
        });
        Ok(ListResourceTemplatesResult::with_all_items(templates.collect()))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let who = self.who(&context)?;
        let uri = params.uri;
        let view = self.0.door.view(&who);
        let read = self.0.door.shelf().read(&who, &view, &uri).await;
        let read = read.map_err(|words| ErrorData::internal_error(words, None))?;
        let Some(contents) = read else {
            let data = serde_json::json!({"uri": uri});
            return Err(ErrorData::resource_not_found(format!("there is no {uri}"), Some(data)));
        };
        let told = match contents.body {
            Body::Text(text) => ResourceContents::text(text, uri),
            Body::Bytes(bytes) => {
                use base64::Engine as _;
                let data = base64::engine::general_purpose::STANDARD.encode(bytes);
                ResourceContents::blob(data, uri)
            }
        };
        let told = match contents.media_type {
            Some(media_type) => told.with_mime_type(media_type),
            None => told,
        };
        let told = match contents.meta.is_empty() {
            true => told,
            false => told.with_meta(MetaObject(contents.meta)),
        };
        Ok(ReadResourceResponse::Complete(ReadResourceResult::new(vec![told])))
    }

    async fn list_skills(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        let skills = self.0.door.shelf().skills(&self.who(&context)?).await;
        let skills = skills.into_iter().filter_map(skills::entry).collect();
        Ok(ListSkillsResult::with_all_items(skills))
    }

    async fn get_skill(
        &self,
        params: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let skills = self.0.door.shelf().skills(&self.who(&context)?).await;
        let mut entries = skills.into_iter().filter_map(skills::entry);
        let found = entries.find(|skill| skill.uri == params.uri);
        let none = || ErrorData::invalid_params(format!("there is no skill {}", params.uri), None);
        found.map(GetSkillResult::new).ok_or_else(none)
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        accepted.resource_subscriptions = None;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut known = self.0.door.generation();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = tokio::time::sleep(LOOK) => {}
            }
            let now = self.0.door.generation();
            let told = std::mem::replace(&mut known, now) == now
                || context.accepted().tools_list_changed != Some(true)
                || context.sink().notify_tool_list_changed().await.is_ok();
            if !told {
                return Ok(());
            }
        }
    }

    /// How much a client wants to be told of is for it to decide; it leaves out what is too little.
    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    /// What is stored never changes under its address, so there is no news of it.
    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::default())
    }
}

fn mixed_up() -> ErrorData {
    ErrorData::invalid_params("requestState belongs to another request", None)
}
