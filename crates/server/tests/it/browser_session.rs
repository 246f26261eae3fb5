//! The session of the page: a cookie that is valid for one page only.

use hyper::Method;
use serde_json::{Value, json};
use toolcrib_server::DaemonSettings;

use crate::raw_http::within;
use crate::support::{Answer, Client, Events, Plan, TestDaemon};

/// A page of the daemon in a browser: with its origin, its cookie and Fetch Metadata.
struct Page {
    client: Client,
    origin: String,
    cookie: String,
    word: String,
}

impl Page {
    /// Exchanges a token.
    async fn begin(daemon: &TestDaemon, token: &str) -> Self {
        let origin = format!("http://{}", daemon.address);
        let browser =
            daemon.anybody().with("origin", &origin).with("sec-fetch-site", "same-origin");
        let answer = browser.clone().with_token(token).post("/api/v1/session", &json!({})).await;
        let word = answer.expect(201)["word"].as_str().unwrap().to_owned();
        let cookie = answer.headers["set-cookie"].to_str().unwrap().to_owned();
        for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        assert!(!cookie.contains("Secure"), "plain text on loopback: {cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        assert!(!cookie.contains(token) && !answer.text.contains(token));
        let client = daemon.anybody().with("cookie", &cookie);
        Self { client, origin, cookie, word }
    }

    /// Returns a client with the headers that the page's script sends with changes.
    fn own(&self) -> Client {
        let client = self.client.clone().with("origin", &self.origin);
        client.with("x-toolcrib-session", &self.word)
    }

    async fn reads(&self) -> Answer {
        self.client.clone().with("sec-fetch-site", "same-origin").get("/api/v1/session").await
    }

    /// Sends a change, with the headers of the page's script except for the omitted ones.
    async fn changes(&self, without: &[&str]) -> Answer {
        let mut client = self.client.clone();
        for (name, value) in [("origin", &self.origin), ("x-toolcrib-session", &self.word)] {
            if !without.contains(&name) {
                client = client.with(name, value);
            }
        }
        client.put("/api/v1/switches/tool:read_file", &json!({"state": "off"})).await
    }
}

#[tokio::test]
async fn a_page_reads_with_its_cookie_and_changes_with_its_word() {
    let daemon = TestDaemon::start().await;
    let page = Page::begin(&daemon, &daemon.token()).await;
    let shown = page.reads().await.expect(200);
    assert_eq!(shown["name"], "owner");
    assert!((43_000..=43_200).contains(&shown["seconds_left"].as_u64().unwrap()));
    assert_eq!(page.changes(&[]).await.status, 200);
    for missing in [&["origin"][..], &["x-toolcrib-session"], &["origin", "x-toolcrib-session"]] {
        let answer = page.changes(missing).await;
        assert_eq!((answer.status.as_u16(), &*answer.problem()), (403, "forbidden"), "{missing:?}");
    }
    let wrong = page.client.clone().with("origin", &page.origin).with("x-toolcrib-session", "x");
    assert_eq!(wrong.delete("/api/v1/session").await.problem(), "forbidden");
    // An image or a link on a foreign page sends at most the cookie, which does not count as a
    // request of the page.
    assert_eq!(page.client.get("/api/v1/session").await.problem(), "forbidden");
    let neighbour = page.client.clone().with("sec-fetch-site", "same-site");
    assert_eq!(neighbour.get("/api/v1/session").await.problem(), "misdirected");
    daemon.stop().await;
}

/// Browsers send the cookie to every port and every name of this machine, but the session is valid
/// for one origin only.
#[tokio::test]
async fn a_session_is_bound_to_the_origin_of_its_page() {
    let daemon = TestDaemon::start().await;
    let page = Page::begin(&daemon, &daemon.token()).await;
    let localhost = format!("localhost:{}", daemon.address.port());
    let elsewhere =
        page.client.clone().with("host", &localhost).with("sec-fetch-site", "same-origin");
    assert_eq!(elsewhere.get("/api/v1/session").await.problem(), "forbidden");
    let other = TestDaemon::start().await;
    let foreign = other.anybody().with("cookie", &page.cookie).with("sec-fetch-site", "none");
    assert_eq!(foreign.get("/api/v1/session").await.problem(), "unauthorized");
    other.stop().await;
    daemon.stop().await;
}

/// Regression: browsers keep one cookie of a name per host and ignore the port, so the page of a
/// second daemon replaced the session of the first.
#[tokio::test]
async fn two_daemons_of_one_host_do_not_replace_each_others_session() {
    let (first, second) = (TestDaemon::start().await, TestDaemon::start().await);
    let one = Page::begin(&first, &first.token()).await;
    let two = Page::begin(&second, &second.token()).await;
    let name = |page: &Page| page.cookie.split('=').next().unwrap().to_owned();
    assert_ne!(name(&one), name(&two));
    // Browsers send both cookies to both daemons.
    let both = format!("{}; {}", one.cookie, two.cookie);
    for daemon in [&first, &second] {
        let browser = daemon.anybody().with("cookie", &both).with("sec-fetch-site", "same-origin");
        assert_eq!(browser.get("/api/v1/session").await.expect(200)["name"], "owner");
    }
    second.stop().await;
    first.stop().await;
}

#[tokio::test]
async fn a_session_ends_by_logging_out_and_with_its_token() {
    let daemon = TestDaemon::start().await;
    let page = Page::begin(&daemon, &daemon.token()).await;
    let reader = page.client.clone().with("sec-fetch-site", "same-origin");
    let events = Events::open(&reader, "/api/v1/events", None).await;
    let other = Events::open(&daemon.client(), "/api/v1/events", None).await;
    let answer = page.own().send(Method::DELETE, "/api/v1/session", None).await;
    assert_eq!(answer.status, 204);
    assert!(answer.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    assert_eq!(page.reads().await.problem(), "unauthorized");
    // Streams of the session end with it; streams of its token do not.
    assert_eq!(within(events.rest()).await.len(), 1);
    let mut other = other;
    assert_eq!(other.next().await.unwrap().name, "snapshot");
    let off = json!({"state": "off"});
    daemon.client().put("/api/v1/switches/tool:read_file", &off).await.expect(200);
    within(other.until("switch")).await;

    let body = json!({"name": "x", "roles": ["caller"]});
    let made = daemon.client().post("/api/v1/tokens", &body).await.expect(201);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let page = Page::begin(&daemon, &text(&made["token"])).await;
    assert_eq!(page.reads().await.expect(200)["roles"], json!(["caller"]));
    // A session may not do more than its token.
    assert_eq!(page.changes(&[]).await.problem(), "forbidden");
    let path = format!("/api/v1/tokens/{}", text(&made["row"]["id"]));
    assert_eq!(daemon.client().delete(&path).await.status, 204);
    assert_eq!(page.reads().await.problem(), "unauthorized");
    daemon.stop().await;
}

/// A page continues without a new login after a restart of the daemon. The session file grants no
/// access, and a new token of the machine ends the sessions of the old one.
#[tokio::test]
async fn a_session_outlives_a_restart_and_ends_with_the_token_of_the_machine() {
    let daemon = TestDaemon::start().await;
    let (page, address) = (Page::begin(&daemon, &daemon.token()).await, daemon.address);
    let again = |folder| {
        let daemon = move |settings: &mut DaemonSettings| settings.listen.tcp = Some(address);
        TestDaemon::in_folder(folder, Plan { daemon: Box::new(daemon), ..Plan::default() })
    };
    let own = daemon.own().to_owned();
    let folder = daemon.stop().await;
    let daemon = again(folder).await;
    assert_eq!(page.reads().await.expect(200)["name"], "owner");
    assert_eq!(page.changes(&["x-toolcrib-session"]).await.problem(), "forbidden");
    page.changes(&[]).await.expect(200);
    let kept = std::fs::read_to_string(own.join("sessions.json")).unwrap();
    let cookie = page.cookie.split_once('=').unwrap().1;
    assert!(!kept.contains(cookie) && !kept.contains(&page.word));
    std::fs::remove_file(own.join("token")).unwrap();
    let folder = daemon.stop().await;
    let daemon = again(folder).await;
    assert_eq!(page.reads().await.problem(), "unauthorized");
    daemon.stop().await;
}

/// Only a token can start a session: neither a session nor an anonymous request can.
#[tokio::test]
async fn only_a_token_begins_a_session() {
    let daemon = TestDaemon::start().await;
    let begin = |client: Client| async move { client.post("/api/v1/session", &json!({})).await };
    assert_eq!(begin(daemon.anybody()).await.problem(), "unauthorized");
    let page = Page::begin(&daemon, &daemon.token()).await;
    assert_eq!(begin(page.client.clone()).await.problem(), "forbidden");
    // Even the page itself cannot, with its CSRF token: otherwise the twelve hours would start
    // again and again.
    let again = begin(page.own()).await;
    assert_eq!(again.problem(), "forbidden");
    assert!(again.text.contains("not of a session"), "{}", again.text);
    let stale = format!("toolcrib_session_{}=x", daemon.address.port());
    let stale = daemon.anybody().with("cookie", &stale).with("sec-fetch-site", "none");
    assert_eq!(stale.get("/api/v1/session").await.problem(), "unauthorized");
    daemon.stop().await;
}

/// Regression, found in review: a program that had copied the cookie, which browsers send to every
/// port of this machine, read the CSRF token and created an owner's token that outlasted the
/// session.
#[tokio::test]
async fn a_copied_cookie_changes_nothing_and_creates_no_token() {
    let daemon = TestDaemon::start().await;
    let page = Page::begin(&daemon, &daemon.token()).await;
    // Such a program can send every header that a browser sends.
    let thief = page.client.clone().with("origin", &page.origin);
    let thief = thief.with("sec-fetch-site", "same-origin");
    let read = thief.get("/api/v1/session").await;
    assert!(!read.text.contains(&page.word) && read.expect(200).get("word").is_none());
    let token = json!({"name": "x", "roles": ["viewer"]});
    for client in [thief, page.own()] {
        let refused = client.post("/api/v1/tokens", &token).await;
        assert_eq!((refused.status.as_u16(), &*refused.problem()), (403, "forbidden"));
    }
    daemon.client().post("/api/v1/tokens", &token).await.expect(201);
    daemon.stop().await;
}

/// Regression, found in review: 1,010 sessions of a viewer ended the sessions of the owner.
#[tokio::test]
async fn sessions_of_one_token_do_not_end_those_of_another() {
    let daemon = TestDaemon::start().await;
    let page = Page::begin(&daemon, &daemon.token()).await;
    let body = json!({"name": "v", "roles": ["viewer"]});
    let made = daemon.client().post("/api/v1/tokens", &body).await.expect(201);
    let viewer = made["token"].as_str().unwrap();
    let first = Page::begin(&daemon, viewer).await;
    for _ in 0..20 {
        Page::begin(&daemon, viewer).await;
    }
    assert_eq!(first.reads().await.problem(), "unauthorized");
    page.reads().await.expect(200);
    daemon.stop().await;
}
