//! The file of MCP servers.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use toolcrib_app::mcp::client::{ServerConfig, servers_file};

use crate::error::{OpError, Resource};

/// The file of MCP servers.
#[derive(Debug, Clone)]
pub struct McpServersFile {
    /// Its path.
    pub path: PathBuf,
}

impl McpServersFile {
    /// Returns all servers, including disabled ones; none if there is no file.
    ///
    /// # Errors
    /// [`OpError::Unusable`] for a file that cannot be read.
    pub fn read(&self) -> Result<Vec<ServerConfig>, OpError> {
        let unusable = |why: String| OpError::Unusable(format!("{}: {why}", self.path.display()));
        match fs::read_to_string(&self.path) {
            Ok(text) => servers_file::parse(&text).map_err(unusable),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(unusable(error.to_string())),
        }
    }

    /// Returns the server with this name, ignoring case.
    ///
    /// # Errors
    /// [`OpError::NotFound`], [`OpError::Unusable`].
    pub fn find(&self, name: &str) -> Result<ServerConfig, OpError> {
        let mut servers = self.read()?.into_iter();
        let found = servers.find(|server| server.name.as_str().eq_ignore_ascii_case(name));
        found.ok_or_else(|| missing(name))
    }

    /// Changes the servers, and rewrites the file.
    ///
    /// # Errors
    /// [`OpError::Unusable`] for a file that cannot be read, [`OpError::Internal`] for one that
    /// cannot be written.
    pub fn update<T>(&self, act: impl FnOnce(&mut Vec<ServerConfig>) -> T) -> Result<T, OpError> {
        let mut servers = self.read()?;
        let result = act(&mut servers);
        self.write(&servers)?;
        Ok(result)
    }

    /// Rewrites the file: completely, atomically, and readable by its owner only.
    pub(super) fn write(&self, servers: &[ServerConfig]) -> Result<(), OpError> {
        let failed = |error: &dyn std::fmt::Display| {
            OpError::Internal(format!("{} cannot be written: {error}", self.path.display()))
        };
        let folder = self.path.parent().unwrap_or(&self.path);
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        // A temporary file is readable by its owner only.
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
        let text = servers_file::render(servers);
        file.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
        file.persist(&self.path).map_err(|error| failed(&error))?;
        Ok(())
    }
}

pub(super) fn missing(name: &str) -> OpError {
    OpError::not_found(Resource::McpServer, name)
}
