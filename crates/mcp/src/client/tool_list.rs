//! The list of a server's tools, page by page and bounded.

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::Value;

use super::inbound::raw_lists;

/// Maximum number of pages of a tool list.
const PAGES: usize = 200;
/// Maximum number of tools of one server.
const TOOLS: usize = 10_000;
/// Maximum bytes of the definitions; in memory they use up to four times as much.
const LIST_BYTES: usize = 16 << 20;

/// The definitions of all tools, in their wire form.
pub(super) struct ToolList {
    pub(super) definitions: Vec<Value>,
    /// Why the list is incomplete.
    pub(super) cut: Option<String>,
}

/// Lists all tools. An unreadable definition does not hide the others.
pub(super) async fn list_definitions(peer: &Peer<RoleClient>) -> Result<ToolList, ServiceError> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let request = ListToolsRequest::with_param(params);
        let page = peer.send_request(ClientRequest::ListToolsRequest(request)).await?;
        let ServerResult::ListToolsResult(page) = page else {
            return Err(ServiceError::UnexpectedResponse);
        };
        let (tools, next) = raw_lists::page(page);
        for tool in tools {
            bytes += tool.to_string().len();
            if all.len() >= TOOLS || bytes > LIST_BYTES {
                let (count, most) = (all.len(), LIST_BYTES >> 20);
                let cut = format!(
                    "its list of tools was cut after {count} tools: at most {TOOLS} tools and {most} MB are read"
                );
                return Ok(ToolList { definitions: all, cut: Some(cut) });
            }
            all.push(tool);
        }
        cursor = next;
        if cursor.is_none() {
            return Ok(ToolList { definitions: all, cut: None });
        }
    }
    let cut = format!("its list of tools was cut after {PAGES} pages, with {} tools", all.len());
    Ok(ToolList { definitions: all, cut: Some(cut) })
}
