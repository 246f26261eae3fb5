//! Parts of a Toolcrib that depend on its settings alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_builtins::fs::{Journal, Roots, Workspace};
use toolcrib_core::canonical_json;
use toolcrib_net::{AddressPolicy, HttpClient, StaticResolver};

use crate::mcp::ClientForServer;
use crate::settings::{Settings, SetupError};

/// Returns the workspace of these settings; `None` if they have no roots.
pub(super) fn workspace(settings: &Settings) -> Result<Option<Workspace>, SetupError> {
    if settings.roots.is_empty() {
        return Ok(None);
    }
    let roots = roots(settings)?;
    let journal = Journal::open(journal_folder(settings, &roots))
        .map_err(|error| SetupError::State(error.to_string()))?;
    Ok(Some(Workspace::new(roots, journal)))
}

/// Returns the default identity of an environment: its workspace folders.
pub(super) fn workspace_identity(settings: &Settings) -> String {
    let real = |root: &PathBuf| root.canonicalize().unwrap_or_else(|_| root.clone());
    let roots: Vec<String> =
        settings.roots.iter().map(|root| real(root).display().to_string()).collect();
    canonical_json::sha256(&serde_json::json!(roots))
}

/// Returns the roots of these settings, without the protected paths.
pub(crate) fn roots(settings: &Settings) -> Result<Roots, SetupError> {
    Roots::open(&settings.roots)
        .and_then(|roots| roots.protect(protected_paths(settings)))
        .map_err(|error| SetupError::Root(error.to_string()))
}

/// Returns paths that models must not change: stored state, secrets, and tools. Otherwise, a tool
/// written by a model would run without review.
pub(super) fn protected_paths(settings: &Settings) -> impl Iterator<Item = &Path> {
    let folders = settings.tool_folders.iter().map(|folder| folder.path.as_path());
    let vault = settings.vault.as_ref().map(toolcrib_store::vault::Vault::folder);
    [settings.state.as_path()]
        .into_iter()
        .chain(settings.protected.iter().map(PathBuf::as_path))
        .chain(folders)
        .chain(vault)
}

/// Returns the journal folder. Each workspace has one journal, in a folder named by a hash of the
/// real path of the first root.
fn journal_folder(settings: &Settings, roots: &Roots) -> PathBuf {
    let path = roots.paths().next().map(|path| path.to_string_lossy().into_owned());
    let hash = canonical_json::sha256_parts(&[&path.unwrap_or_default()]);
    settings.state.join("undo").join(hash.get(..16).unwrap_or(&hash))
}

/// Creates the HTTP client with the address policy of these settings.
pub(crate) fn http_client(settings: &Settings) -> Result<HttpClient, SetupError> {
    let net = |error: &dyn std::fmt::Display| SetupError::Net(error.to_string());
    let policy = AddressPolicy::with_allowed(&settings.allow_net).map_err(|error| net(&error))?;
    let client = HttpClient::new(policy.with_blocked_ports(settings.own_ports.clone()));
    if settings.resolve.is_empty() {
        return Ok(client);
    }
    let fixed = StaticResolver::parse(&settings.resolve).map_err(|error| net(&error))?;
    Ok(client.with_resolver(Arc::new(fixed)))
}

/// Returns a function that creates the HTTP client of an MCP server: it reaches the addresses of
/// other clients, and the server's own address, which the owner has entered.
pub(super) fn client_for_servers(settings: &Settings) -> ClientForServer {
    let (allowed, own) = (settings.allow_net.clone(), settings.own_ports.clone());
    let resolve = settings.resolve.clone();
    Box::new(move |url| {
        let uri: http::Uri = url.parse().ok()?;
        let port =
            uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
        let entry = format!("{}:{port}", uri.host()?);
        let all = allowed.iter().cloned().chain([entry]);
        let policy = AddressPolicy::with_allowed(all).ok()?.with_blocked_ports(own.clone());
        let client = HttpClient::new(policy).with_keep_alive();
        if resolve.is_empty() {
            return Some(client);
        }
        Some(client.with_resolver(Arc::new(StaticResolver::parse(&resolve).ok()?)))
    })
}
