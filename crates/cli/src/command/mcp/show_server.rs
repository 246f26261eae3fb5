//! `toolcrib mcp show`: shows everything about one server.

use serde_json::{Value, json};
use toolcrib_app::mcp::client::{Pin, Remote, ServerConfig, WorkspaceAccess};

use toolcrib_ops::mcp_servers::{self, endpoint_text};

use super::find_server::find_server;
use super::prepare_program::needs_text;
use crate::clap_args::WorkspaceArgs;
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, op_context, terminal};

/// Returns the settings of a server, without the values of secrets and variables.
pub(super) fn settings_json(config: &ServerConfig) -> Value {
    let mut shown = json!({
        "name": config.name, "place": endpoint_text(config), "enabled": config.enabled,
        "trusted": config.trusted, "timeout_s": config.timeout.as_secs(),
        "idle_s": config.idle.as_secs(), "legacy": config.legacy,
        "pin": if config.pin == Pin::Program { "program" } else { "definition" },
        "trust_results": if config.workspace_results { vec!["*".to_owned()] } else { config.workspace_tools.clone() },
    });
    let more = match &config.remote {
        Remote::Stdio(program) => json!({
            "workspace": match program.workspace {
                WorkspaceAccess::None => "none",
                WorkspaceAccess::Read => "read",
                WorkspaceAccess::Write => "write",
            },
            "read": program.read, "write": program.write, "allow_hosts": program.allow_hosts,
            "network": program.network, "memory_mb": program.memory_mb,
            "env": program.env.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "launcher": program.launcher,
        }),
        Remote::Http(http) => json!({
            "headers": http.headers.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        }),
    };
    if let (Value::Object(shown), Value::Object(more)) = (&mut shown, more) {
        shown.extend(more);
    }
    shown
}

/// Renders the settings for people.
pub(super) fn settings_text(config: &ServerConfig) -> String {
    let row = |name: &str, value: &str| format!("{name:<14} {}\n", terminal::escape_to_line(value));
    let mut text = row("server", config.name.as_str());
    text += &row("where", &endpoint_text(config));
    text += &row("state", if config.enabled { "on" } else { "off" });
    for (at, line) in needs_text(config).iter().enumerate() {
        text += &row(if at == 0 { "sandbox" } else { "" }, line);
    }
    let (what, pairs) = match &config.remote {
        Remote::Stdio(program) => ("variables", &program.env),
        Remote::Http(http) => ("headers", &http.headers),
    };
    if !pairs.is_empty() {
        let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        text += &row(what, &names.join(", "));
    }
    if let Remote::Stdio(program) = &config.remote
        && let Some(megabytes) = program.memory_mb
    {
        text += &row("memory", &format!("{megabytes} MB"));
    }
    text += &row("call", &format!("{} s at most", config.timeout.as_secs()));
    let believed = if config.trusted { "believed" } else { "not believed" };
    text += &row("\"only reads\"", believed);
    if config.pin == Pin::Program {
        text += &row("held", "also when its version or its program changes");
    }
    if config.workspace_results {
        text += &row("results", "count as text of the workspace");
    } else if !config.workspace_tools.is_empty() {
        let tools = config.workspace_tools.join(", ");
        text += &row("results", &format!("of {tools} count as text of the workspace"));
    }
    text
}

pub(super) async fn run(name: &str, world: &WorkspaceArgs, json: bool) -> Result<u8, Failure> {
    let config = find_server(name)?;
    let on = ServerConfig { enabled: true, ..config.clone() };
    let toolcrib = bootstrap::build_with_mcp_server(world, on).await?;
    let name = config.name.as_str();
    let details = mcp_servers::details(&op_context::for_toolcrib(&toolcrib, None), &config).await;
    let (is_reviewed, tools, held) = (details.reviewed, details.row.tools, &details.reviews);
    if json {
        let all = json_document::with_members(&details, settings_json(&config));
        output::print_json(&all, true)?;
        return Ok(0);
    }
    let mut text = settings_text(&config);
    text += &match (is_reviewed, held.len()) {
        (false, _) => {
            format!("{:<14} never; `toolcrib mcp test {name}` shows its tools\n", "reviewed")
        }
        (true, 0) => format!("{:<14} {tools} tools\n", "reviewed"),
        (true, count) => format!(
            "{:<14} {tools} tools; {count} are held: `toolcrib mcp review {name}`\n",
            "reviewed"
        ),
    };
    output::print_line(&text)?;
    Ok(0)
}
