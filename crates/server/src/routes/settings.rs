//! The configuration as it is in force, and changes of the person's own file.

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
    /// A text as `toolcrib config set` takes it, a number, true or false, or a list. `***` keeps
    /// what is there.
    value: Value,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/settings", Role::Operator, "Lists the keys of the configuration.");
    let list = list.description("Every key with its value in force, the layer it comes from, and whether a change needs a restart. Secrets are `***`.");
    api.add(list.returns_ok::<Page<SettingRow>>("All of them.").etagged(), list_settings);
    let set =
        Operation::put("/settings/{key}", Role::Owner, "Sets a key in the person's own file.");
    let set =
        set.description("The file stays as it was when the configuration would not hold with it.");
    api.add(
        set.body::<SettingBody>()
            .returns_ok::<SettingChanged>("It is in force, or says what it waits for."),
        set_setting,
    );
    let unset = Operation::delete(
        "/settings/{key}",
        Role::Owner,
        "Takes a key out of the person's own file.",
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
        "Reads all files of the configuration again.",
    );
    let reload = reload.description(
        "Rules, hooks, agents and tools of folders too. A broken file changes nothing.",
    );
    api.add(
        reload.returns_ok::<Reloaded>("What is in force now was read just now."),
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

/// A value as the command line would take it.
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
