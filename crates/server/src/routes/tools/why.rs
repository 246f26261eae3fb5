//! Whether a tool is offered to a caller, else what keeps it away.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::core::{Exclusion, ViewRequest};

use super::no_tool;
use crate::api::{Json, Path, Query};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::Principal;
use crate::work::view_of;

/// Who would be offered it.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WhyQuery {
    /// Name of an agent; none = whoever asks, with this token.
    agent: Option<String>,
    /// Provider of the model, such as `anthropic`: some tools are offered to the models of one provider only.
    provider: Option<String>,
}

/// Whether a tool is offered.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Why {
    /// The tool, by its canonical name.
    tool: String,
    /// Whether it is offered.
    offered: bool,
    /// What keeps it away: `because` is one word, with what belongs to it.
    excluded: Option<Value>,
    /// The same in words.
    reason: Option<String>,
}

pub(super) async fn why(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(name): Path<String>,
    Query(query): Query<WhyQuery>,
) -> Result<Json<Why>, Problem> {
    let toolcrib = daemon.toolcrib();
    let spec = toolcrib.spec(&name).ok_or_else(|| no_tool(&daemon, &name))?;
    let mut request = match &query.agent {
        None => view_of(&principal),
        Some(agent) => {
            let library = daemon.runner().library();
            let agent = library.agent(agent);
            let agent = agent.map_err(|error| Problem::not_found(error.to_string()))?;
            ViewRequest {
                role: agent.role.clone(),
                agent: agent.tools.clone(),
                ..ViewRequest::default()
            }
        }
    };
    request.model.provider = query.provider.unwrap_or_default();
    let excluded = if toolcrib.engine().tools_enabled() {
        let view = toolcrib.catalog().view(&Arc::new(request));
        let found = view.excluded.iter().find(|excluded| excluded.name == spec.name);
        found.map(|excluded| excluded.reason.clone())
    } else {
        // Its file is in no view.
        Some(Exclusion::KillSwitch)
    };
    Ok(Json(Why {
        tool: spec.name.to_string(),
        offered: excluded.is_none(),
        reason: excluded.as_ref().map(ToString::to_string),
        excluded: excluded.map(|excluded| json!(excluded)),
    }))
}
