//! `toolcrib mcp import`: imports the servers of other programs. By default, it only shows them.

use serde_json::json;
use toolcrib_ops::mcp_servers::{self, ImportMcpServersRequest, ImportedMcpServer};

use super::{edit_servers, prepare_program};
use crate::clap_args::McpImport;
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

pub(super) async fn run(command: &McpImport, json: bool) -> Result<u8, Failure> {
    let mut texts = Vec::new();
    for path in &command.files {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::configuration(format!("{file}: {error}")))?;
        texts.push((Some(file), text));
    }
    let request = ImportMcpServersRequest { texts, existing: bootstrap::mcp_servers()? };
    let plan = mcp_servers::import(request, |config| {
        prepare_program::prepare(config, None);
        prepare_program::needs_text(config)
    });
    let plan = plan.map_err(|error| Failure::configuration(error.to_string()))?;
    show(&plan.rows(), command.write, json)?;
    if command.write {
        mcp_servers::add(&edit_servers::context()?, plan.additions()).await?;
    }
    Ok(0)
}

fn show(found: &[ImportedMcpServer], write: bool, json: bool) -> Result<(), Failure> {
    if json {
        output::print_json(&json!(found), true)?;
        return Ok(());
    }
    let mut text = String::new();
    for one in found {
        text += &format!("{:<20} {}\n", one.name, terminal::escape_to_line(&one.place));
        for secret in &one.secrets {
            text += &format!("{:<20} a value goes into the vault as {secret}\n", "");
        }
        for note in &one.notes {
            text += &format!("{:<20} {}\n", "", terminal::escape_to_line(note));
        }
    }
    if !text.is_empty() {
        output::print_line(&text)?;
    }
    let count = found.iter().filter(|one| one.taken).count();
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
