//! `http_request`: sends one HTTP request and returns the response.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, Block, CallCtx, Effect, Permission, Reach, Risk, Tool, ToolError, ToolOutput,
    ToolSpec, Trust, defaults,
};
use toolcrib_net::{HttpClient, Limits, Method, Request};

use super::{base_spec, examples};
use crate::http_fetch::{self, Body};

/// Handler of `http_request`.
pub(crate) struct HttpRequest {
    pub(crate) client: HttpClient,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Address to request, beginning with http:// or https://.
    url: String,
    /// HTTP method. Default: GET.
    method: Option<Verb>,
    /// Request headers, name to value.
    headers: Option<BTreeMap<String, String>>,
    /// Request body. Sent as application/json when it is JSON and no Content-Type header is given.
    body: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Verb {
    Get,
    Post,
    Put,
    Delete,
    Head,
    Patch,
}

impl Verb {
    fn method(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Post => Method::POST,
            Self::Put => Method::PUT,
            Self::Delete => Method::DELETE,
            Self::Head => Method::HEAD,
            Self::Patch => Method::PATCH,
        }
    }

    /// Returns the effect (RFC 9110, 9.2) and the risk of a method.
    fn meaning(self) -> (Effect, Risk) {
        match self {
            Self::Get | Self::Head => (Effect::Read, Risk::Safe),
            Self::Put => (Effect::Idempotent, Risk::High),
            Self::Post | Self::Patch => (Effect::SideEffect, Risk::High),
            Self::Delete => (Effect::Destructive, Risk::High),
        }
    }
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "http_request",
        "Send HTTP request",
        "Make an HTTP request and return status, headers and body (the first 512 KB). To read a web page use fetch_url.",
    );
    spec.group = Some("network".to_owned());
    spec.parameter_aliases = super::aliases([("uri", "url"), ("data", "body")]);
    // The worst case; GET and HEAD are assessed lower.
    (spec.effect, spec.risk) = (Effect::Destructive, Risk::High);
    spec.reach = Reach { outbound: true, ..Reach::default() };
    spec.permissions = vec![Permission::Network];
    spec.timeout = defaults::TIMEOUT_NETWORK;
    spec.trust = Trust::External;
    spec.examples = examples([
        ("Get the latest rates", json!({"url": "https://api.example.com/rates?base=EUR"})),
        (
            "Create a ticket",
            json!({
                "url": "https://api.example.com/tickets",
                "method": "POST",
                "headers": {"Accept": "application/json"},
                "body": "{\"title\": \"Broken link\"}"
            }),
        ),
    ]);
    spec
}

impl Tool for HttpRequest {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let verb = args.method.unwrap_or(Verb::Get);
        let mut assessment = Assessment::from_spec(spec).with_summary(format!(
            "{} {}",
            verb.method(),
            http_fetch::masked_url(&args.url)
        ));
        (assessment.effect, assessment.risk) = verb.meaning();
        http_fetch::ask_about_private_address(&self.client, &args.url, &mut assessment);
        Ok(assessment)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let client = http_fetch::client_for(&self.client, &args.url, ctx);
        let request = request(args);
        let limits = Limits { total: defaults::TIMEOUT_NETWORK, ..Limits::default() };
        let response = http_fetch::fetch(&client, &request, limits, ctx).await?;
        let body = Body::from_response(&response);
        let mut head = format!("HTTP {} {}", response.head.status, response.head.reason);
        for (name, value) in &response.head.headers {
            // Writing to a `String` cannot fail.
            let _ = write!(head, "\n{name}: {value}");
        }
        if response.head.headers_omitted > 0 {
            let _ =
                write!(head, "\n({} more headers are not shown.)", response.head.headers_omitted);
        }
        // An empty line ends the headers, as in HTTP.
        let mut content = vec![Block::text(format!("{}\n", head.trim_end()))];
        content.push(match &body {
            Body::Text { text, media_type } => {
                Block::Text { text: text.clone(), media_type: media_type.clone() }
            }
            Body::Binary { note } => Block::text(note.clone()),
        });
        content.extend(http_fetch::truncation(&response).map(Block::text));
        let headers: serde_json::Map<String, Value> =
            response.head.headers.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
        let structured = json!({
            "status": response.head.status,
            "reason": response.head.reason,
            "final_url": response.head.final_url,
            "headers": headers,
            "body": body.text(),
            "truncated": response.truncated(),
        });
        Ok(ToolOutput::from_blocks(content)
            .with_structured(structured)
            .with_origin(Trust::External, response.head.final_url.clone()))
    }
}

fn request(args: Args) -> Request {
    let verb = args.method.unwrap_or(Verb::Get);
    let mut request = Request::new(verb.method(), args.url);
    request.headers = args.headers.unwrap_or_default().into_iter().collect();
    let body = args.body.unwrap_or_default();
    let named = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if !body.is_empty() && !named {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&body).is_ok();
        let kind = if is_json { "application/json" } else { "text/plain; charset=utf-8" };
        request.headers.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    request.body = body.into();
    request
}
