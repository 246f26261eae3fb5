//! The MCP servers of this person: whether each was reviewed, and whether its program exists. No
//! server is started for this.

use std::path::Path;

use toolcrib_app::mcp::client::{PendingReview, Remote, ServerConfig, Stdio, StoredCredentials};

use super::Finding;
use crate::bootstrap;
use crate::clap_args::WorkspaceArgs;

const NAME: &str = "mcp";

pub(super) async fn check(workspace: &Path) -> Vec<Finding> {
    let servers = match bootstrap::mcp_servers() {
        Ok(servers) => servers,
        Err(failure) => {
            return vec![Finding::fail(NAME, failure.message).into_configuration_fault()];
        }
    };
    let secrets =
        bootstrap::open_vault().ok().and_then(|vault| vault.read().ok()).unwrap_or_default();
    let mut found = Vec::new();
    for server in servers {
        found.push(
            one(&server, workspace, &|name| {
                secrets
                    .iter()
                    .find(|(own, _)| own.as_str() == name)
                    .map(|(_, text)| text.expose().to_owned())
            })
            .await,
        );
    }
    found
}

async fn one(
    server: &ServerConfig,
    workspace: &Path,
    secret: &dyn Fn(&str) -> Option<String>,
) -> Finding {
    let name = &server.name;
    let off = if server.enabled { "" } else { " (it is off)" };
    if let Some(missing) = missing_secret(server, secret) {
        return Finding::fail(NAME, format!("{name}: the secret {missing} is not set{off}"))
            .with_fix(format!("toolcrib secret set {missing}"));
    }
    match &server.remote {
        Remote::Stdio(program) => {
            if let Some(missing) = missing_path(program) {
                let words = format!("{name}: {missing} does not exist{off}");
                return Finding::warn(NAME, words).with_fix(format!("toolcrib mcp show {name}"));
            }
        }
        Remote::Http(http) => {
            let kept = toolcrib_app::oauth_secret_name(name).and_then(|own| secret(own.as_str()));
            if StoredCredentials::parse(kept.as_deref(), &http.url).is_needed() {
                return Finding::warn(NAME, format!("{name}: the server requires a login{off}"))
                    .with_fix(format!("toolcrib mcp auth {name}"));
            }
        }
    }
    match reviews(server, workspace).await {
        None => Finding::warn(NAME, format!("{name}: its tools are not reviewed{off}"))
            .with_fix(format!("toolcrib mcp test {name}")),
        Some(held) if !held.is_empty() => {
            let words = format!("{name}: {} tools are held for review{off}", held.len());
            Finding::warn(NAME, words).with_fix(format!("toolcrib mcp review {name}"))
        }
        Some(_) => Finding::ok(NAME, format!("{name}: its tools are reviewed{off}")),
    }
}

/// Returns the held definitions of a server; `None` if it was never reviewed.
async fn reviews(server: &ServerConfig, workspace: &Path) -> Option<Vec<PendingReview>> {
    let world = WorkspaceArgs { root: vec![workspace.to_owned()], ..WorkspaceArgs::default() };
    let on = ServerConfig { enabled: true, ..server.clone() };
    let toolcrib = bootstrap::build_with_mcp_server(&world, on).await.ok()?;
    let connection = toolcrib.mcp().connection(server.name.as_str())?;
    if !connection.is_reviewed().await {
        return None;
    }
    Some(connection.known_pending_reviews().await)
}

fn missing_path(program: &Stdio) -> Option<String> {
    let own = Path::new(&program.command);
    let all = program.read.iter().chain(&program.write).map(|path| path.as_path());
    let own = own.is_absolute().then_some(own).into_iter();
    own.chain(all).find(|path| !path.exists()).map(|path| path.display().to_string())
}

/// Returns the first secret that the entry names and that is missing in the vault.
fn missing_secret(
    server: &ServerConfig,
    secret: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let pairs = match &server.remote {
        Remote::Stdio(program) => &program.env,
        Remote::Http(http) => &http.headers,
    };
    let named = pairs.iter().filter_map(|(_, value)| {
        let whole = value.strip_prefix("secret:");
        whole.or_else(|| value.split_once("${secret:")?.1.split_once('}').map(|(name, _)| name))
    });
    named.into_iter().find(|name| secret(name).is_none()).map(str::to_owned)
}
