//! Stored results: their metadata, their pages as a model reads them, and their original bytes, for
//! download only and never displayed as a page of this daemon.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_core::{ArtifactMeta, ArtifactRef, ArtifactStore, Call, StoreError};
use toolcrib_ops::artifacts::{
    self, ArtifactDocument, ListArtifactsRequest, RemoveArtifactRequest, ShowArtifactRequest,
};

use super::calls::document::{answer_response, document_status_codes, no_answer};
use crate::active_requests::CallsReply;
use crate::admission::AdmittedCaller;
use crate::api::{self, Api, Json, Operation, Page, PageQuery, Path, Query};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Bytes that are read at once while one chunk is sent, which bounds the memory of a download.
const CHUNK: usize = 128 * 1024;

/// How many are wanted, the newest first.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ListQuery {
    /// The maximum number of rows, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
}

/// The requested part.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct RangeQuery {
    /// The offset in bytes; each page has the next one.
    offset: Option<u64>,
    /// Bytes to read, at most 19,000.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// Regular expression: the lines that match, each with its offset, instead of a page.
    #[schemars(length(min = 1))]
    pattern: Option<String>,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/artifacts", Role::Viewer, "Lists artifacts, newest first.");
    api.add(
        list.query::<ListQuery>()
            .returns_ok::<Page<ArtifactDocument>>("At most the requested number."),
        list_artifacts,
    );
    let show =
        Operation::get("/artifacts/{ref}", Role::Viewer, "Shows the metadata of a stored result.");
    api.add(show.returns_ok::<ArtifactDocument>("Its type, size and origin."), show_artifact);
    let part = Operation::get(
        "/artifacts/{ref}/page",
        Role::Caller,
        "Reads a part of a stored result as sanitized text.",
    );
    let part = part
        .description(
            "Runs a call of `read_artifact`; the response is the text that a model would read.",
        )
        .query::<RangeQuery>();
    api.add(document_status_codes(part), read_page);
    let content = Operation::get(
        "/artifacts/{ref}/content",
        Role::Caller,
        "Downloads the bytes of a stored result.",
    )
    .description("Unchanged except that known secrets are masked: do not render them as a page.")
    .header("range", "One range, such as `bytes=0-1023`.")
    .returns_media("application/octet-stream", "The bytes.");
    api.add(
        content
            .returns_empty(206, "The requested range.")
            .returns_empty(416, "The range is beyond the end."),
        send_content,
    );
    let remove = Operation::delete("/artifacts/{ref}", Role::Operator, "Removes an artifact.");
    api.add(
        remove.returns_empty(204, "Removed, even if results still refer to it."),
        remove_artifact,
    );
}

/// Reads from the store of artifacts, beside the tasks that answer.
pub(super) async fn run_blocking<T: Send + 'static>(
    daemon: &DaemonState,
    read: impl FnOnce(&dyn ArtifactStore) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    let store = Arc::clone(&daemon.stores().artifacts);
    api::run_blocking(move || read(&*store)).await
}

async fn load_meta(
    daemon: &DaemonState,
    principal: &Principal,
    name: &str,
) -> Result<ArtifactMeta, Problem> {
    let request = ShowArtifactRequest { artifact: ArtifactRef(name.to_owned()) };
    let meta = artifacts::show(&daemon.store_context(principal), request).await?;
    require_tool(daemon, principal, &meta).await?;
    Ok(meta)
}

/// Refuses a result of a tool outside the principal's limit, and a result whose call is no longer
/// stored.
async fn require_tool(
    daemon: &DaemonState,
    principal: &Principal,
    meta: &ArtifactMeta,
) -> Result<(), Problem> {
    daemon.require_call(principal, meta.call).await
}

