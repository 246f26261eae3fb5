//! Operations on MCP servers.

use std::fs;
use std::sync::Arc;

use tempfile::TempDir;
use toolcrib_app::mcp::client::{Remote, ServerConfig, ServerName, Stdio};
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::mcp_servers::{
    self, AddMcpServersRequest, ChangeMcpServerRequest, ListMcpServersRequest, McpServerState,
    McpServersContext, McpServersFile, McpTransport, RemoveMcpServerRequest,
};
use toolcrib_ops::{ErrorClass, OpError};
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

/// The file and the vault of a process that ends at once.
fn context(folder: &TempDir) -> McpServersContext<'static> {
    McpServersContext {
        file: McpServersFile { path: folder.path().join("config/mcp.toml") },
        vault: Ok(Vault::in_folder(folder.path().join("vault"))),
        masked: None,
        recorder: Recorder::None,
        configuration: None,
    }
}

async fn add(ctx: &McpServersContext<'_>, names: &[&str]) -> Result<(), OpError> {
    let servers = names.iter().map(|name| server(name)).collect();
    let request = AddMcpServersRequest { servers, secrets: Vec::new() };
    mcp_servers::add(ctx, request).await.map(drop)
}

#[tokio::test]
async fn servers_are_added_switched_and_listed() {
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let ctx = context(&folder);
    assert_eq!(ctx.file.read().unwrap(), []);
    add(&ctx, &["notes", "mail"]).await.unwrap();
    assert_eq!(add(&ctx, &["new", "notes"]).await.unwrap_err().class(), ErrorClass::Conflict);
    let change = |name: &str| ChangeMcpServerRequest {
        name: name.to_owned(),
        enabled: Some(true),
        ..ChangeMcpServerRequest::default()
    };
    assert!(mcp_servers::change(&ctx, change("mail")).await.unwrap().config.enabled);
    let missing = mcp_servers::change(&ctx, change("none")).await.unwrap_err();
    assert_eq!(missing.class(), ErrorClass::NotFound);
    let request = ListMcpServersRequest { configured: Some(ctx.file.read().unwrap()), vault: None };
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
    let ctx = context(&folder);
    let vault = ctx.vault.clone().unwrap();
    add(&ctx, &["notes", "mail"]).await.unwrap();
    let skills = folder.path().join("skills/notes");
    fs::create_dir_all(skills.join("poems")).unwrap();
    let name = ServerName::new("notes").unwrap();
    let secret = toolcrib_app::oauth_secret_name(&name).unwrap();
    vault.set(&secret, &Secret::new("agreed-to-this").unwrap(), 1).unwrap();
    let request = RemoveMcpServerRequest { name: "notes".to_owned(), skills };
    let removed = mcp_servers::remove(&ctx, facts(), request.clone()).await.unwrap();
    assert_eq!(removed.removed, "notes");
    assert!(!request.skills.exists() && vault.list().unwrap().is_empty());
    assert_eq!(ctx.file.find("mail").unwrap().name.as_str(), "mail");
    let again = mcp_servers::remove(&ctx, facts(), request).await.unwrap_err();
    assert_eq!(again.class(), ErrorClass::NotFound);
}

/// What a change cannot be leaves the file as it was.
#[tokio::test]
async fn settings_of_a_program_and_of_an_address_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let ctx = context(&folder);
    add(&ctx, &["notes"]).await.unwrap();
    let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let base = || ChangeMcpServerRequest { name: "notes".to_owned(), ..Default::default() };
    let wrong = [
        ChangeMcpServerRequest { headers: pair("X-Team", "a"), ..base() },
        ChangeMcpServerRequest { remove: vec!["nowhere".to_owned()], ..base() },
    ];
    for request in wrong {
        let error = mcp_servers::change(&ctx, request).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid, "{error}");
    }
    let request = ChangeMcpServerRequest { env: pair("MODE", "x"), trusted: Some(true), ..base() };
    let changed = mcp_servers::change(&ctx, request).await.unwrap();
    assert!(changed.config.trusted && changed.secrets.is_empty());
    let secret = ChangeMcpServerRequest { env: pair("API_TOKEN", "very-secret-value-1"), ..base() };
    assert_eq!(mcp_servers::change(&ctx, secret).await.unwrap().secrets, ["mcp_notes_API_TOKEN"]);
    let text = fs::read_to_string(&ctx.file.path).unwrap();
    assert!(!text.contains("very-secret") && text.contains("MODE"), "{text}");
    let gone = ChangeMcpServerRequest { env: pair("MODE", ""), ..base() };
    mcp_servers::change(&ctx, gone).await.unwrap();
    assert!(!fs::read_to_string(&ctx.file.path).unwrap().contains("MODE"));
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let ctx = context(&folder);
    let file = &ctx.file;
    fs::create_dir_all(file.path.parent().unwrap()).unwrap();
    fs::write(&file.path, "[servers.\n").unwrap();
    let broken = add(&ctx, &["notes"]).await.unwrap_err();
    assert_eq!((broken.class(), broken.exit_code()), (ErrorClass::Invalid, 3), "{broken}");
    assert_eq!(fs::read_to_string(&file.path).unwrap(), "[servers.\n");
}
