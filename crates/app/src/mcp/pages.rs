//! Pages of MCP Apps: what servers show their results with, for clients that see the tools of those servers.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolcrib_core::{Entry, View};
use toolcrib_mcp::client::Connection;
use toolcrib_mcp::server::{Contents, Refusal, Resource};

use super::McpServers;

/// How the address of a page begins.
pub(super) const PAGE: &str = "ui://";
/// What a page is (SEP-1865).
const MEDIA_TYPE: &str = "text/html;profile=mcp-app";

/// The pages that the tools of a view name, each with its server.
fn named<'a>(
    servers: &'a McpServers,
    view: &'a View,
) -> impl Iterator<Item = (&'a Arc<Connection>, &'a str)> {
    view.tools.iter().map(Entry::spec).filter_map(move |spec| {
        let page = spec.meta.as_ref()?.page()?;
        let connection = servers.connection(spec.group.as_deref()?)?;
        let name = connection.config().name.as_str();
        let is_its = spec.name.as_str().strip_prefix(name)?.starts_with("__");
        is_its.then_some((connection, page))
    })
}

/// Those pages, for a list.
pub(super) fn listed(servers: &McpServers, view: &View) -> Vec<Resource> {
    let pages: BTreeSet<(&str, &str)> =
        named(servers, view).map(|(server, page)| (page, server.config().name.as_str())).collect();
    let resource = |(page, server): (&str, &str)| Resource {
        uri: page.to_owned(),
        name: page.trim_start_matches(PAGE).to_owned(),
        description: Some(format!("Shows what tools of the server {server} return.")),
        media_type: Some(MEDIA_TYPE.to_owned()),
        size: None,
    };
    pages.into_iter().map(resource).collect()
}

/// Reads a page from the server whose tool names it; one that no tool at all (of `everything`) names from the only server with pages that has it. Of two servers with one address
/// neither is believed: one of them would be shown as the other.
pub(super) async fn read(
    servers: &McpServers,
    view: &View,
    everything: &View,
    uri: &str,
) -> Result<Option<Contents>, Refusal> {
    let mut having: Vec<&Arc<Connection>> = Vec::new();
    let mut naming: Vec<&Arc<Connection>> = Vec::new();
    for (server, page) in named(servers, view) {
        for (list, fits) in [(&mut having, true), (&mut naming, page == uri)] {
            if fits && !list.iter().any(|known| Arc::ptr_eq(known, server)) {
                list.push(server);
            }
        }
    }
    if naming.is_empty() && named(servers, everything).any(|(_, page)| page == uri) {
        return Ok(None);
    }
    let asked = if naming.is_empty() { having } else { naming };
    if asked.len() > 1 && named(servers, view).any(|(_, page)| page == uri) {
        return Err(two(uri));
    }
    let mut found = None;
    for server in asked {
        match server.read(uri).await.map_err(|error| error.message)? {
            Some(_) if found.is_some() => return Err(two(uri)),
            Some(contents) => found = Some(contents),
            None => {}
        }
    }
    Ok(found)
}

fn two(uri: &str) -> Refusal {
    format!("two servers have {uri}, so neither is read; switch one of them off")
}
