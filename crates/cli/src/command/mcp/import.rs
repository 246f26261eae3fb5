//! `toolcrib mcp import`: the servers of other programs. Shown first, and taken over only when that
//! is said.

use serde_json::json;
use toolcrib_app::core::{Clock as _, SystemClock};
use toolcrib_app::mcp::client::import_config::{self, ImportedServer};
use toolcrib_app::store::vault::{Secret, SecretName};
use toolcrib_ops::mcp_servers::{self, AddMcpServersRequest, endpoint_text};

use super::{edit_servers, prepare_program};
use crate::clap_args::McpImport;
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

pub(super) fn run(command: &McpImport, json: bool) -> Result<u8, Failure> {
    let mut found: Vec<ImportedServer> = Vec::new();
    let taken: Vec<String> =
        bootstrap::mcp_servers()?.into_iter().map(|server| server.name.to_string()).collect();
    for path in &command.files {
        let wrong = |words: String| Failure::configuration(format!("{}: {words}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        found.extend(import_config::parse(&text).map_err(wrong)?);
    }
    for one in &mut found {
        prepare_program::prepare(&mut one.config, None);
        one.notes.extend(prepare_program::needs_text(&one.config));
        if taken.iter().any(|name| name == one.config.name.as_str()) {
            one.notes
                .push("there is a server of this name already; it is left as it is".to_owned());
            one.skip = true;
        }
    }
    show(&found, command.write, json)?;
    if command.write {
        add_servers(&found)?;
    }
    Ok(0)
}

fn show(found: &[ImportedServer], write: bool, json: bool) -> Result<(), Failure> {
    if json {
        let row = |one: &ImportedServer| {
            let secrets: Vec<&str> = one.secrets.iter().map(|(name, _)| name.as_str()).collect();
            json!({
                "name": one.config.name, "place": endpoint_text(&one.config), "secrets": secrets,
                "notes": one.notes, "taken": write && !one.skip,
            })
        };
        output::print_json(&found.iter().map(row).collect(), true)?;
        return Ok(());
    }
    let mut text = String::new();
    for one in found {
        let name = one.config.name.as_str();
        text += &format!("{name:<20} {}\n", terminal::escape_to_line(&endpoint_text(&one.config)));
        for (secret, _) in &one.secrets {
            text += &format!("{:<20} a value goes into the vault as {secret}\n", "");
        }
        for note in &one.notes {
            text += &format!("{:<20} {}\n", "", terminal::escape_to_line(note));
        }
    }
    if !text.is_empty() {
        output::print_line(&text)?;
    }
    let count = found.iter().filter(|one| !one.skip).count();
    let servers = if count == 1 { "server" } else { "servers" };
    output::eprint_line(&if write {
        format!(
            "toolcrib: {count} {servers} taken over and off; `toolcrib mcp test NAME` tries one and switches it on"
        )
    } else {
        format!(
            "toolcrib: {count} {servers} to be taken over; nothing was changed, --write does it"
        )
    });
    Ok(())
}

fn add_servers(found: &[ImportedServer]) -> Result<(), Failure> {
    let vault = bootstrap::open_vault()?;
    let failed = |error: &dyn std::fmt::Display| Failure::configuration(error.to_string());
    // Secrets first: no server is written that names one which is not there.
    for one in found.iter().filter(|one| !one.skip) {
        for (name, value) in &one.secrets {
            let name: SecretName = name.parse().map_err(|error| failed(&error))?;
            let value = Secret::new(value.as_str()).map_err(|error| failed(&error))?;
            vault.set(&name, &value, SystemClock.now_ms()).map_err(|error| failed(&error))?;
        }
    }
    let servers = found.iter().filter(|one| !one.skip).map(|one| one.config.clone()).collect();
    mcp_servers::add(&edit_servers::file()?, AddMcpServersRequest { servers })?;
    Ok(())
}
