//! `open_url`: opens a web address or a file of the workspace for the user.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Assessment, Block, BoxFuture, CallCtx, Effect, ErrorType, Permission, Reach, Risk, Tool,
    ToolError, ToolOutput, ToolSpec, Trust, defaults,
};
use toolcrib_net::{HttpClient, MAX_URL_BYTES};
use url::Url;

use super::open_file::{Opener, check_extension};
use super::{base_spec, examples};
use crate::fs::Workspace;
use crate::http_fetch;

/// Shows an address to people whose page or client is on another machine.
pub trait ShowLink: Send + Sync {
    /// Shows the address of a call, so that the person can open it.
    fn show_link<'a>(
        &'a self,
        ctx: &'a CallCtx,
        url: &'a str,
    ) -> BoxFuture<'a, Result<(), ToolError>>;
}

/// Where addresses are opened.
#[derive(Clone)]
pub(crate) enum LinkSurface {
    /// On the pages and clients of a daemon.
    Clients(Arc<dyn ShowLink>),
    /// On the desktop of this machine.
    Desktop(Opener),
    /// In the result, as a card with a link.
    Result,
}

/// The end of every result: models otherwise assume that they have read an address that they
/// opened.
const NO_CONTENT: &str = "This tool returns nothing of its content.";

/// Handler of `open_url`.
pub(crate) struct OpenUrl {
    pub(crate) surface: LinkSurface,
    /// The opener for files, if this machine has a desktop.
    pub(crate) opener: Option<Opener>,
    pub(crate) workspace: Option<Arc<Workspace>>,
    pub(crate) client: HttpClient,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// A web address that begins with http:// or https://, or file:// and the path of a file in
    /// the workspace.
    url: String,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "open_url",
        "Open URL for the user",
        "Open a web address, or a file of the workspace, for the user on their device. You get nothing of its content; to read a page use fetch_url.",
    );
    spec.group = Some("network".to_owned());
    spec.parameter_aliases = super::aliases([("uri", "url"), ("link", "url")]);
    // The address itself may carry data to its server.
    spec.effect = Effect::SideEffect;
    spec.reach = Reach { outbound: true, ..Reach::default() };
    spec.permissions = vec![Permission::Network];
    spec.timeout = defaults::TIMEOUT_FILE;
    spec.trust = Trust::Tool;
    spec.examples = examples([
        ("Show me the page of the museum", json!({"url": "https://museum.example.org"})),
        ("Open the report", json!({"url": "file:///home/ann/project/report.pdf"})),
    ]);
    spec
}

/// The object to open.
enum Place {
    Web(Url),
    /// A path, in the form of the address.
    File(String),
}

impl Tool for OpenUrl {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let place = place(&args.url)?;
        let shown = http_fetch::masked_url(&args.url);
        let mut assessment =
            Assessment::from_spec(spec).with_summary(format!("open {shown} for the user"));
        match place {
            // The user's browser would send the request to a device of their own network.
            Place::Web(_) => {
                http_fetch::ask_about_private_address(&self.client, &args.url, &mut assessment);
            }
            // An opened page may run scripts, as with open_file.
            Place::File(_) => {
                assessment.risk = Risk::High;
                assessment.permissions = vec![Permission::FsRead, Permission::Exec];
            }
        }
        Ok(assessment)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let where_opened = "on the user's desktop";
        match place(&args.url)? {
            Place::Web(url) => match &self.surface {
                LinkSurface::Clients(clients) => {
                    clients.show_link(ctx, url.as_str()).await?;
                    Ok(link(&url, "as a link to click, on the page and in their notifications"))
                }
                LinkSurface::Desktop(opener) => {
                    opener.open(Path::new(url.as_str())).await?;
                    Ok(opened(args.url.trim(), where_opened))
                }
                LinkSurface::Result => {
                    Ok(link(&url, "as a link to click, because there is no desktop to open it on"))
                }
            },
            Place::File(path) => {
                self.open_file(ctx, &path).await?;
                Ok(opened(args.url.trim(), where_opened))
            }
        }
    }
}

