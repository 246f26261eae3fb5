//! Values that a tool needs: plain ones stand in the person's own file, secrets in the vault.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::core::{ConfigKey, ToolSpec};
use toolcrib_ops::OpError;
use toolcrib_ops::secrets::{self, RemoveSecretRequest, SetSecretRequest};
use toolcrib_ops::settings::{self, ChangeSettingRequest, SECRET_MASK};
use toolcrib_ops::tools::find_tool;

use super::show::{ConfigRow, config};
use crate::api::{Json, Path};
use crate::daemon_host::HostConfiguration;
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::routes::secrets::context as secret_context;
use crate::state::DaemonState;

/// A value.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigBody {
    /// The value; `***` keeps the one that is there.
    value: String,
}

/// How the value stands now.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ConfigChanged {
    /// The tool.
    tool: String,
    /// The value.
    config: ConfigRow,
}

/// One value of one tool.
struct ConfigTarget {
    spec: std::sync::Arc<ToolSpec>,
    key: ConfigKey,
}

impl ConfigTarget {
    fn find(daemon: &DaemonState, name: &str, key: &str) -> Result<Self, Problem> {
        let spec = find_tool(daemon.toolcrib(), name)?;
        let found = spec.config.iter().find(|config| config.key == key).cloned();
        let known = || {
            let keys: Vec<&str> = spec.config.iter().map(|config| config.key.as_str()).collect();
            let keys = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
            Problem::not_found(format!("{} has no value {key}; it has: {keys}", spec.name))
        };
        let key = found.ok_or_else(known)?;
        Ok(Self { spec, key })
    }

    /// Its key in the configuration.
    fn setting(&self) -> String {
        format!("tools.{}.config.{}", self.spec.name, self.key.key)
    }

    /// Its name in the vault.
    fn secret(&self) -> String {
        format!("{}.{}", self.spec.name, self.key.key)
    }

    fn now(&self, daemon: &DaemonState) -> Result<Json<ConfigChanged>, Problem> {
        let row = config(daemon, &self.spec).into_iter().find(|row| row.key == self.key.key);
        let gone = || Problem::new(Code::Conflict, "the tool has changed meanwhile; read it again");
        Ok(Json(ConfigChanged { tool: self.spec.name.to_string(), config: row.ok_or_else(gone)? }))
    }

    /// Whether any layer of the configuration sets it.
    fn is_written(&self, daemon: &DaemonState) -> Result<bool, Problem> {
        let setting = self.setting();
        Ok(daemon.host().settings()?.iter().any(|row| row.key == setting))
    }
}

async fn change_setting(
    daemon: &DaemonState,
    principal: &Principal,
    key: String,
    value: Option<String>,
) -> Result<(), Problem> {
    let (configuration, recorder) = (HostConfiguration(daemon.host()), daemon.recorder(principal));
    let request = ChangeSettingRequest { key, value };
    settings::change(&configuration, &recorder, request).await?;
    Ok(())
}

pub(super) async fn set(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path((name, key)): Path<(String, String)>,
    Json(body): Json<ConfigBody>,
) -> Result<Json<ConfigChanged>, Problem> {
    let slot = ConfigTarget::find(&daemon, &name, &key)?;
    daemon.allowed_tools(&principal).require(slot.spec.name.as_str())?;
    if body.value == SECRET_MASK {
        return slot.now(&daemon);
    }
    if slot.key.secret {
        principal.require_role(Role::Owner)?;
        // What is written down wins over the vault, and is no place for a secret.
        if slot.is_written(&daemon)? {
            change_setting(&daemon, &principal, slot.setting(), None).await?;
        }
        let configuration = HostConfiguration(daemon.host());
        let ctx = secret_context(&daemon, &principal, &configuration)?;
        let request = SetSecretRequest::from_text(slot.secret(), body.value)?;
        secrets::set(&ctx, request).await?;
    } else {
        change_setting(&daemon, &principal, slot.setting(), Some(body.value)).await?;
    }
    slot.now(&daemon)
}

pub(super) async fn unset(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path((name, key)): Path<(String, String)>,
) -> Result<Json<ConfigChanged>, Problem> {
    let slot = ConfigTarget::find(&daemon, &name, &key)?;
    daemon.allowed_tools(&principal).require(slot.spec.name.as_str())?;
    if slot.key.secret {
        principal.require_role(Role::Owner)?;
        let configuration = HostConfiguration(daemon.host());
        let ctx = secret_context(&daemon, &principal, &configuration)?;
        match secrets::remove(&ctx, RemoveSecretRequest { name: slot.secret() }).await {
            Ok(_) | Err(OpError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if slot.is_written(&daemon)? {
        change_setting(&daemon, &principal, slot.setting(), None).await?;
    }
    slot.now(&daemon)
}
