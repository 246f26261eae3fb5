//! UI resources of MCP Apps: the pages with which servers show their results, for clients that see
//! the tools of those servers.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolcrib_core::{Entry, ToolMeta, View};
use toolcrib_mcp::client::Connection;
use toolcrib_mcp::server::{Contents, PAGE_TYPE, Refusal, Resource};

use super::McpServers;

/// The pages that the tools of a view declare, each with its server.
fn declared_pages<'a>(
    servers: &'a McpServers,
    view: &'a View,
) -> impl Iterator<Item = (Arc<Connection>, &'a str)> {
    view.tools.iter().map(Entry::spec).filter_map(move |spec| {
        let page = spec.meta.as_ref()?.page()?;
        let connection = servers.connection(spec.group.as_deref()?)?;
        let is_its = {
            let name = connection.config().name.as_str();
            spec.name.as_str().strip_prefix(name)?.starts_with("__")
        };
        is_its.then_some((connection, page))
    })
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
/// declares is read from the only server that has it, among those whose pages the view sees. If two
/// servers have the same URI, neither is used: a page of one could pass for one of the other.
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

/// The servers without duplicates.
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
