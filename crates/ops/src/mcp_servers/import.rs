//! Imports MCP servers from the files of other programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_app::mcp::client::import_config::{self, ImportedServer};

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

/// Reads the servers of the texts. `prepare` adds to a new entry the settings that its program
/// needs to start, and returns a description for people. Nothing is written: the caller stores
/// [`ImportPlan::secrets`] first, so that no written server names a missing secret.
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
    /// Returns values for the vault, by the name of the secret.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        let new = self.found.iter().filter(|one| !one.skip);
        new.flat_map(|one| &one.secrets).map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the servers to add, which are disabled.
    #[must_use]
    pub fn servers(&self) -> Vec<ServerConfig> {
        self.found.iter().filter(|one| !one.skip).map(|one| one.config.clone()).collect()
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
