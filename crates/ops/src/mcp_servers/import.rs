//! Imports MCP servers from the files of other programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_app::mcp::client::import_config::{self, ImportedServer};

use super::add::AddMcpServersRequest;
use super::server::endpoint_text;
use crate::error::OpError;

/// Request for an import.
#[derive(Debug, Clone)]
pub struct ImportMcpServersRequest {
    /// The texts of the files, as JSON, TOML or YAML, each with its file name if it has one.
    pub texts: Vec<(Option<String>, String)>,
    /// The existing servers: a server with the same name is not changed.
    pub existing: Vec<ServerConfig>,
}

/// The servers of the texts, before any file is written.
#[derive(Debug)]
pub struct ImportPlan {
    found: Vec<ImportedServer>,
}

/// A server of the imported text.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ImportedMcpServer {
    /// Its name.
    pub name: String,
    /// Its program with arguments, or its address.
    pub place: String,
    /// Names of values that are stored in the vault instead of the file.
    pub secrets: Vec<String>,
    /// Notes about it.
    pub notes: Vec<String>,
    /// Whether it is added; a server whose name already exists is not.
    pub taken: bool,
}

/// Reads the servers of the texts. `prepare` gives a new entry what its program needs to start,
/// and returns what the program gets, for people. Nothing is written.
///
/// # Errors
/// [`OpError::Invalid`] for a text in an unknown format.
pub fn import(
    request: ImportMcpServersRequest,
    prepare: impl Fn(&mut ServerConfig) -> Vec<String>,
) -> Result<ImportPlan, OpError> {
    let ImportMcpServersRequest { texts, existing } = request;
    let mut found: Vec<ImportedServer> = Vec::new();
    for (file, text) in &texts {
        let wrong = |why: String| {
            OpError::Invalid(
                file.as_ref().map_or_else(|| why.clone(), |file| format!("{file}: {why}")),
            )
        };
        found.extend(import_config::parse(text).map_err(wrong)?);
    }
    for one in &mut found {
        one.notes.extend(prepare(&mut one.config));
        if existing.iter().any(|server| server.name == one.config.name) {
            one.notes
                .push("there is a server of this name already; it is left as it is".to_owned());
            one.skip = true;
        }
    }
    Ok(ImportPlan { found })
}

impl ImportPlan {
    /// The servers to add, which are off, with their secrets.
    #[must_use]
    pub fn additions(&self) -> AddMcpServersRequest {
        let new = self.found.iter().filter(|one| !one.skip);
        AddMcpServersRequest {
            servers: new.clone().map(|one| one.config.clone()).collect(),
            secrets: new.flat_map(|one| one.secrets.clone()).collect(),
        }
    }

    /// Returns all servers of the texts, for people.
    #[must_use]
    pub fn rows(&self) -> Vec<ImportedMcpServer> {
        let row = |one: &ImportedServer| ImportedMcpServer {
            name: one.config.name.to_string(),
            place: endpoint_text(&one.config),
            secrets: one.secrets.iter().map(|(name, _)| name.clone()).collect(),
            notes: one.notes.clone(),
            taken: !one.skip,
        };
        self.found.iter().map(row).collect()
    }
}
