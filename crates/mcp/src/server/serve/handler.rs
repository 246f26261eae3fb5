//! What the protocol asks, as the library hands it on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServerHandler;
#[expect(deprecated, reason = "the older revisions have it")]
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, ErrorData, GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams,
    GetSkillResult, GetTaskParams, GetTaskResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListSkillsResult, ListToolsResult, MetaObject, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::aside::{Aside, Reply, about, mixed_up};
use super::caller::{Way, caller};
use super::{LOG_LEVEL, Serve};
use crate::desk::{Caller, Questions};
use crate::server::tickets::Step;
use crate::server::{Body, Resource, Who, offer, skills};

/// How often the tools are looked at for somebody who wants to hear of changes.
const LOOK: Duration = Duration::from_millis(500);

impl Serve {
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
}

/// Whether this client takes tasks. Older revisions had another form of them.
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
            self.comes_back(&about, state, params.input_responses, task_of, &context.ct).await?
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
            self.comes_back(&about(), state, params.input_responses, None, &context.ct).await?
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
