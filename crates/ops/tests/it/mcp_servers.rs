//! Operations on MCP servers.

use std::fs;
use std::sync::Arc;

use tempfile::TempDir;
use toolcrib_app::mcp::client::{Remote, ServerConfig, ServerName, Stdio};
use toolcrib_ops::ErrorClass;
use toolcrib_ops::mcp_servers::{
    self, AddMcpServersRequest, ListMcpServersRequest, McpServerState, McpServersFile,
    McpTransport, RemoveMcpServerRequest, SetMcpServerEnabledRequest,
};
use toolcrib_store::vault::{Secret, Vault};

use crate::fixture::Fixture;

fn server(name: &str) -> ServerConfig {
    let program = Stdio {
        command: "mcp-notes".to_owned(),
        args: vec!["--all".to_owned()],
        ..Stdio::default()
    };
    let name = ServerName::new(name).unwrap();
    ServerConfig { enabled: false, ..ServerConfig::new(name, Remote::Stdio(program)) }
}

fn file(folder: &TempDir) -> McpServersFile {
    McpServersFile { path: folder.path().join("config/mcp.toml") }
}

fn add(file: &McpServersFile, names: &[&str]) -> Result<(), toolcrib_ops::OpError> {
    let servers = names.iter().map(|name| server(name)).collect();
    mcp_servers::add(file, AddMcpServersRequest { servers }).map(drop)
}

#[tokio::test]
async fn servers_are_added_switched_and_listed() {
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let file = file(&folder);
    assert_eq!(file.read().unwrap(), []);
    add(&file, &["notes", "mail"]).unwrap();
    assert_eq!(add(&file, &["new", "notes"]).unwrap_err().class(), ErrorClass::Conflict);
    let request = SetMcpServerEnabledRequest { name: "mail".to_owned(), enabled: true };
    assert!(mcp_servers::set_enabled(&file, request).unwrap().enabled);
    let request = SetMcpServerEnabledRequest { name: "none".to_owned(), enabled: true };
    let missing = mcp_servers::set_enabled(&file, request).unwrap_err();
    assert_eq!(missing.class(), ErrorClass::NotFound);
    let request = ListMcpServersRequest { configured: Some(file.read().unwrap()), vault: None };
    let rows = mcp_servers::list(&fixture.ctx(), request).await.unwrap();
    let shown: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.enabled)).collect();
    // The file contains the accepted servers by name, and none of the refused ones.
    assert_eq!(shown, [("mail", true), ("notes", false)]);
    assert_eq!((rows[1].transport, rows[1].state), (McpTransport::Stdio, McpServerState::Off));
    assert_eq!(rows[1].endpoint, "mcp-notes --all");
    // This process uses no servers.
    let own = mcp_servers::list(&fixture.ctx(), ListMcpServersRequest::default()).await.unwrap();
    assert_eq!(own, []);
}

#[tokio::test]
async fn a_server_is_removed_with_its_authorization_its_secrets_and_its_skills() {
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let facts = || Arc::clone(&fixture.ctx().toolcrib.stores().facts);
    let (file, vault) = (file(&folder), Vault::in_folder(folder.path().join("vault")));
    add(&file, &["notes", "mail"]).unwrap();
    let skills = folder.path().join("skills/notes");
    fs::create_dir_all(skills.join("poems")).unwrap();
    let name = ServerName::new("notes").unwrap();
    let secret = toolcrib_app::oauth_secret_name(&name).unwrap();
    vault.set(&secret, &Secret::new("agreed-to-this").unwrap(), 1).unwrap();
    let request = RemoveMcpServerRequest { name: "notes".to_owned(), vault: vault.clone(), skills };
    let removed = mcp_servers::remove(&file, facts(), request.clone()).await.unwrap();
    assert_eq!(removed.removed, "notes");
    assert!(!request.skills.exists() && vault.list().unwrap().is_empty());
    assert_eq!(file.find("mail").unwrap().name.as_str(), "mail");
    let again = mcp_servers::remove(&file, facts(), request).await.unwrap_err();
    assert_eq!(again.class(), ErrorClass::NotFound);
}

#[test]
fn a_file_that_cannot_be_read_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder);
    fs::create_dir_all(file.path.parent().unwrap()).unwrap();
    fs::write(&file.path, "[servers.\n").unwrap();
    let broken = add(&file, &["notes"]).unwrap_err();
    assert_eq!((broken.class(), broken.exit_code()), (ErrorClass::Invalid, 3), "{broken}");
    assert_eq!(fs::read_to_string(&file.path).unwrap(), "[servers.\n");
}
