//! A resource that the page of a call requests (MCP Apps, `resources/read`), only from the page's
//! own server, and only while that server's tool may be used.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::mask_contents;
use toolcrib_app::mcp::server::ResourceBody;
use toolcrib_core::{CallId, ViewRequest};

use super::page::shown;
use crate::context::OpContext;
use crate::error::OpError;

/// Maximum number of characters of an address.
const URI_CHARS: usize = 2_000;

/// A resource that a page requests.
#[derive(Debug, Clone)]
pub struct PageResourceRequest {
    /// The call that the page shows.
    pub call: CallId,
    /// Address of the resource on its server.
    pub uri: String,
}

/// A resource of the page's server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageResource {
    /// Its address.
    pub uri: String,
    /// Its media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes instead of a text, in Base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// Reads a resource for the page that shows a call, only from the server of the page. Secrets are
/// masked; the text is for the page and is not sanitized, like the page itself.
///
/// # Errors
/// [`OpError::Invalid`] for a text that is not an address, [`OpError::Absent`] if the server has no
/// such resource or the tool no page, [`OpError::Denied`] while all tools are stopped, while the
/// tool is disabled, and for a caller that sees no results, [`OpError::NotFound`],
/// [`OpError::Unavailable`].
pub async fn page_resource(
    ctx: &OpContext<'_>,
    request: PageResourceRequest,
) -> Result<PageResource, OpError> {
    let PageResourceRequest { call, uri } = request;
    if !is_address(&uri) {
        return Err(OpError::Invalid(format!(
            "uri is the address of a resource, such as board://cards/1, of at most {URI_CHARS} characters"
        )));
    }
    let (spec, _) = shown(ctx, call).await?;
    let toolcrib = ctx.toolcrib;
    if toolcrib.kill_switch().is_engaged() || !toolcrib.engine().tools_enabled() {
        return Err(OpError::Denied(
            "all tools are stopped, and so is what their pages read; the owner lets them run again"
                .to_owned(),
        ));
    }
    let view = toolcrib.catalog().view(&Arc::new(ViewRequest::default()));
    if view.find(spec.name.as_str()).is_none() {
        return Err(OpError::Denied(format!(
            "{} is not enabled, so its page reads nothing",
            spec.name
        )));
    }
    let read = toolcrib.mcp().page_resource(&spec, &uri).await;
    let read = read.map_err(|error| OpError::Unavailable(error.message))?;
    let contents = read.ok_or_else(|| {
        OpError::Absent(format!("the server of {} has no resource of that address", spec.name))
    })?;
    let contents = mask_contents(contents, &toolcrib.engine().sealing().secrets);
    let (text, data) = match contents.body {
        ResourceBody::Text(text) => (Some(text), None),
        ResourceBody::Bytes(bytes) => (None, Some(BASE64_STANDARD.encode(bytes))),
    };
    Ok(PageResource { uri, media_type: contents.media_type, text, data })
}

/// Returns whether a text has the form of an absolute URI (RFC 3986).
fn is_address(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let is_rest = !rest.is_empty() && !rest.contains(|c: char| c.is_control() || c.is_whitespace());
    is_scheme && is_rest && uri.chars().count() <= URI_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_absolute_and_bounded() {
        let check = |uri: &str, expected: bool| assert_eq!(is_address(uri), expected, "{uri:.40}");
        check("ui://board/main", true);
        check("board://cards/1?full=1", true);
        check("urn:isbn:1", true);
        check("", false);
        check("cards/1", false);
        check("://cards", false);
        check("1a:b", false);
        check("board:", false);
        check("board://a b", false);
        check("board://a\nb", false);
        check(&format!("board://{}", "a".repeat(URI_CHARS)), false);
    }
}
