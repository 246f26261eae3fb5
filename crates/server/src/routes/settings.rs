//! The configuration in force, and changes of the user's configuration file.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_ops::settings::{self, ChangeSettingRequest, Reloaded, SettingChanged, SettingRow};

use crate::api::{Api, Json, Operation, Page, Path, etag_response};
use crate::daemon_host::HostConfiguration;
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// A value for a key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SettingBody {
    /// A text as for `toolcrib config set`, a number, true or false, or a list. `***` keeps the
    /// stored value.
    value: Value,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/settings", Role::Operator, "Lists the keys of the configuration.");
    let list = list.description("Every key with its value in force, the layer it comes from, and whether a change needs a restart. Secrets are `***`.");
    api.add(list.returns_ok::<Page<SettingRow>>("All of them.").etagged(), list_settings);
    let set = Operation::put("/settings/{key}", Role::Owner, "Sets a key in the user's own file.");
    let set = set.description(
        "If the configuration would be invalid with the value, the file stays unchanged.",
    );
    api.add(
        set.body::<SettingBody>().returns_ok::<SettingChanged>(
            "The value is in force, or the response names what it needs first.",
        ),
        set_setting,
    );
    let unset = Operation::delete(
        "/settings/{key}",
        Role::Owner,
        "Removes a key from the person's own file.",
    );
    api.add(
        unset.returns_ok::<SettingChanged>(
            "The value of another layer, or the default, is in force.",
        ),
        unset_setting,
    );
    let reload = Operation::post(
        "/settings/reload",
        Role::Operator,
        "Reloads all files of the configuration.",
    );
    let reload = reload.description(
        "This includes rules, hooks, agents and folder tools. If a file is invalid, nothing changes.",
    );
    api.add(
        reload.returns_ok::<Reloaded>("The reloaded configuration is in force."),
        reload_settings,
    );
}

async fn list_settings(
    State(daemon): State<DaemonState>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let rows = settings::list(&HostConfiguration(daemon.host()))?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

/// Converts a value to the text that the command line accepts.
fn text(value: &Value) -> Result<String, Problem> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Null | Value::Object(_) => {
            let words =
                "a value is a text, a number, true or false, or a list; a table is set key by key";
            Err(Problem::invalid(words))
        }
        other => Ok(other.to_string()),
    }
}

async fn set_setting(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(key): Path<String>,
    Json(body): Json<SettingBody>,
) -> Result<Json<SettingChanged>, Problem> {
    let value = Some(text(&body.value)?);
    change(&daemon, &principal, ChangeSettingRequest { key, value }).await
}

async fn unset_setting(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(key): Path<String>,
) -> Result<Json<SettingChanged>, Problem> {
    change(&daemon, &principal, ChangeSettingRequest { key, value: None }).await
}

async fn change(
    daemon: &DaemonState,
    principal: &Principal,
    request: ChangeSettingRequest,
) -> Result<Json<SettingChanged>, Problem> {
    let (configuration, recorder) = (HostConfiguration(daemon.host()), daemon.recorder(principal));
    Ok(Json(settings::change(&configuration, &recorder, request).await?))
}

async fn reload_settings(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<Reloaded>, Problem> {
    let (configuration, recorder) = (HostConfiguration(daemon.host()), daemon.recorder(&principal));
    Ok(Json(settings::reload(&configuration, &recorder).await?))
}
