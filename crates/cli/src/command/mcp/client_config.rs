//! `toolcrib mcp connect`: what other programs need to connect to us. It is printed, and written
//! nowhere.

use serde_json::json;

use crate::clap_args::McpClient;
use crate::output::{self, Failure};

pub(super) fn run(client: McpClient) -> Result<u8, Failure> {
    let program = std::env::current_exe()
        .map(|path| path.display().to_string())
        .unwrap_or_else(|_| "toolcrib".to_owned());
    let args = ["mcp", "serve"];
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
            format!(
                "[mcp_servers.toolcrib]\ncommand = {}\nargs = [\"mcp\", \"serve\"]",
                json!(program)
            ),
        ),
        McpClient::Goose => (
            "goose/config.yaml",
            format!(
                "extensions:\n  toolcrib:\n    type: stdio\n    name: toolcrib\n    enabled: true\n    cmd: {}\n    args: [mcp, serve]",
                json!(program)
            ),
        ),
    };
    output::eprint_line(&format!("toolcrib: put this into {place}"));
    if matches!(client, McpClient::ClaudeCode) {
        output::eprint_line(&format!(
            "toolcrib: or run: claude mcp add toolcrib -- {program} mcp serve"
        ));
    }
    output::print_line(&text)?;
    Ok(0)
}