async fn list_artifacts(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<ArtifactDocument>>, Problem> {
    let limit = PageQuery::page_size(query.limit)?;
    let all =
        artifacts::list(&daemon.store_context(&principal), ListArtifactsRequest { limit }).await?;
    let mut rows = Vec::with_capacity(all.len());
    for meta in all {
        if require_tool(&daemon, &principal, &meta).await.is_ok() {
            rows.push(ArtifactDocument::from(&meta));
        }
    }
    Ok(Json(Page::single_page(rows)))
}

async fn show_artifact(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<ArtifactDocument>, Problem> {
    let meta = load_meta(&daemon, &principal, &name).await?;
    Ok(Json(ArtifactDocument::from(&meta)))
}

async fn read_page(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    Path(name): Path<String>,
    Query(query): Query<RangeQuery>,
) -> Result<Response, Problem> {
    load_meta(&daemon, &principal, &name).await?;
    let mut args = json!({"ref": name});
    let given = [
        ("offset", query.offset.map(|offset| json!(offset))),
        ("limit", query.limit.map(|limit| json!(limit))),
        ("pattern", query.pattern.map(|pattern| json!(pattern))),
    ];
    for (key, value) in given {
        if let (Some(value), Some(args)) = (value, args.as_object_mut()) {
            args.insert(key.to_owned(), value);
        }
    }
    let batch = daemon.calls().build_batch(&principal, vec![Call::new("read_artifact", args)]);
    match daemon.calls().run(&principal, batch, None, None).await? {
        CallsReply::Answers(mut answers) => {
            Ok(answer_response(answers.pop().ok_or_else(no_answer)?))
        }
        CallsReply::Accepted(_) => Err(no_answer()),
    }
}

async fn remove_artifact(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    load_meta(&daemon, &principal, &name).await?;
    let request = RemoveArtifactRequest { artifact: ArtifactRef(name.clone()) };
    artifacts::remove(&daemon.store_context(&principal), request).await?;
    daemon.admin_audit().record(&principal, "artifact.remove", name).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn send_content(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let meta = load_meta(&daemon, &principal, &name).await?;
    let tag = format!("\"{}\"", meta.sha256);
    let asked = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    // A range of an outdated version is answered with the whole content (RFC 9110, 13.1.5).
    let same = headers.get(header::IF_RANGE).is_none_or(|of| of.as_bytes() == tag.as_bytes());
    let (status, part) = match asked.filter(|_| same).map(|range| parse_range(range, meta.bytes)) {
        None | Some(ByteRange::Whole) => (StatusCode::OK, (0, meta.bytes)),
        Some(ByteRange::Of(start, end)) => (StatusCode::PARTIAL_CONTENT, (start, end)),
        Some(ByteRange::Beyond) => return Ok(beyond(meta.bytes)),
    };
    let body = Body::from_stream(pieces(&daemon, &principal, &meta, part));
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    let mut put = |name, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    };
    // Never send the stored media type: the content is untrusted, and a browser would attribute it
    // to the daemon's origin.
    put(header::CONTENT_TYPE, "application/octet-stream".to_owned());
    put(header::CONTENT_DISPOSITION, format!("attachment; filename=\"{}\"", meta.artifact));
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned());
    put(header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox".to_owned());
    put(header::CACHE_CONTROL, "private, no-store".to_owned());
    put(header::ACCEPT_RANGES, "bytes".to_owned());
    put(header::ETAG, tag);
    put(header::CONTENT_LENGTH, (part.1 - part.0).to_string());
    if status == StatusCode::PARTIAL_CONTENT {
        put(header::CONTENT_RANGE, format!("bytes {}-{}/{}", part.0, part.1 - 1, meta.bytes));
    }
    Ok(response)
}

fn beyond(bytes: u64) -> Response {
    let mut response = StatusCode::RANGE_NOT_SATISFIABLE.into_response();
    if let Ok(range) = HeaderValue::from_str(&format!("bytes */{bytes}")) {
        response.headers_mut().insert(header::CONTENT_RANGE, range);
    }
    response
}

/// The part that a `Range` header requests.
#[derive(Debug, PartialEq, Eq)]
enum ByteRange {
    /// The whole content: the header is not a supported range.
    Whole,
    /// From the first offset to before the second.
    Of(u64, u64),
    /// No byte of the content.
    Beyond,
}

/// Parses a single range of bytes (RFC 9110, 14.1.2). Other forms and several ranges are ignored,
/// as the RFC requires.
fn parse_range(range: &str, bytes: u64) -> ByteRange {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let Some((first, last)) = range.strip_prefix("bytes=").and_then(|set| set.split_once('-'))
    else {
        return ByteRange::Whole;
    };
    match (first.is_empty(), number(first), last.is_empty(), number(last)) {
        (false, Some(first), true, _) if first < bytes => ByteRange::Of(first, bytes),
        (false, Some(first), false, Some(last)) if first > last => ByteRange::Whole,
        (false, Some(first), false, Some(last)) if first < bytes => {
            ByteRange::Of(first, last.saturating_add(1).min(bytes))
        }
        (false, Some(_), true, _) | (false, Some(_), false, Some(_)) => ByteRange::Beyond,
        (true, _, false, Some(0)) => ByteRange::Beyond,
        (true, _, false, Some(_)) if bytes == 0 => ByteRange::Beyond,
        (true, _, false, Some(last)) => ByteRange::Of(bytes.saturating_sub(last), bytes),
        _ => ByteRange::Whole,
    }
}

/// Streams the bytes between two offsets, reading each piece when it is sent.
fn pieces(
    daemon: &DaemonState,
    principal: &Principal,
    meta: &ArtifactMeta,
    (start, end): (u64, u64),
) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> + Send + use<> {
    let (daemon, artifact, owner) =
        (daemon.clone(), meta.artifact.clone(), principal.owner.clone());
    stream::try_unfold(start, move |at| {
        let (daemon, artifact, owner) = (daemon.clone(), artifact.clone(), owner.clone());
        async move {
            let length = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
            if length == 0 {
                return Ok(None);
            }
            let read =
                run_blocking(&daemon, move |store| store.read(&artifact, &owner, at, length)).await;
            match read {
                Ok(Some(bytes)) if !bytes.is_empty() => {
                    let next = at + bytes.len() as u64;
                    Ok(Some((Bytes::from(bytes), next)))
                }
                // End the stream with an error, so that the client does not mistake the received
                // part for the complete content.
                Ok(_) => Err(std::io::Error::other("the stored result is gone")),
                Err(problem) => Err(std::io::Error::other(problem.detail)),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_rfc_has_them() {
        let check = |range: &str, expected: ByteRange| {
            assert_eq!(parse_range(range, 100), expected, "{range}");
        };
        check("bytes=0-0", ByteRange::Of(0, 1));
        check("bytes=0-", ByteRange::Of(0, 100));
        check("bytes=10-19", ByteRange::Of(10, 20));
        check("bytes=90-900", ByteRange::Of(90, 100));
        check("bytes=-10", ByteRange::Of(90, 100));
        check("bytes=-900", ByteRange::Of(0, 100));
        check("bytes=99-99999999999999999999999", ByteRange::Of(99, 100));
        check("bytes=100-", ByteRange::Beyond);
        check("bytes=100-200", ByteRange::Beyond);
        check("bytes=-0", ByteRange::Beyond);
        check("bytes=20-10", ByteRange::Whole);
        check("bytes=0-1,5-6", ByteRange::Whole);
        check("bytes=a-b", ByteRange::Whole);
        check("bytes=+1-2", ByteRange::Whole);
        check("bytes=-", ByteRange::Whole);
        check("lines=1-2", ByteRange::Whole);
        check("", ByteRange::Whole);
        assert_eq!(parse_range("bytes=0-", 0), ByteRange::Beyond);
        assert_eq!(parse_range("bytes=-5", 0), ByteRange::Beyond);
    }
}
