//! rmcp server handler: maps protocol requests to the MCP server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServerHandler;
#[expect(deprecated, reason = "the older revisions have it")]
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
    MetaObject, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceContents, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::channel::{ClientRoute, client_channel};
use super::detached::{
    ClientAnswers, DetachedReply, DetachedRequest, request_binding, wrong_reply_kind,
};
use super::{LOG_LEVEL, McpServer};
use crate::client_channel::{ClientChannel, ClientQuestions, ProgressRoute};
use crate::server::request_state::RequestStep;
use crate::server::{ClientIdentity, Resource, ResourceBody, skills, tool_list};

/// How often tools are checked for clients that subscribe to changes.
const CHANGE_POLL_INTERVAL: Duration = Duration::from_millis(500);

impl McpServer {
    fn who(&self, context: &RequestContext<RoleServer>) -> Result<ClientIdentity, ErrorData> {
        let parts = context.extensions.get::<::http::request::Parts>();
        let who = self.0.backend.identify(parts.map(|parts| &parts.extensions));
        who.map_err(|words| ErrorData::invalid_request(words, None))
    }

    /// Returns the channel back to the client, and its questions if they are sent in the response.
    fn caller(
        context: &RequestContext<RoleServer>,
    ) -> (Arc<ClientChannel>, Option<mpsc::Receiver<ClientQuestions>>) {
        let modern = context
            .protocol_version()
            .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let way = ClientRoute {
            peer: Some(context.peer.clone()),
            id: context.id.clone(),
            progress: context.meta.get_progress_token(),
            logs: !modern || context.meta.contains_key(LOG_LEVEL),
        };
        client_channel(way, context.client_capabilities().unwrap_or_default(), modern)
    }
}

/// Returns whether the client supports the tasks extension. Older revisions had a different form of
/// tasks.
fn takes_tasks(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
        && context.client_capabilities().is_some_and(|own| own.supports_tasks())
}

fn arguments(given: Option<Map<String, Value>>) -> BTreeMap<String, String> {
    let text = |value: Value| match value {
        Value::String(text) => text,
        value => value.to_string(),
    };
    given.unwrap_or_default().into_iter().map(|(name, value)| (name, text(value))).collect()
}

fn resource(own: Resource) -> rmcp::model::Resource {
    let mut resource = rmcp::model::Resource::new(own.uri, own.name);
    resource.description = own.description;
    resource.mime_type = own.media_type;
    resource.size = own.size;
    resource
}

#[expect(deprecated, reason = "the older revisions have it")]
impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        self.0.info.clone()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.backend.tool(name).map(|entry| tool_list::tool_from_spec(entry.spec()))
    }

    /// Answers a ping, which the current revision does not have.
    async fn ping(&self, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let version = context.protocol_version();
        if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            let words = "this revision has no ping";
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words, None));
        }
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let view = self.0.backend.view(&self.who(&context)?);
        let capabilities = context.client_capabilities();
        let pages = capabilities.as_ref().and_then(|own| self.pages_for(own));
        Ok(ListToolsResult::with_all_items(tool_list::tools(&view, self.0.mode, pages)))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let who = self.who(&context)?;
        let takes_tasks = takes_tasks(&context);
        let step = if let Some(state) = &params.request_state {
            let about = request_binding(&who, "tool", &params.name, params.arguments.as_ref());
            let task_of = takes_tasks.then_some(&*who.client);
            let answers = ClientAnswers {
                given: params.input_responses,
                waiting: ProgressRoute::of(&context),
            };
            self.resume_with_answers(&about, state, answers, task_of, &context.ct).await?
        } else {
            let (caller, questions) = Self::caller(&context);
            let stop = Some(&context.ct);
            self.begin_call(who, caller, questions, takes_tasks, stop, params).await?
        };
        step.into_tool_response()
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
        let prompts = self.0.backend.resources_and_prompts().prompts(&self.who(&context)?).await;
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
        let about = || request_binding(&who, "prompt", &params.name, params.arguments.as_ref());
        let step = if let Some(state) = &params.request_state {
            let answers = ClientAnswers {
                given: params.input_responses,
                waiting: ProgressRoute::of(&context),
            };
            self.resume_with_answers(&about(), state, answers, None, &context.ct).await?
        } else {
            let (caller, questions) = Self::caller(&context);
            let (about, id, task_of) = (questions.is_some().then(about), String::new(), None);
            let aside = questions.map(|questions| DetachedRequest {
                about: about.unwrap_or_default(),
                id,
                questions,
                task_of,
                caller: Arc::clone(&caller),
            });
            let inner = Arc::clone(&self.0);
            let (name, arguments) = (params.name, arguments(params.arguments));
            let work = async move {
                DetachedReply::Prompt(inner.prompt(who, caller, name, arguments).await)
            };
            self.run(aside, Some(&context.ct), work).await?
        };
        match step {
            RequestStep::Done(DetachedReply::Prompt(result)) => {
                result.map(GetPromptResponse::Complete)
            }
            RequestStep::Done(DetachedReply::Tool(_)) | RequestStep::Later(_) => {
                Err(wrong_reply_kind())
            }
            RequestStep::Asks(asks) => Ok(GetPromptResponse::InputRequired(asks)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let who = self.who(&context)?;
        let view = self.0.backend.view(&who);
        let resources = self.0.backend.resources_and_prompts().resources(&who, &view).await;
        Ok(ListResourcesResult::with_all_items(resources.into_iter().map(resource).collect()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.0.backend.resources_and_prompts().templates().into_iter().map(|own| {
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
        let view = self.0.backend.view(&who);
        let read = self.0.backend.resources_and_prompts().read(&who, &view, &uri).await;
        let read = read.map_err(|words| ErrorData::internal_error(words, None))?;
        let Some(contents) = read else {
            let data = serde_json::json!({"uri": uri});
            return Err(ErrorData::resource_not_found(format!("there is no {uri}"), Some(data)));
        };
        let told = match contents.body {
            ResourceBody::Text(text) => ResourceContents::text(text, uri),
            ResourceBody::Bytes(bytes) => {
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
        let skills =
            self.0.backend.resources_and_prompts().skills(&self.who(&context)?, None).await;
        let skills = skills.into_iter().filter_map(skills::entry).collect();
        Ok(ListSkillsResult::with_all_items(skills))
    }

    async fn get_skill(
        &self,
        params: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let skills = self
            .0
            .backend
            .resources_and_prompts()
            .skills(&self.who(&context)?, Some(&params.uri))
            .await;
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
        let mut known = self.0.backend.generation();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.0.input_ended.cancelled() => return Ok(()),
                () = tokio::time::sleep(CHANGE_POLL_INTERVAL) => {}
            }
            let now = self.0.backend.generation();
            let told = std::mem::replace(&mut known, now) == now
                || context.accepted().tools_list_changed != Some(true)
                || context.sink().notify_tool_list_changed().await.is_ok();
            if !told {
                return Ok(());
            }
        }
    }

    /// Accepts a log level without effect: clients filter log lines themselves.
    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    /// Accepts a subscription without effect: resources never change.
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
