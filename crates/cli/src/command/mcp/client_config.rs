//! `toolcrib mcp connect`: prints the configuration with which other programs connect to Toolcrib.
//! No file is written.

use serde_json::json;

use crate::bootstrap;
use crate::clap_args::McpClient;
use crate::output::{self, Failure};

pub(super) fn run(client: McpClient) -> Result<u8, Failure> {
    let program = std::env::current_exe()
        .map(|path| path.display().to_string())
        .unwrap_or_else(|_| "toolcrib".to_owned());
    // Clients start Toolcrib in a folder of their choice, so the workspace is specified.
    let root = std::env::current_dir()
        .ok()
        .and_then(|folder| bootstrap::resolve_roots(&[]).ok().map(|_| folder))
        .map(|folder| folder.display().to_string());
    let mut args = vec!["mcp".to_owned(), "serve".to_owned()];
    if let Some(root) = &root {
        args.extend(["--root".to_owned(), root.clone()]);
    } else {
        output::eprint_line("toolcrib: add --root FOLDER to its arguments for a workspace");
    }
    let words = args.join(" ");
    let plain = json!({"command": program, "args": args});
    let servers = |key: &str| format!("{:#}", json!({ key: {"toolcrib": plain} }));
    let (place, text) = match client {
        McpClient::ClaudeDesktop => ("claude_desktop_config.json", servers("mcpServers")),
        McpClient::ClaudeCode => (".mcp.json", servers("mcpServers")),
        McpClient::Cursor => (".cursor/mcp.json", servers("mcpServers")),
        McpClient::Gemini => (".gemini/settings.json", servers("mcpServers")),
        McpClient::Vscode => {
            let server = json!({"type": "stdio", "command": program, "args": args});
            (".vscode/mcp.json", format!("{:#}", json!({"servers": {"toolcrib": server}})))
        }
        McpClient::Zed => ("settings.json", servers("context_servers")),
        McpClient::Codex => (
            ".codex/config.toml",
            format!("[mcp_servers.toolcrib]\ncommand = {}\nargs = {}", json!(program), json!(args)),
        ),
        McpClient::Goose => (
            "goose/config.yaml",
            format!(
                "extensions:\n  toolcrib:\n    type: stdio\n    name: toolcrib\n    enabled: true\n    cmd: {}\n    args: {}",
                json!(program),
                json!(args)
            ),
        ),
    };
    output::eprint_line(&format!("toolcrib: put this into {place}"));
    if matches!(client, McpClient::ClaudeCode) {
        output::eprint_line(&format!(
            "toolcrib: or run: claude mcp add toolcrib -- {program} {words}"
        ));
    }
    output::print_line(&text)?;
    Ok(0)
}
