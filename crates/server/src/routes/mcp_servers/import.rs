//! Adds servers in the format of other programs.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::mcp_servers::{self, ImportMcpServersRequest, ImportedMcpServer};

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
    /// Whether the servers are written; otherwise, the response only lists them.
    #[serde(default)]
    write: bool,
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
        "Adds MCP servers from the configuration of another program.",
    );
    let import = import.description("New servers are disabled until a person enables them. Values that look like secrets are stored in the vault.").tag("mcp");
    api.add(
        import.body::<ImportMcpServers>().returns_ok::<ImportedMcpServers>(
            "The servers in the text, and which of them are added.",
        ),
        import_servers,
    );
}

async fn import_servers(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<ImportMcpServers>,
) -> Result<Json<ImportedMcpServers>, Problem> {
    let existing = details::configured(&daemon)?;
    let request = ImportMcpServersRequest { texts: vec![(None, body.text)], existing };
    let prepare = |config: &mut _| daemon.host().prepare_mcp_server(config);
    let plan = mcp_servers::import(request, prepare)?;
    if body.write {
        let configuration = HostConfiguration(daemon.host());
        let ctx = edit::context(&daemon, &principal, &configuration)?;
        mcp_servers::add(&ctx, plan.additions()).await?;
    }
    Ok(Json(ImportedMcpServers { servers: plan.rows(), written: body.write }))
}
