//! Tests every back end against a server that uses its format: results, refusals, limits and bot
//! checks, as the services document them.

use serde_json::json;
use toolcrib_core::{ErrorType, ToolError};

use super::{Query, SearchAnswer, SearchChain};
use crate::service_server::{Reply, ServiceServer, client};
use crate::test_support::context;
use crate::web::{ApiKey, SearchBackendKind, SearchBackendSettings};

fn settings(kind: SearchBackendKind, server: &ServiceServer) -> SearchBackendSettings {
    SearchBackendSettings {
        kind,
        url: Some(server.base()),
        key: Some(ApiKey::Value("k-123".to_owned())),
        engine: Some("cx-1".to_owned()),
    }
}

fn query(text: &str) -> Query {
    Query { text: text.to_owned(), num: 3, sites: Vec::new() }
}

async fn search(
    kind: SearchBackendKind,
    reply: Reply,
) -> (Result<SearchAnswer, ToolError>, Vec<String>) {
    let server = ServiceServer::with_reply(reply).await;
    let chain = SearchChain::new(&client(), &[settings(kind, &server)]);
    let found = chain.search(&query("rust & oats"), &context()).await;
    (found, server.seen())
}

/// Returns the hits of a response as (title, address, snippet), and the request.
async fn hits(kind: SearchBackendKind, reply: Reply) -> (Vec<[String; 3]>, String) {
    let (found, seen) = search(kind, reply).await;
    let found = found.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    let hits = found.hits.into_iter().map(|hit| [hit.title, hit.url, hit.snippet]);
    (hits.collect(), seen[0].clone())
}

fn strings(hits: [[&str; 3]; 2]) -> Vec<[String; 3]> {
    hits.map(|hit| hit.map(str::to_owned)).to_vec()
}

#[tokio::test]
async fn searxng_answers_in_json() {
    let body = json!({
        "query": "rust & oats", "number_of_results": 0,
        "results": [
            {"url": "https://a.example/x", "title": "A", "content": "About\n a", "engine": "brave",
             "template": "default.html", "parsed_url": ["https", "a.example", "/x", "", "", ""],
             "engines": ["brave"], "positions": [1], "publishedDate": "2026-11-01T00:00:00", "score": 1.0, "category": "general"},
            {"url": "https://b.example/", "title": "B", "content": "", "publishedDate": null},
            {"url": "javascript:alert(1)", "title": "C", "content": ""}
        ],
        "answers": [], "corrections": [], "infoboxes": [], "suggestions": [],
        "unresponsive_engines": [["google", "Suspended: CAPTCHA"]]
    });
    let (hits, request) = hits(SearchBackendKind::Searxng, Reply::json(body.to_string())).await;
    let expected =
        strings([["A", "https://a.example/x", "About a"], ["B", "https://b.example/", ""]]);
    assert_eq!(hits, expected, "an address that is not a web address is left out");
    assert!(request.starts_with("GET /search?q=rust+%26+oats&format=json HTTP/1.1"), "{request}");
}

#[tokio::test]
async fn brave_answers_in_json() {
    let body = json!({
        "type": "search", "query": {"original": "rust & oats", "more_results_available": true},
        "web": {"type": "search", "results": [
            {"title": "A <strong>rust</strong> &amp; b", "url": "https://a.example/x", "is_source_local": false,
             "description": "All <strong>oats</strong>", "page_age": "2026-11-02T10:00:00", "age": "3 weeks ago", "language": "en"},
            {"title": "B", "url": "https://b.example/", "description": ""}
        ], "family_friendly": true}
    });
    let (hits, request) = hits(SearchBackendKind::Brave, Reply::json(body.to_string())).await;
    let expected = strings([
        ["A rust & b", "https://a.example/x", "All oats"],
        ["B", "https://b.example/", ""],
    ]);
    assert_eq!(hits, expected);
    assert!(request.starts_with("GET /res/v1/web/search?q=rust+%26+oats&count=3&"), "{request}");
    assert!(request.to_lowercase().contains("x-subscription-token: k-123"), "{request}");
    let nothing = json!({"type": "search", "query": {"original": "x"}}).to_string();
    let (found, _) = search(SearchBackendKind::Brave, Reply::json(nothing)).await;
    assert!(found.unwrap().hits.is_empty());
}

