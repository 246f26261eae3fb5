//! Shared by the two HTTP tools: sending, error sentences, and response bodies as text.

use std::time::{Duration, Instant};

use encoding_rs::{Encoding, UTF_8};
use toolcrib_core::{Assessment, CallCtx, ErrorType, Obstacle, Permission, ToolError};
use toolcrib_net::{HttpClient, HttpError, Limits, Request, Response, Truncation, private_target};

/// Reserved for building the result, so that the tool reports a timeout before the engine does.
const MARGIN: Duration = Duration::from_millis(250);
/// Bytes at the start of an HTML page that are searched for its encoding (HTML standard: 1024).
const META_BYTES: usize = 1024;

/// Sends a request within the limits and the time of the call.
///
/// # Errors
/// `policy_denied`, `network_error`, `timeout`, `cancelled` or `validation_error`.
pub(crate) async fn fetch(
    client: &HttpClient,
    request: &Request,
    limits: Limits,
    ctx: &CallCtx,
) -> Result<Response, ToolError> {
    let left = ctx.deadline.saturating_duration_since(Instant::now()).saturating_sub(MARGIN);
    let limits = Limits { total: limits.total.min(left), ..limits };
    tokio::select! {
        response = client.fetch(request, &limits) => response.map_err(to_tool_error),
        () = ctx.cancel.cancelled() => {
            Err(ToolError::new(ErrorType::Cancelled, "The request was stopped before an answer came."))
        }
    }
}

/// Requires a person's approval for a call to an address of this machine or of a private network.
pub(crate) fn ask_about_private_address(
    client: &HttpClient,
    url: &str,
    assessment: &mut Assessment,
) {
    let target = private_target(url, client.policy());
    assessment.permissions.extend(target.map(Permission::Host));
}

/// Returns the client for a call. It may connect to an address that a person approved after
/// [`ask_about_private_address`].
pub(crate) fn client_for(client: &HttpClient, url: &str, ctx: &CallCtx) -> HttpClient {
    let entry = private_target(url, client.policy())
        .filter(|target| ctx.approved_hosts.contains(target))
        .and_then(|target| target.parse().ok());
    entry.map_or_else(|| client.clone(), |entry| client.with_opened(entry))
}

/// Returns whether the error means that no answer was received: nothing was sent, and no redirect
/// named the address.
fn reads_nothing(error: &HttpError) -> bool {
    match error {
        HttpError::Denied(denied) | HttpError::Dns(denied) => denied.redirected_from.is_none(),
        _ => false,
    }
}

fn to_tool_error(error: HttpError) -> ToolError {
    use ErrorType::{NetworkError, PolicyDenied, Timeout};
    let (kind, text, instruction, transient) = match &error {
        HttpError::Denied(denied) => (
            PolicyDenied,
            format!("The address may not be reached: {denied}."),
            "Use a public address, or ask the person to allow this one.",
            false,
        ),
        HttpError::Dns(denied) => (
            NetworkError,
            format!("The host name could not be resolved: {denied}."),
            "Check the spelling of the address.",
            false,
        ),
        HttpError::Connect { host, source, .. } => (
            NetworkError,
            format!("Could not connect to {host}: {}.", source.kind()),
            "Check the address and port, or try later.",
            true,
        ),
        HttpError::Tls { host, .. } => (
            NetworkError,
            format!("The secure connection to {host} failed. Its certificate may be invalid."),
            "Tell the person.",
            false,
        ),
        HttpError::Timeout { phase, host, after } => (
            Timeout,
            format!(
                "The request to {host} timed out after {} s while {phase}.",
                after.as_secs_f32().ceil()
            ),
            "Try again later or use another address.",
            true,
        ),
        HttpError::TooManyRedirects { max, last } => (
            NetworkError,
            format!("There were more than {max} redirects, the last from {last}."),
            "Use the final address.",
            false,
        ),
        HttpError::BadRequest(why) => {
            return ToolError::validation(format!("The request cannot be sent: {why}."))
                .with_instruction("Correct the arguments and call again.")
                .with_nothing_read();
        }
        HttpError::Protocol { host, .. } => (
            NetworkError,
            format!("The server {host} closed the connection or did not answer in HTTP."),
            "Try again later.",
            true,
        ),
        other => (
            NetworkError,
            format!("The answer cannot be used: {other}."),
            "Try another address.",
            false,
        ),
    };
    let refused = ToolError::new(kind, text)
        .with_instruction(instruction)
        .with_detail(error.to_string())
        .transient(transient);
    let refused = match &error {
        HttpError::Denied(denied) if denied.rule.is_openable() => {
            refused.with_obstacle(Obstacle::Address { target: denied.subject.clone() })
        }
        _ => refused,
    };
    if reads_nothing(&error) { refused.with_nothing_read() } else { refused }
}

