//! The page with which the server of a tool shows the result of a call (MCP Apps), and the tools
//! that this page may call.

use std::sync::Arc;

use toolcrib_app::mcp::server::{Contents, PAGE_TYPE};
use toolcrib_core::{CallId, ConversationId, ToolSpec};

use super::lookup::CallLookup;
use crate::context::OpContext;
use crate::error::OpError;
use crate::tools::find_tool;

/// The call whose page is requested.
#[derive(Debug, Clone, Copy)]
pub struct CallPageRequest {
    /// Its id.
    pub call: CallId,
}

/// A tool that a page requests.
#[derive(Debug, Clone)]
pub struct PageToolRequest {
    /// The call that the page shows.
    pub call: CallId,
    /// Name of the tool on its server.
    pub tool: String,
}

/// The resolved tool of a page.
#[derive(Debug, Clone)]
pub struct PageTool {
    /// The tool.
    pub spec: Arc<ToolSpec>,
    /// The conversation of the call that the page shows.
    pub conversation: Option<ConversationId>,
}

/// Returns the HTML of the page that shows a call. It comes from the server unchecked, so display
/// it only in a frame without an origin.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Denied`] for a caller that sees no results,
/// [`OpError::Absent`] if the tool has no page, [`OpError::Unavailable`].
pub async fn page(ctx: &OpContext<'_>, request: CallPageRequest) -> Result<String, OpError> {
    let (spec, _) = shown(ctx, request.call).await?;
    let absent = || OpError::Absent(format!("{} has no page", spec.name));
    let read = ctx.toolcrib.mcp().tool_page(&spec).await;
    let contents = read.map_err(|error| OpError::Unavailable(error.message))?.ok_or_else(absent)?;
    let html = html(&contents).ok_or_else(|| {
        OpError::Unavailable(format!("the page of {} is not text of {PAGE_TYPE}", spec.name))
    })?;
    Ok(ctx.toolcrib.engine().sealing().secrets.mask(html))
}

/// Returns the tool that the page of a call names: a tool of the same server that is available to
/// pages.
///
/// # Errors
/// The errors of [`page`]; [`OpError::Denied`] for every other tool.
pub async fn page_tool(ctx: &OpContext<'_>, request: PageToolRequest) -> Result<PageTool, OpError> {
    let (spec, conversation) = shown(ctx, request.call).await?;
    let find = |name: &str| ctx.toolcrib.spec(name);
    let found = ctx.toolcrib.mcp().page_tool(&spec, &request.tool, find);
    found.map(|spec| PageTool { spec, conversation }).ok_or_else(|| {
        let name = request.tool.chars().filter(|c| !c.is_control()).take(64).collect::<String>();
        OpError::Denied(format!("the page of {} may not call {name}", spec.name))
    })
}

/// Returns the tool of a call, and its conversation.
pub(super) async fn shown(
    ctx: &OpContext<'_>,
    call: CallId,
) -> Result<(Arc<ToolSpec>, Option<ConversationId>), OpError> {
    if !ctx.store.shows_payloads {
        return Err(OpError::Denied("you may not see results".to_owned()));
    }
    let found = CallLookup::find(&ctx.store, call).await?;
    let not_begun = || OpError::Absent(format!("{call} has not begun, so it has no page"));
    let facts = found.stored.map(|stored| stored.row.facts).ok_or_else(not_begun)?;
    let name = facts.tool.ok_or_else(not_begun)?;
    Ok((find_tool(ctx.toolcrib, name.as_str())?, facts.context.conversation.parse().ok()))
}

fn html(contents: &Contents) -> Option<String> {
    let kind = contents.media_type.as_deref().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let text = std::str::from_utf8(contents.body.as_bytes()).ok()?;
    kind.eq_ignore_ascii_case("text/html").then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_html_is_a_page() {
        let check = |media_type: &str, expected: bool| {
            let found = html(&Contents::text(media_type, "<p>hi"));
            assert_eq!(found.is_some(), expected, "{media_type}");
        };
        check(PAGE_TYPE, true);
        check("text/html; profile=mcp-app", true);
        check("image/svg+xml", false);
        check("application/pdf", false);
        check("", false);
    }
}
