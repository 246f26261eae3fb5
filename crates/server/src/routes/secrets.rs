//! Secrets of the vault: names and who uses them. Values go in and never come out.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::core::{Clock as _, SystemClock};
use toolcrib_app::store::vault::{Secret, SecretName, Vault, VaultError};

use super::settings::MASKED;
use crate::api::{Api, Json, Operation, Page, Path, etag_response, run_blocking};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// A secret without its value.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SecretRow {
    /// Its name.
    name: String,
    /// Always `***`.
    value: String,
    /// When it was set, in milliseconds since 1970.
    set_at: i64,
    /// Who uses it, in words.
    used_by: Vec<String>,
}

/// A value to be kept. It is in no answer, log or audit record.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SecretBody {
    /// The value, 8 characters to 64 KB; `***` keeps the one that is there.
    #[schemars(length(min = 3))]
    value: String,
}

/// What became of a secret.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct SecretStored {
    /// Its name.
    name: String,
    /// Whether there was one before.
    replaced: bool,
    /// Whether it is the one that was there, because `***` was written back.
    unchanged: bool,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/secrets", Role::Operator, "Lists the names of the secrets.");
    api.add(list.returns_ok::<Page<SecretRow>>("By name, without values.").etagged(), list_secrets);
    let set = Operation::put("/secrets/{name}", Role::Owner, "Keeps a secret, encrypted.");
    let set = set.description("From the answer on it is masked in results, logs and records, and the tools that declare it get it.");
    api.add(set.body::<SecretBody>().returns_ok::<SecretStored>("It is kept."), set_secret);
    let remove = Operation::delete("/secrets/{name}", Role::Owner, "Removes a secret.");
    let remove = remove.description("It stays masked for as long as the daemon lives.");
    api.add(remove.returns_empty(204, "It is gone."), remove_secret);
}

impl From<VaultError> for Problem {
    fn from(error: VaultError) -> Self {
        match &error {
            VaultError::NearlyThere { .. } => Self::conflict(error.to_string()),
            _ => Self::new(Code::Unavailable, error.to_string()),
        }
    }
}

fn vault(daemon: &DaemonState) -> Result<Vault, Problem> {
    let words =
        "this daemon has no place for secrets; set `TOOLCRIB_HOME` to a folder and restart it";
    daemon.toolcrib().vault().ok_or_else(|| Problem::conflict(words))
}

fn named(text: &str) -> Result<SecretName, Problem> {
    text.parse().map_err(|error| Problem::invalid(format!("{error}")))
}

/// What uses a secret: a tool that declares its key, and the parts that the configuration names.
fn users(daemon: &DaemonState, name: &SecretName, named: &[(String, String)]) -> Vec<String> {
    let declared = name.tool_and_key().and_then(|(tool, key)| {
        let spec = daemon.toolcrib().spec(tool)?;
        let declares = spec.config.iter().any(|config| config.key == key);
        declares.then(|| format!("tool {tool} ({key})"))
    });
    let named = named.iter().filter(|(secret, _)| secret == name.as_str());
    let mut users: Vec<String> = declared.into_iter().collect();
    for (_, user) in named {
        if !users.contains(user) {
            users.push(user.clone());
        }
    }
    users
}

async fn list_secrets(
    State(daemon): State<DaemonState>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let vault = vault(&daemon)?;
    let listed = run_blocking(move || vault.list()).await?;
    let named = daemon.host().secret_users();
    let row = |listed: toolcrib_app::store::vault::SecretInfo| SecretRow {
        used_by: users(&daemon, &listed.name, &named),
        name: listed.name.to_string(),
        value: MASKED.to_owned(),
        set_at: listed.set_at,
    };
    Ok(etag_response(&headers, &Page::single_page(listed.into_iter().map(row).collect())))
}

async fn set_secret(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
    Json(body): Json<SecretBody>,
) -> Result<Json<SecretStored>, Problem> {
    Ok(Json(store_secret(&daemon, &principal, &name, body.value).await?))
}

/// Keeps a secret under this name, and puts it into force.
pub(super) async fn store_secret(
    daemon: &DaemonState,
    principal: &Principal,
    name: &str,
    value: String,
) -> Result<SecretStored, Problem> {
    let (name, vault) = (named(name)?, vault(daemon)?);
    if value == MASKED {
        let is_there =
            run_blocking(move || vault.list()).await?.iter().any(|listed| listed.name == name);
        if !is_there {
            return Err(Problem::not_found(format!(
                "there is no secret {name} to be kept as it is"
            )));
        }
        return Ok(SecretStored { name: name.to_string(), replaced: true, unchanged: true });
    }
    let secret = Secret::new(value).map_err(|error| Problem::invalid(error.to_string()))?;
    // Masked before anything else is done with it.
    daemon.toolcrib().engine().sealing().secrets.add([secret.expose()]);
    let of_vault = name.clone();
    let replaced =
        run_blocking(move || vault.set(&of_vault, &secret, SystemClock.now_ms())).await?;
    daemon.admin_audit().record(principal, "secret.set", name.as_str()).await?;
    reload_vault(daemon, &name).await?;
    Ok(SecretStored { name: name.to_string(), replaced, unchanged: false })
}

async fn remove_secret(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<axum::http::StatusCode, Problem> {
    delete_secret(&daemon, &principal, &name).await?;
    Ok(axum::http::StatusCode::NO_CONTENT)
}

/// Removes the secret of this name.
pub(super) async fn delete_secret(
    daemon: &DaemonState,
    principal: &Principal,
    name: &str,
) -> Result<(), Problem> {
    let (name, vault) = (named(name)?, vault(daemon)?);
    let of_vault = name.clone();
    if !run_blocking(move || vault.remove(&of_vault)).await? {
        return Err(Problem::not_found(format!("there is no secret {name}")));
    }
    daemon.admin_audit().record(principal, "secret.remove", name.as_str()).await?;
    reload_vault(daemon, &name).await
}

/// Tools and providers get what the vault has for them now.
async fn reload_vault(daemon: &DaemonState, name: &SecretName) -> Result<(), Problem> {
    daemon.host().reload().await.map(drop).map_err(|error| {
        let words = format!(
            "the change of {name} is kept, and the configuration cannot be used yet: {error}"
        );
        Problem::invalid(words)
    })
}