#[tokio::test]
async fn tavily_and_exa_answer_in_json() {
    let body = json!({
        "query": "rust & oats", "answer": null, "images": [], "follow_up_questions": null,
        "results": [
            {"title": "A", "url": "https://a.example/x", "content": "About a", "score": 0.98, "raw_content": null},
            {"title": "B", "url": "https://b.example/", "content": "", "score": 0.5, "raw_content": null}
        ], "response_time": 1.09, "request_id": "r-1"
    });
    let expected =
        strings([["A", "https://a.example/x", "About a"], ["B", "https://b.example/", ""]]);
    let (found, request) = hits(SearchBackendKind::Tavily, Reply::json(body.to_string())).await;
    assert_eq!(found, expected);
    assert!(request.starts_with("POST /search HTTP/1.1"), "{request}");
    assert!(request.to_lowercase().contains("authorization: bearer k-123"), "{request}");
    assert!(request.ends_with(r#"{"query":"rust & oats","max_results":3}"#), "{request}");
    let body = json!({
        "requestId": "r-1", "resolvedSearchType": "neural", "costDollars": {"total": 0.005},
        "results": [
            {"id": "https://a.example/x", "title": "A", "url": "https://a.example/x", "score": 0.3,
             "publishedDate": "2026-10-01T00:00:00.000Z", "author": null, "highlights": ["About a"], "highlightScores": [0.4]},
            {"id": "https://b.example/", "title": "B", "url": "https://b.example/"}
        ]
    });
    let (found, request) = hits(SearchBackendKind::Exa, Reply::json(body.to_string())).await;
    assert_eq!(found, expected);
    assert!(request.to_lowercase().contains("x-api-key: k-123"), "{request}");
    assert!(request.contains(r#""numResults":3"#), "{request}");
}

#[tokio::test]
async fn google_answers_in_json_and_the_key_is_not_in_the_address() {
    let body = json!({
        "kind": "customsearch#search", "searchInformation": {"totalResults": "2"},
        "items": [
            {"kind": "customsearch#result", "title": "A", "link": "https://a.example/x", "displayLink": "a.example", "snippet": "About a"},
            {"kind": "customsearch#result", "title": "B", "link": "https://b.example/", "snippet": ""}
        ]
    });
    let (found, request) = hits(SearchBackendKind::Google, Reply::json(body.to_string())).await;
    assert_eq!(
        found,
        strings([["A", "https://a.example/x", "About a"], ["B", "https://b.example/", ""]])
    );
    let line = request.lines().next().unwrap();
    assert_eq!(line, "GET /customsearch/v1?cx=cx-1&q=rust+%26+oats&num=3 HTTP/1.1");
    assert!(request.to_lowercase().contains("x-goog-api-key: k-123"), "{request}");
}

const DUCKDUCKGO: &str = r#"<!DOCTYPE html><html><body><div id="links" class="results">
<div class="result results_links results_links_deep result--ad "><h2 class="result__title"><a rel="nofollow" class="result__a" href="https://duckduckgo.com/y.js?ad_domain=ad.example">Ad</a></h2></div>
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fx&amp;rut=1f">A &amp; more</a></h2>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fx">About <b>a</b></a></div></div>
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="https://b.example/">B</a></h2></div></div>
</div></body></html>"#;

#[tokio::test]
async fn duckduckgo_answers_with_a_page() {
    let reply = Reply::new("200 OK", "text/html; charset=UTF-8", DUCKDUCKGO);
    let (found, request) = hits(SearchBackendKind::DuckDuckGo, reply).await;
    let expected =
        strings([["A & more", "https://a.example/x", "About a"], ["B", "https://b.example/", ""]]);
    assert_eq!(found, expected);
    assert!(request.starts_with("POST /html/ HTTP/1.1"), "{request}");
    assert!(request.ends_with("q=rust+%26+oats"), "{request}");
}

/// The failures of each service, and their texts.
#[tokio::test]
async fn refusals_limits_and_bot_checks_are_named() {
    use SearchBackendKind::{Brave, DuckDuckGo, Exa, Google, Searxng, Tavily};
    let forbidden = "<!doctype html><title>403 Forbidden</title><h1>Forbidden</h1><p>You don't have the permission to access the requested resource.</p>";
    let anomaly = r#"<html><body><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></body></html>"#;
    let html = |status, body: &str| Reply::new(status, "text/html; charset=utf-8", body);
    let says =
        |status, body: serde_json::Value| Reply::new(status, "application/json", body.to_string());
    for (kind, reply, expected) in [
        (Searxng, html("403 FORBIDDEN", forbidden), "add `- json` below `search:` and `formats:`"),
        (Searxng, html("200 OK", "<html><title>SearXNG</title></html>"), "its JSON format is off"),
        (Searxng, Reply::new("429 TOO MANY REQUESTS", "text/plain", "Too Many Requests"), "it is asked too often (HTTP 429)"),
        (Searxng, Reply::json(json!({"results": [], "unresponsive_engines": [["google", "CAPTCHA"], ["brave", "timeout"]]}).to_string()), "none of its engines answered (google: CAPTCHA; brave: timeout)"),
        (Searxng, Reply::json(r#"{"results": [{"#), "not the JSON that was expected"),
        (Brave, says("422 Unprocessable Entity", json!({"type": "ErrorResponse", "error": {"id": "1", "status": 422, "code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "The provided subscription token is invalid.", "meta": {"component": "authentication"}}, "time": 1})), "(HTTP 422): The provided subscription token is invalid"),
        (Brave, says("429 Too Many Requests", json!({"type": "ErrorResponse", "error": {"id": "1", "status": 429, "code": "RATE_LIMITED", "detail": "Request rate limit exceeded for plan.", "meta": {}}, "time": 1})).with_header("Retry-After", "7"), "it is asked too often (HTTP 429, again in 7 s): Request rate limit exceeded for plan"),
        (Tavily, says("401 Unauthorized", json!({"detail": {"error": "Unauthorized: missing or invalid API key."}})), "it refuses the access (HTTP 401): Unauthorized: missing or invalid API key"),
        (Tavily, says("432 Plan Limit", json!({"detail": {"error": "This request exceeds your plan's set usage limit."}})), "the paid quota is used up (HTTP 432)"),
        (Exa, says("401 Unauthorized", json!({"requestId": "r", "error": "Invalid API key", "tag": "INVALID_API_KEY"})), "(HTTP 401): Invalid API key"),
        (Exa, says("402 Payment Required", json!({"requestId": "r", "error": "You have exceeded your credits limit.", "tag": "NO_MORE_CREDITS"})), "the paid quota is used up (HTTP 402)"),
        (Google, says("400 Bad Request", json!({"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"}})), "API key not valid. Please pass a valid API key"),
        (Google, html("429 Too Many Requests", "<p>Our systems have detected unusual traffic from your computer network.</p>"), "it asks for a captcha"),
        (DuckDuckGo, html("202 Accepted", anomaly), "it asks for a captcha instead of answering"),
        (DuckDuckGo, html("200 OK", "<html><body>new design</body></html>"), "its page has changed"),
        (Brave, Reply::new("503 Service Unavailable", "text/plain", "down"), "it has a failure of its own (HTTP 503)"),
    ] {
        let (found, _) = search(kind, reply).await;
        let error = found.expect_err(expected);
        assert!(error.message.contains(expected), "{kind:?}: {}", error.message);
        assert!(!error.message.contains("k-123"), "{}", error.message);
    }
}

#[tokio::test]
async fn the_next_back_end_is_asked_and_the_reason_is_told() {
    let blocked = ServiceServer::with_reply(Reply::new(
        "202 Accepted",
        "text/html",
        r#"<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>"#,
    ))
    .await;
    let good = ServiceServer::with_reply(Reply::json(
        json!({"results": [{"title": "A", "url": "https://a.example/", "content": "x"}]})
            .to_string(),
    ))
    .await;
    let chain = SearchChain::new(
        &client(),
        &[
            SearchBackendSettings::new(SearchBackendKind::Brave),
            settings(SearchBackendKind::DuckDuckGo, &blocked),
            settings(SearchBackendKind::Tavily, &good),
        ],
    );
    let found = chain.search(&query("oats"), &context()).await.unwrap();
    assert_eq!((found.backend, found.hits.len(), found.cached), ("tavily", 1, false));
    let failed = ["brave: it has no key", "duckduckgo: it asks for a captcha instead of answering"];
    assert_eq!(found.failed, failed);
    // The same search within 15 minutes is answered from the cache; a search with other words is
    // not.
    assert!(chain.search(&query("oats"), &context()).await.unwrap().cached);
    assert_eq!((blocked.seen().len(), good.seen().len()), (1, 1));
    let again = chain.search(&query("barley"), &context()).await.unwrap();
    assert!(again.failed[1].starts_with("duckduckgo: it allows one query in 10 s"), "{again:?}");
    assert_eq!((blocked.seen().len(), good.seen().len()), (1, 2));
}

#[tokio::test]
async fn nothing_is_asked_without_an_address_or_a_key() {
    let none = SearchChain::new(&client(), &[]);
    assert!(none.is_empty());
    let missing = ApiKey::Secret("brave".to_owned());
    let brave = SearchBackendSettings {
        key: Some(missing),
        ..SearchBackendSettings::new(SearchBackendKind::Brave)
    };
    let searxng = SearchBackendSettings::new(SearchBackendKind::Searxng);
    let chain = SearchChain::new(&client(), &[searxng, brave]);
    let error = chain.search(&query("oats"), &context()).await.unwrap_err();
    assert_eq!(error.error_type, ErrorType::NotConfigured);
    for part in ["searxng: it has no address", "brave: the vault has no secret `brave`"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[tokio::test]
async fn results_of_other_sites_are_left_out_of_a_restricted_search() {
    let body = json!({"results": [
        {"title": "docs", "url": "https://docs.python.org/3/library/re.html", "content": ""},
        {"title": "sub", "url": "https://devguide.docs.python.org/", "content": ""},
        {"title": "evil", "url": "https://evil.example/docs.python.org/", "content": ""},
        {"title": "look-alike", "url": "https://docs.python.org.evil.example/", "content": ""},
        {"title": "go", "url": "https://pkg.go.dev/regexp", "content": ""},
    ]});
    let server = ServiceServer::with_reply(Reply::json(body.to_string())).await;
    let chain = SearchChain::new(&client(), &[settings(SearchBackendKind::Searxng, &server)]);
    let sites = vec!["docs.python.org", "pkg.go.dev/regexp"];
    let query = Query { text: "regex".to_owned(), num: 5, sites };
    let found = chain.search(&query, &context()).await.unwrap();
    let titles: Vec<&str> = found.hits.iter().map(|hit| hit.title.as_str()).collect();
    assert_eq!(titles, ["docs", "sub", "go"]);
    assert!(server.seen()[0].contains("site%3Adocs.python.org+OR+site%3Apkg.go.dev"));
}
