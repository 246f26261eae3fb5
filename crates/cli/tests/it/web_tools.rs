//! The web tools through the binary.

use serde_json::json;

use crate::support::{Server, TestEnv};

#[test]
fn a_search_without_a_back_end_says_how_to_get_one() {
    let env = TestEnv::new();
    let (reply, code) = env.call("web_search", &json!({"query": "oat bread"}), &[]);
    assert_eq!(reply["error_type"], "not_configured", "{reply}");
    assert_ne!(code, 0);
    let text = reply["result"].to_string();
    for part in ["No search back end is configured", "web.searxng.url", "web.brave.key"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The owner's own instance is in a network that tools may not reach otherwise.
#[test]
fn a_search_asks_the_back_end_of_the_configuration() {
    let (env, server) = (TestEnv::new(), Server::start());
    env.run(&["config", "set", "web.searxng.url", &server.url("")]).code(0);
    let (reply, code) = env.call("web_search", &json!({"query": "oat bread", "num": 3}), &[]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("succeeded"), 0), "{reply}");
    let text = reply["result"].to_string();
    assert!(text.contains("https://oats.example/bread"), "{text}");
    assert_eq!(reply["trust"], "external", "{reply}");
    assert_eq!(server.seen(), ["GET /search?q=oat+bread&format=json"]);
}

/// `WebFetch` rules were about `url` only, so the feed of `news` went past them.
#[test]
fn rules_on_hosts_hold_for_feeds() {
    let (env, server) = (TestEnv::new(), Server::start());
    let feed = json!({"feed": server.url("/feed.xml")});
    let open = ["--allow-net", &server.target()];
    let (reply, code) = env.call("news", &feed, &open);
    assert_eq!(code, 0, "{reply}");
    assert!(reply["result"].to_string().contains("Oats rise"), "{reply}");
    env.own("rules.toml", "[[rules]]\neffect = \"deny\"\nrule = \"WebFetch(domain:127.0.0.1)\"\n");
    let (reply, code) = env.call("news", &feed, &open);
    assert_eq!((reply["outcome"].as_str(), code), (Some("denied"), 5), "{reply}");
    assert_eq!(server.seen().len(), 1);
}