impl OpenUrl {
    async fn open_file(&self, ctx: &CallCtx, path: &str) -> Result<(), ToolError> {
        let refused = |text: String| ToolError::new(ErrorType::PathNotAllowed, text);
        check_extension(Path::new(path))
            .map_err(|why| refused(format!("{path} cannot be opened: {why}.")))?;
        let workspace = self.workspace.as_ref().ok_or_else(|| {
            refused("There is no workspace, so no file can be opened.".to_owned())
        })?;
        let real = workspace.for_call(ctx).roots().real_path(path)?;
        // A link must not lead to a file of another kind.
        check_extension(&real)
            .map_err(|why| refused(format!("{path} cannot be opened: {why}.")))?;
        let opener = self.opener.as_ref().ok_or_else(|| {
            ToolError::execution(format!(
                "There is no desktop on the machine that has the file. Tell the user its path instead: {path}"
            ))
        })?;
        opener.open(&real).await
    }
}

fn opened(url: &str, place: &str) -> ToolOutput {
    ToolOutput::structured(json!({
        "url": url, "opened": true,
        "note": format!("It was opened {place}. {NO_CONTENT}"),
    }))
}

/// Returns a card with the link. The tool does not learn whether the user clicks it.
fn link(url: &Url, how: &str) -> ToolOutput {
    let text = format!("{url} is shown to the user {how}. It is not open yet. {NO_CONTENT}");
    let host = url.host_str().unwrap_or_default();
    let button =
        json!({"label": format!("Open {host}"), "action": "open_url", "value": url.as_str()});
    let card = json!({"blocks": [{"type": "buttons", "buttons": [button]}]});
    let output = ToolOutput::from_blocks(vec![Block::text(text), Block::Card { card }]);
    output.with_structured(json!({"url": url.as_str(), "opened": false, "shown": true}))
}

/// Parses an address.
fn place(text: &str) -> Result<Place, ToolError> {
    let text = text.trim();
    let refuse = |why: &str| {
        Err(ToolError::validation(format!(
            "The address cannot be opened: {why}. Give one that begins with https://, http:// or file://."
        )))
    };
    if text.len() > MAX_URL_BYTES {
        return refuse("it is too long");
    }
    if text.chars().any(char::is_control) {
        return refuse("it has control characters");
    }
    let Ok(url) = Url::parse(text) else { return refuse("it is not a complete address") };
    match url.scheme() {
        "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
            refuse("it has a user name or a password")
        }
        "http" | "https" if url.host_str().is_some_and(|host| !host.is_empty()) => {
            Ok(Place::Web(url))
        }
        "file" => match url.to_file_path().ok().and_then(|path| path.to_str().map(str::to_owned)) {
            Some(path) => Ok(Place::File(path)),
            None => refuse("it names no file of this machine"),
        },
        _ => refuse("only web addresses and files are opened"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_and_files_are_opened() {
        let check = |text: &str, expected: &str| {
            let got = match place(text) {
                Ok(Place::Web(url)) => url.to_string(),
                Ok(Place::File(path)) => path,
                Err(error) => error.message,
            };
            assert!(got.contains(expected), "{text}: {got}");
        };
        check(" https://example.org/a b ", "https://example.org/a%20b");
        check("file:///w/report%20one.pdf", "/w/report one.pdf");
        check("javascript:alert(1)", "only web addresses and files");
        check("data:text/html,x", "only web addresses and files");
        check("mailto:ann@example.org", "only web addresses and files");
        check("ftp://example.org/", "only web addresses and files");
        check("https://ann:pw@example.org/", "a user name or a password");
        check("example.org", "not a complete address");
        check("https://", "not a complete address");
        check("file://server/share/x.pdf", "no file of this machine");
        check("https://example.org/\u{7}", "control characters");
        check("--help", "not a complete address");
        check(&format!("https://example.org/{}", "x".repeat(9_000)), "too long");
    }
}
