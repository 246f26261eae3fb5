//! Access of an MCP server to paths and hosts, and the trust in its results.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toolcrib_app::mcp::client::{Pin, Remote, ServerConfig, Stdio, WorkspaceAccess};
use toolcrib_sandbox::HostRules;

use crate::error::OpError;

/// Changes of the access of a server. Absent values stay as they are, and lists are added to.
#[derive(Debug, Clone, Default)]
pub struct McpServerAccess {
    /// Time limit of a call.
    pub timeout: Option<Duration>,
    /// The parts of its definitions that must not change after a review.
    pub pin: Option<Pin>,
    /// Tools whose results count as text of the workspace; `*` = all.
    pub trust_results: Vec<String>,
    /// How its program sees the workspace.
    pub workspace: Option<WorkspaceAccess>,
    /// Memory limit of its program in MB.
    pub memory_mb: Option<u64>,
    /// Files and folders that its program may read, as absolute paths.
    pub read: Vec<PathBuf>,
    /// Folders that its program may change, as absolute paths.
    pub write: Vec<PathBuf>,
    /// Hosts that its program may reach.
    pub allow_hosts: Vec<String>,
}

impl McpServerAccess {
    /// Puts the changes into an entry.
    ///
    /// # Errors
    /// [`OpError::Invalid`] for a host that is none, and for the options of a program at a server
    /// with an address.
    pub fn apply(self, config: &mut ServerConfig) -> Result<(), OpError> {
        config.timeout = self.timeout.unwrap_or(config.timeout);
        config.pin = self.pin.unwrap_or(config.pin);
        for tool in &self.trust_results {
            if tool == "*" {
                config.workspace_results = true;
            } else {
                add(&mut config.workspace_tools, tool.clone());
            }
        }
        match &mut config.remote {
            Remote::Stdio(program) => self.apply_to_program(program),
            Remote::Http(_) if self.is_of_program() => Err(OpError::Invalid(format!(
                "{} is an address: access to the workspace, to paths and hosts, and memory are for programs",
                config.name
            ))),
            Remote::Http(_) => Ok(()),
        }
    }

    fn is_of_program(&self) -> bool {
        self.workspace.is_some()
            || self.memory_mb.is_some()
            || !self.read.is_empty()
            || !self.write.is_empty()
            || !self.allow_hosts.is_empty()
    }

    fn apply_to_program(self, program: &mut Stdio) -> Result<(), OpError> {
        let hosts = HostRules::parse(&self.allow_hosts);
        hosts.map_err(|error| OpError::Invalid(error.to_string()))?;
        program.workspace = self.workspace.unwrap_or(program.workspace);
        program.memory_mb = self.memory_mb.or(program.memory_mb);
        self.read.into_iter().for_each(|path| add(&mut program.read, path));
        self.write.into_iter().for_each(|path| add(&mut program.write, path));
        self.allow_hosts.into_iter().for_each(|host| add(&mut program.allow_hosts, host));
        Ok(())
    }
}

fn add<T: PartialEq>(all: &mut Vec<T>, new: T) {
    if !all.contains(&new) {
        all.push(new);
    }
}

/// Removes a path, a host or a tool from the lists of an entry; returns `false` if none has it.
pub(super) fn remove(config: &mut ServerConfig, entry: &str) -> bool {
    let mut found = false;
    let mut kept = |same: bool| {
        found |= same;
        !same
    };
    if entry == "*" {
        kept(std::mem::take(&mut config.workspace_results));
    }
    config.workspace_tools.retain(|tool| kept(tool == entry));
    if let Remote::Stdio(program) = &mut config.remote {
        program.allow_hosts.retain(|host| kept(host == entry));
        let path = Path::new(entry).canonicalize().unwrap_or_else(|_| entry.into());
        program.read.retain(|own| kept(*own == path || own.as_os_str() == entry));
        program.write.retain(|own| kept(*own == path || own.as_os_str() == entry));
    }
    found
}