/// A response body in a form that a model can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    /// Text, with its media type without parameters.
    Text { text: String, media_type: String },
    /// Binary data, which is not shown.
    Binary { note: String },
}

impl Body {
    pub(crate) fn from_response(response: &Response) -> Self {
        let content_type = response.head.header("content-type").unwrap_or_default();
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let media_type =
            if essence.is_empty() { "text/plain".to_owned() } else { essence.to_ascii_lowercase() };
        let bytes = response.body.as_slice();
        if let Some(encoding) = &response.head.undecoded {
            return Self::Binary {
                note: format!(
                    "(The body is compressed with {encoding}, which cannot be undone. {} bytes are not shown.)",
                    bytes.len()
                ),
            };
        }
        if !is_text(&media_type, bytes) {
            return Self::Binary {
                note: format!(
                    "(The body is binary: {} bytes of {media_type}, not shown.)",
                    bytes.len()
                ),
            };
        }
        Self::Text { text: decode(content_type, &media_type, bytes, response.cut), media_type }
    }

    /// Returns the body for programs; empty if it is binary.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text { text, .. } => text,
            Self::Binary { .. } => "",
        }
    }
}

fn is_text(media_type: &str, bytes: &[u8]) -> bool {
    let (kind, subtype) = media_type.split_once('/').unwrap_or(("", media_type));
    let known = kind == "text"
        || ["json", "xml", "yaml", "javascript", "x-www-form-urlencoded", "x-ndjson", "toml"]
            .iter()
            .any(|s| subtype == *s || subtype.ends_with(&format!("+{s}")));
    let binary = matches!(kind, "image" | "audio" | "video" | "font") && !subtype.ends_with("xml");
    known || (!binary && !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok())
}

/// Decodes by byte order mark, `charset`, the page's `meta` element, otherwise UTF-8. An incomplete
/// character at the end is dropped.
fn decode(content_type: &str, media_type: &str, bytes: &[u8], cut: Option<Truncation>) -> String {
    let named = charset(content_type.as_bytes()).or_else(|| {
        let start = bytes.get(..META_BYTES).unwrap_or(bytes);
        if media_type.contains("html") { charset(start) } else { None }
    });
    let encoding = named.unwrap_or(UTF_8);
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if encoding == UTF_8 && cut.is_some() && error.error_len().is_none() => {
            bytes.get(..error.valid_up_to()).unwrap_or(bytes)
        }
        _ => bytes,
    };
    encoding.decode(whole).0.into_owned()
}

/// Returns the encoding after `charset=`.
fn charset(text: &[u8]) -> Option<&'static Encoding> {
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    let (_, label) = text.split_once("charset=")?;
    let label = label.trim_start_matches(['"', '\'']);
    let end = label.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)));
    Encoding::for_label_no_replacement(label.get(..end.unwrap_or(label.len()))?.as_bytes())
}

/// Returns the note that a body was truncated.
pub(crate) fn truncation(response: &Response) -> Option<String> {
    let cut = response.cut?;
    let shown = kilobytes(response.body.len() as u64);
    let total = response.head.content_length.filter(|_| cut == Truncation::Wire).map(kilobytes);
    Some(match total {
        Some(total) => format!("(Response truncated. Showing first {shown}KB of {total}KB total.)"),
        None => format!("(Response truncated. Showing first {shown}KB of an unknown total.)"),
    })
}

fn kilobytes(bytes: u64) -> u64 {
    bytes.div_ceil(1024)
}

/// Renders an address for approval requests and logs: without credentials, and bounded in length.
pub(crate) fn masked_url(text: &str) -> String {
    let shown = match url::Url::parse(text) {
        Ok(mut url) => {
            let _ = url.set_password(None);
            let _ = url.set_username("");
            url.to_string()
        }
        Err(_) => text.to_owned(),
    };
    shown.chars().take(500).collect()
}
