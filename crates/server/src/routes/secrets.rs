//! Secrets of the vault: their names and consumers. Clients can write values but never read them.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_ops::OpError;
use toolcrib_ops::secrets::{
    self, ListSecretsRequest, RemoveSecretRequest, SecretContext, SecretReply, SecretStored,
    SetSecretRequest,
};

use crate::api::{Api, Json, Operation, Page, Path, etag_response};
use crate::daemon_host::HostConfiguration;
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// A value to store. Responses, logs and audit records never contain it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SecretBody {
    /// The value, 8 characters to 64 KB; `***` keeps the stored value.
    #[schemars(length(min = 3))]
    value: String,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/secrets", Role::Operator, "Lists the names of the secrets.");
    api.add(
        list.returns_ok::<Page<SecretReply>>("By name, without values.").etagged(),
        list_secrets,
    );
    let set = Operation::put("/secrets/{name}", Role::Owner, "Stores a secret, encrypted.");
    let set = set.description("After the reply, the secret is masked in results, logs and records, and tools that declare it get it.");
    api.add(set.body::<SecretBody>().returns_ok::<SecretStored>("Stored."), set_secret);
    let remove = Operation::delete("/secrets/{name}", Role::Owner, "Removes a secret.");
    let remove = remove.description("The value stays masked until the daemon ends.");
    api.add(remove.returns_empty(204, "Removed."), remove_secret);
}

/// This daemon has no vault.
pub(super) fn no_vault() -> OpError {
    let words =
        "this daemon has no place for secrets; set `TOOLCRIB_HOME` to a folder and restart it";
    OpError::Conflict(words.to_owned())
}

/// The context of operations on secrets.
pub(super) fn context<'a>(
    daemon: &'a DaemonState,
    principal: &'a Principal,
    configuration: &'a HostConfiguration<'a>,
) -> Result<SecretContext<'a>, Problem> {
    Ok(SecretContext {
        vault: daemon.toolcrib().vault().ok_or_else(no_vault)?,
        masked: Some(&daemon.toolcrib().engine().sealing().secrets),
        recorder: daemon.recorder(principal),
        configuration: Some(configuration),
    })
}

async fn list_secrets(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let configuration = HostConfiguration(daemon.host());
    let request = ListSecretsRequest {
        configured: daemon.host().secret_consumers(),
        toolcrib: Some(daemon.toolcrib()),
    };
    let ctx = context(&daemon, &principal, &configuration)?;
    let rows = secrets::list(&ctx, request).await?.secrets;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn set_secret(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
    Json(body): Json<SecretBody>,
) -> Result<Json<SecretStored>, Problem> {
    let configuration = HostConfiguration(daemon.host());
    let ctx = context(&daemon, &principal, &configuration)?;
    let request = SetSecretRequest::from_text(name, body.value)?;
    Ok(Json(secrets::set(&ctx, request).await?))
}

async fn remove_secret(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    let configuration = HostConfiguration(daemon.host());
    let ctx = context(&daemon, &principal, &configuration)?;
    secrets::remove(&ctx, RemoveSecretRequest { name }).await?;
    Ok(StatusCode::NO_CONTENT)
}
