//! Explains whether a tool is offered to a caller, and what excludes it otherwise.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_agent::library::Agent;
use toolcrib_app::Toolcrib;
use toolcrib_core::{Exclusion, ViewRequest};

use super::find_tool;
use crate::advice::exclusion_advice;
use crate::context::OpContext;
use crate::error::{OpError, Resource};

/// The tool, and the caller.
#[derive(Debug, Clone, Default)]
pub struct WhyRequest {
    /// The tool, canonical or an alias.
    pub tool: String,
    /// Name of an agent; `None` selects the caller that `caller` describes.
    pub agent: Option<String>,
    /// Provider of the model, such as `anthropic`: some tools are offered only to the models of one
    /// provider.
    pub provider: Option<String>,
    /// Whether the model runs on this device, which limits its tools.
    pub on_device: bool,
    /// The view of the caller itself.
    pub caller: ViewRequest,
}

/// Whether a tool is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Why")]
pub struct WhyReply {
    /// The tool, by its canonical name.
    pub tool: String,
    /// Whether it is offered.
    pub offered: bool,
    /// Why the caller is not offered it: `because` is one word, with its details.
    #[schemars(with = "Option<Value>")]
    pub excluded: Option<Exclusion>,
    /// The reason in words.
    pub reason: Option<String>,
    /// Advice for the owner.
    pub advice: Option<String>,
    /// The agent in question; absent = the caller.
    #[serde(default)]
    pub agent: Option<String>,
}

/// Reports whether a tool is offered to a caller.
///
/// # Errors
/// [`OpError::NotFound`] for an unknown tool or agent.
pub async fn why(ctx: &OpContext<'_>, request: WhyRequest) -> Result<WhyReply, OpError> {
    let spec = find_tool(ctx.toolcrib, &request.tool)?;
    let mut view = match &request.agent {
        None => request.caller.clone(),
        Some(name) => view_of_agent(find_agent(ctx, name)?),
    };
    view.model.provider = request.provider.unwrap_or_default();
    if request.on_device {
        view.model.allow = Some(ctx.toolcrib.on_device_tools());
    }
    let name = spec.name.as_str();
    let excluded = exclusions(ctx.toolcrib, &view).into_iter().find(|(tool, _)| tool == name);
    let excluded = excluded.map(|(_, reason)| reason);
    Ok(WhyReply {
        tool: name.to_owned(),
        offered: excluded.is_none(),
        reason: excluded.as_ref().map(ToString::to_string),
        advice: excluded
            .as_ref()
            .map(|reason| exclusion_advice(reason, name, request.agent.as_deref())),
        agent: request.agent,
        excluded,
    })
}

pub(crate) fn find_agent<'a>(ctx: &OpContext<'a>, name: &str) -> Result<&'a Agent, OpError> {
    let missing = |near| OpError::NotFound { what: Resource::Agent, name: name.to_owned(), near };
    let library = ctx.library.ok_or_else(|| missing(Vec::new()))?;
    library.agent(name).map_err(|unknown| missing(unknown.near))
}

/// Returns the view of an agent, without the limits of its model.
#[must_use]
pub fn view_of_agent(agent: &Agent) -> ViewRequest {
    ViewRequest { role: agent.role.clone(), agent: agent.tools.clone(), ..ViewRequest::default() }
}

/// Returns every tool that a caller with this view is not offered, with the reason.
#[must_use]
pub fn exclusions(toolcrib: &Toolcrib, request: &ViewRequest) -> Vec<(String, Exclusion)> {
    // The kill switch is a file, which views do not take into account.
    if !toolcrib.engine().tools_enabled() {
        let all = toolcrib.infos().into_iter();
        return all.map(|info| (info.id.to_string(), Exclusion::KillSwitch)).collect();
    }
    let view = toolcrib.catalog().view(&Arc::new(request.clone()));
    let excluded = view.excluded.iter();
    excluded.map(|excluded| (excluded.name.to_string(), excluded.reason.clone())).collect()
}
