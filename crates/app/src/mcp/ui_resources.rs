//! UI resources of MCP Apps: the pages of servers that show their results, for clients that see the
//! tools of those servers.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolcrib_core::{Entry, ToolError, ToolMeta, ToolSpec, View, remote_name};
use toolcrib_mcp::client::Connection;
use toolcrib_mcp::server::{Contents, PAGE_TYPE, Refusal, Resource};

use super::McpServers;

/// Returns the pages that the tools of a view declare, each with its server.
fn declared_pages<'a>(
    servers: &'a McpServers,
    view: &'a View,
) -> impl Iterator<Item = (Arc<Connection>, &'a str)> {
    view.tools.iter().map(Entry::spec).filter_map(move |spec| page_of(servers, spec))
}

/// Returns the page that a tool declares, with the server of the tool.
fn page_of<'a>(servers: &McpServers, spec: &'a ToolSpec) -> Option<(Arc<Connection>, &'a str)> {
    let page = spec.meta.as_ref()?.page()?;
    let connection = servers.connection(spec.group.as_deref()?)?;
    let is_its = {
        let name = connection.config().name.as_str();
        spec.name.as_str().strip_prefix(name)?.starts_with("__")
    };
    is_its.then_some((connection, page))
}

impl McpServers {
    /// Reads the page that shows results of this tool, only from the server of the tool. Returns
    /// `None` if the tool declares no page, or the server does not have it.
    ///
    /// # Errors
    /// The reason why it cannot be read, in words for a model.
    pub async fn tool_page(&self, spec: &ToolSpec) -> Result<Option<Contents>, ToolError> {
        match page_of(self, spec) {
            Some((server, page)) => server.read(page).await,
            None => Ok(None),
        }
    }

    /// Reads a resource that the page of this tool requests, only from the server of the tool.
    /// Returns `None` if the tool has no page, or the server does not have the resource.
    ///
    /// # Errors
    /// The reason why it cannot be read, in words for a model.
    pub async fn page_resource(
        &self,
        spec: &ToolSpec,
        uri: &str,
    ) -> Result<Option<Contents>, ToolError> {
        match page_of(self, spec) {
            Some((server, _)) => server.read(uri).await,
            None => Ok(None),
        }
    }

    /// Returns the tool that a page of this tool's server names by the server's own name. Returns
    /// `None` if the tool has no page, or the name does not belong to a tool for pages.
    #[must_use]
    pub fn page_tool(
        &self,
        spec: &ToolSpec,
        own_name: &str,
        find: impl Fn(&str) -> Option<Arc<ToolSpec>>,
    ) -> Option<Arc<ToolSpec>> {
        let (server, _) = page_of(self, spec)?;
        let name = remote_name(server.config().name.as_str(), own_name);
        let called = find(name.as_str()).filter(|called| called.name == name)?;
        let is_its = called.group == spec.group;
        let is_for_pages = called.meta.as_ref().is_none_or(ToolMeta::is_for_pages);
        (is_its && is_for_pages).then_some(called)
    }
}

/// Lists these pages.
pub(super) fn list_resources(servers: &McpServers, view: &View) -> Vec<Resource> {
    let pages: BTreeSet<(&str, String)> = declared_pages(servers, view)
        .map(|(server, page)| (page, server.config().name.to_string()))
        .collect();
    let resource = |(page, server): (&str, String)| Resource {
        uri: page.to_owned(),
        name: page.trim_start_matches(ToolMeta::PAGE).to_owned(),
        description: Some(format!("Shows what tools of the server {server} return.")),
        media_type: Some(PAGE_TYPE.to_owned()),
        size: None,
    };
    pages.into_iter().map(resource).collect()
}

/// Reads a page from the server whose tool declares it. A page that no tool in `everything`
/// declares is read from the only server that has it, among the servers whose pages the view sees.
/// If two servers have the same URI, neither is used, because a page of one could impersonate a
/// page of the other.
pub(super) async fn read_page(
    servers: &McpServers,
    view: &View,
    everything: &View,
    uri: &str,
) -> Result<Option<Contents>, Refusal> {
    let naming = unique_servers(declared_pages(servers, view).filter(|(_, page)| *page == uri));
    let asked = match naming.len() {
        0 if declared_pages(servers, everything).any(|(_, page)| page == uri) => return Ok(None),
        0 => unique_servers(declared_pages(servers, view)),
        1 => naming,
        _ => return Err(ambiguous_page(uri)),
    };
    let mut found = None;
    for server in asked {
        match server.read(uri).await.map_err(|error| error.message)? {
            Some(_) if found.is_some() => return Err(ambiguous_page(uri)),
            Some(contents) => found = Some(contents),
            None => {}
        }
    }
    Ok(found)
}

/// Returns the servers without duplicates.
fn unique_servers<'a>(
    pages: impl Iterator<Item = (Arc<Connection>, &'a str)>,
) -> Vec<Arc<Connection>> {
    let mut servers: Vec<Arc<Connection>> = Vec::new();
    for (server, _) in pages {
        if !servers.iter().any(|known| Arc::ptr_eq(known, &server)) {
            servers.push(server);
        }
    }
    servers
}

fn ambiguous_page(uri: &str) -> Refusal {
    format!("two servers have {uri}, so neither is read; switch one of them off")
}
