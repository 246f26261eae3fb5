//! Adds servers, in the form that other programs keep them in.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::client::import_config::{self, ImportedServer};
use toolcrib_ops::mcp_servers::endpoint_text;
use toolcrib_ops::secrets::{self, SetSecretRequest};

use super::{details, edit};
use crate::api::{Api, Json, Operation};
use crate::daemon_host::HostConfiguration;
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Servers to add.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ImportMcpServers {
    /// The text of a file of servers: `{"mcpServers": {"NAME": {"command": …, "args": […]}}}` or
    /// with `url` and `headers`, as JSON, TOML or YAML.
    text: String,
    /// Whether they are written; otherwise they are only shown.
    #[serde(default)]
    write: bool,
}

/// A server of the text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ImportedMcpServer {
    /// Its name.
    name: String,
    /// Its program with arguments, or its address.
    place: String,
    /// Names of values that go into the vault and not into the file.
    secrets: Vec<String>,
    /// What to know of it.
    notes: Vec<String>,
    /// Whether it is added; one whose name is taken is not.
    taken: bool,
}

/// The servers of the text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ImportedMcpServers {
    /// All of them.
    servers: Vec<ImportedMcpServer>,
    /// Whether they were written.
    written: bool,
}

pub(super) fn routes(api: &mut Api) {
    let import = Operation::post(
        "/mcp/import",
        Role::Owner,
        "Adds MCP servers, in the form that other programs keep them in.",
    );
    let import = import.description("New servers are off until they are switched on. Values that look like secrets are kept in the vault.").tag("mcp");
    api.add(
        import
            .body::<ImportMcpServers>()
            .returns_ok::<ImportedMcpServers>("What is in the text, and what of it is added."),
        import_servers,
    );
}

async fn import_servers(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<ImportMcpServers>,
) -> Result<Json<ImportedMcpServers>, Problem> {
    let mut servers = details::configured(&daemon)?;
    let mut found = import_config::parse(&body.text).map_err(Problem::invalid)?;
    for one in &mut found {
        let needs = daemon.host().prepare_mcp_server(&mut one.config);
        one.notes.extend(needs);
        if servers.iter().any(|server| server.name == one.config.name) {
            one.notes
                .push("there is a server of this name already; it is left as it is".to_owned());
            one.skip = true;
        }
    }
    if body.write {
        let configuration = HostConfiguration(daemon.host());
        let ctx = crate::routes::secrets::context(&daemon, &principal, &configuration)?;
        // Secrets first: no server is written that names one which is not there.
        for (name, value) in found.iter().filter(|one| !one.skip).flat_map(|one| &one.secrets) {
            let request = SetSecretRequest::from_text(name.clone(), value.clone())?;
            secrets::set(&ctx, request).await?;
        }
        let new = found.iter().filter(|one| !one.skip).map(|one| one.config.clone());
        servers.extend(new);
        edit::write(&daemon, servers).await?;
        for one in found.iter().filter(|one| !one.skip) {
            daemon.admin_audit().record(&principal, "mcp.add", one.config.name.as_str()).await?;
        }
    }
    let servers = found.into_iter().map(row).collect();
    Ok(Json(ImportedMcpServers { servers, written: body.write }))
}

fn row(one: ImportedServer) -> ImportedMcpServer {
    ImportedMcpServer {
        name: one.config.name.to_string(),
        place: endpoint_text(&one.config),
        secrets: one.secrets.into_iter().map(|(name, _)| name).collect(),
        notes: one.notes,
        taken: !one.skip,
    }
}
