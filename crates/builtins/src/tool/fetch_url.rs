//! `fetch_url`: fetches a web page or file as text.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Assessment, Block, CallCtx, Effect, Permission, Reach, Risk, Tool, ToolError, ToolOutput,
    ToolSpec, Trust, defaults,
};
use toolcrib_net::{HttpClient, Limits, Method, Request};
use url::Url;

use super::{base_spec, blocking, examples};
use crate::html_to_markdown;
use crate::http_fetch::{self, Body};

/// Handler of `fetch_url`.
pub(crate) struct FetchUrl {
    pub(crate) client: HttpClient,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Address to fetch, beginning with http:// or https://.
    url: String,
    /// HTTP method. Default: GET.
    method: Option<Verb>,
    /// Request body, for POST.
    body: Option<String>,
    /// Media type of the body. Default: application/x-www-form-urlencoded.
    content_type: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Verb {
    Get,
    Post,
    Head,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "fetch_url",
        "Fetch URL",
        "Fetch a web page or text file and return its readable text: HTML becomes Markdown, everything else stays as it is. For APIs with headers or other methods use http_request.",
    );
    spec.aliases = vec!["web_fetch".to_owned()];
    spec.group = Some("network".to_owned());
    spec.parameter_aliases = super::aliases([("uri", "url"), ("link", "url")]);
    // The worst case, POST; GET and HEAD are assessed lower.
    (spec.effect, spec.risk) = (Effect::SideEffect, Risk::High);
    spec.reach = Reach { outbound: true, ..Reach::default() };
    spec.permissions = vec![Permission::Network];
    spec.timeout = defaults::TIMEOUT_FETCH;
    spec.trust = Trust::External;
    spec.examples = examples([
        ("What does this page say?", json!({"url": "https://example.com/news"})),
        ("Does this link still work?", json!({"url": "https://example.com/a", "method": "HEAD"})),
    ]);
    spec
}

impl Tool for FetchUrl {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let mut assessment = Assessment::from_spec(spec)
            .with_summary(format!("fetch {}", http_fetch::masked_url(&args.url)));
        if args.method != Some(Verb::Post) {
            (assessment.effect, assessment.risk) = (Effect::Read, Risk::Safe);
        }
        http_fetch::ask_about_private_address(&self.client, &args.url, &mut assessment);
        Ok(assessment)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let client = http_fetch::client_for(&self.client, &args.url, ctx);
        let request = request(args)?;
        let limits = Limits { total: defaults::TIMEOUT_FETCH, ..Limits::default() };
        let response = http_fetch::fetch(&client, &request, limits, ctx).await?;
        let (status, final_url) = (response.head.status, response.head.final_url.clone());
        let content_type = response.head.header("content-type").unwrap_or_default().to_owned();
        let note = http_fetch::truncation(&response);
        let body = readable(Body::from_response(&response), final_url.clone()).await?;
        let first = format!("HTTP {status} {} from {final_url}", response.head.reason);
        let mut content = vec![Block::text(first)];
        content.push(match &body {
            Body::Text { text, media_type } => {
                Block::Text { text: text.clone(), media_type: media_type.clone() }
            }
            Body::Binary { note } => Block::text(note.clone()),
        });
        content.extend(note.map(Block::text));
        let structured = json!({
            "success": (200..300).contains(&status),
            "status": status,
            "final_url": final_url,
            "content_type": content_type,
            "body": body.text(),
        });
        Ok(ToolOutput::from_blocks(content)
            .with_structured(structured)
            .with_origin(Trust::External, final_url))
    }
}

/// Converts HTML to Markdown; leaves other bodies unchanged.
async fn readable(body: Body, url: String) -> Result<Body, ToolError> {
    match body {
        Body::Text { text, media_type }
            if matches!(media_type.as_str(), "text/html" | "application/xhtml+xml") =>
        {
            let markdown = blocking(move || {
                Ok(html_to_markdown::to_markdown(&text, Url::parse(&url).ok().as_ref()))
            })
            .await?;
            Ok(Body::Text { text: markdown, media_type: "text/markdown".to_owned() })
        }
        other => Ok(other),
    }
}

fn request(args: Args) -> Result<Request, ToolError> {
    let verb = args.method.unwrap_or(Verb::Get);
    let method = match verb {
        Verb::Get => Method::GET,
        Verb::Post => Method::POST,
        Verb::Head => Method::HEAD,
    };
    let body = args.body.unwrap_or_default();
    if verb != Verb::Post && !body.is_empty() {
        return Err(ToolError::validation(
            "A body is sent with POST only. Set method to POST, or leave body out.",
        ));
    }
    let mut request = Request::new(method, args.url);
    let accept = "text/html,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.5";
    request.headers.push(("Accept".to_owned(), accept.to_owned()));
    if !body.is_empty() {
        let kind = args.content_type.unwrap_or("application/x-www-form-urlencoded".to_owned());
        request.headers.push(("Content-Type".to_owned(), kind));
    }
    request.body = body.into();
    Ok(request)
}
