//! Changes of the configuration of a tool.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_ops::tools::{self, ConfigChanged, ConfigContext, ConfigTarget};

use crate::api::{Json, Path};
use crate::daemon_host::HostConfiguration;
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::routes::secrets::context as secret_context;
use crate::state::DaemonState;

/// A value.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigBody {
    /// The value; `***` keeps the stored value.
    value: String,
}

/// Returns the value that the path names, if this principal may change it.
fn find(
    daemon: &DaemonState,
    principal: &Principal,
    (name, key): &(String, String),
) -> Result<ConfigTarget, Problem> {
    let target = ConfigTarget::find(daemon.toolcrib(), name, key)?;
    daemon.allowed_tools(principal).require(target.tool())?;
    if target.is_secret() {
        principal.require_role(Role::Owner)?;
    }
    Ok(target)
}

fn context<'a>(
    daemon: &'a DaemonState,
    principal: &'a Principal,
    configuration: &'a HostConfiguration<'a>,
) -> Result<ConfigContext<'a>, Problem> {
    let secrets = secret_context(daemon, principal, configuration)?;
    Ok(ConfigContext { toolcrib: daemon.toolcrib(), configuration, secrets })
}

pub(super) async fn set(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(at): Path<(String, String)>,
    Json(body): Json<ConfigBody>,
) -> Result<Json<ConfigChanged>, Problem> {
    let target = find(&daemon, &principal, &at)?;
    let configuration = HostConfiguration(daemon.host());
    let ctx = context(&daemon, &principal, &configuration)?;
    Ok(Json(tools::set_config(&ctx, &target, body.value).await?))
}

pub(super) async fn unset(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(at): Path<(String, String)>,
) -> Result<Json<ConfigChanged>, Problem> {
    let target = find(&daemon, &principal, &at)?;
    let configuration = HostConfiguration(daemon.host());
    let ctx = context(&daemon, &principal, &configuration)?;
    Ok(Json(tools::remove_config(&ctx, &target).await?))
}
