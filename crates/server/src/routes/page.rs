//! The page: the files of the bundle, with their content security policy.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use toolcrib_page::PageFile;

use crate::api::{Api, Operation, etag_matches};
use crate::problem::{Code, Problem};
use crate::role::Role;

/// Policy of the page: it loads only its own files, connects only to its own daemon, contains
/// nothing inline, and is not displayed in frames. Its own frames show pages of MCP servers, which
/// `calls/page` serves without an origin, and which cannot navigate elsewhere. Markup that is
/// generated from text has to pass a policy (Trusted Types) of the page's own code: the templates
/// of Svelte and the sanitized Markdown of models.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
    connect-src 'self'; frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types svelte-trusted-html";
/// Caching of files whose name changes with their content.
const FOREVER: &str = "public, max-age=31536000, immutable";
/// Caching of other files: the browser asks whether its copy is current.
const ASK: &str = "no-cache";

pub(super) fn routes(api: &mut Api) {
    let file = |path, about| {
        Operation::get(path, Role::Viewer, about).public().at_root().tag("page").etagged()
    };
    let html = "text/html; charset=utf-8";
    let root = file("/", "Shows the page.")
        .returns_media(html, "The HTML document, which loads the other files.");
    api.add(root, |headers: HeaderMap| async move { answer("index.html", &headers, ASK) });
    let icon = file("/favicon.svg", "Gets the icon of the page.");
    api.add(icon.returns_media("image/svg+xml", "The icon."), |headers: HeaderMap| async move {
        answer("favicon.svg", &headers, ASK)
    });
    let manifest =
        file("/manifest.webmanifest", "Returns the manifest with which browsers install the page.");
    api.add(
        manifest.returns_media("application/manifest+json", "The manifest."),
        |headers: HeaderMap| async move { answer("manifest.webmanifest", &headers, ASK) },
    );
    let asset = file("/assets/{file}", "Gets a script or a style sheet of the page.");
    api.add(
        asset.returns_media("text/javascript; charset=utf-8", "The file."),
        |Path(name): Path<String>, headers: HeaderMap| async move {
            answer(&format!("assets/{name}"), &headers, FOREVER)
        },
    );
}

fn answer(path: &str, headers: &HeaderMap, caching: &'static str) -> Result<Response, Problem> {
    let file = toolcrib_page::find(path)
        .ok_or_else(|| Problem::not_found(format!("the page has no file {path}")))?;
    let common = [
        (header::ETAG, HeaderValue::from_static(file.etag)),
        (header::CACHE_CONTROL, HeaderValue::from_static(caching)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    if etag_matches(headers.get(header::IF_NONE_MATCH), file.etag) {
        return Ok((StatusCode::NOT_MODIFIED, common).into_response());
    }
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(file.media_type))];
    Ok((common, kind, body(file, headers)?).into_response())
}

/// Compresses the file for browsers; programs such as curl do not request that.
fn body(file: &'static PageFile, headers: &HeaderMap) -> Result<Response, Problem> {
    if accepts_brotli(headers) {
        let encoding = [(header::CONTENT_ENCODING, HeaderValue::from_static("br"))];
        return Ok((encoding, file.brotli).into_response());
    }
    let content = file.decompress();
    let content = content.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    Ok(content.into_response())
}

fn accepts_brotli(headers: &HeaderMap) -> bool {
    let all = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|one| one.to_str().ok());
    all.flat_map(|one| one.split(',')).any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let refused = weight.trim().strip_prefix("q=").and_then(|q| q.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case("br") && refused != Some(0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brotli_is_sent_to_clients_that_ask_for_it() {
        let check = |value: &'static str, expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(accepts_brotli(&headers), expected, "{value}");
        };
        check("gzip, deflate, br, zstd", true);
        check("BR;q=0.5", true);
        check("br;q=0", false);
        check("gzip", false);
        check("*", false);
        assert!(!accepts_brotli(&HeaderMap::new()));
    }
}
