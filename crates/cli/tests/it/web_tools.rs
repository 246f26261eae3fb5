//! The web tools through the binary.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

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

#[cfg(target_os = "linux")]
#[test]
fn an_article_is_read_without_what_is_around_it() {
    let (env, server) = (TestEnv::new(), Server::start());
    let open = ["--allow-net", &server.target()];
    let source = server.url("/article.html");
    let (reply, code) = env.call("read", &json!({"source": source}), &open);
    assert_eq!((reply["outcome"].as_str(), code), (Some("succeeded"), 0), "{reply}");
    assert_eq!(reply["trust"], "external", "{reply}");
    let text = reply["result"].to_string();
    assert!(text.contains("The price of oats (article)") && text.contains("costs 2.40"), "{text}");
    for noise in ["Buy shoes", "Login", "Imprint", "evil.example"] {
        assert!(!text.contains(noise), "{noise}: {text}");
    }
    let part = json!({"source": source, "max_chars": 200});
    let (reply, _) = env.call("read", &part, &open);
    assert!(reply["result"].to_string().contains("Go on with offset 1"), "{reply}");
    let feed = json!({"source": server.url("/feed.xml")});
    let (reply, _) = env.call("read", &feed, &open);
    assert!(reply["result"].to_string().contains("Oat news (feed)"), "{reply}");
    // The media type from the server is wrong.
    let (reply, _) = env.call("read", &json!({"source": server.url("/liar.pdf")}), &open);
    assert!(reply["result"].to_string().contains("Not here"), "{reply}");
    for (path, part) in [("/blob", "It has no text"), ("/broken", "503"), ("/none", "404")] {
        let (reply, code) = env.call("read", &json!({"source": server.url(path)}), &open);
        assert_ne!(code, 0, "{reply}");
        assert!(reply["result"].to_string().contains(part), "{path}: {reply}");
    }
}

/// The argument is an address or a path: rules for both apply.
#[test]
fn rules_on_hosts_and_paths_hold_for_read() {
    let (env, server) = (TestEnv::new(), Server::start());
    env.write("plan.md", "# Plan\n\nBuy oats.\n");
    env.write("data.bin", [0_u8, 1, 2]);
    let open = ["--allow-net", &server.target()];
    let (file, page) = (json!({"source": "plan.md"}), json!({"source": server.url("/page.html")}));
    let (reply, code) = env.call("read", &file, &[]);
    assert_eq!(code, 0, "{reply}");
    assert!(reply["result"].to_string().contains("Buy oats."), "{reply}");
    for (source, part) in [
        ("none.md", "none.md"),
        ("data.bin", "data.bin"),
        ("../outside", "outside"),
        ("ftp://example.com/a", "cannot be read"),
        ("file:///etc/passwd", "Give the path"),
        ("", "The source is empty"),
    ] {
        let (reply, code) = env.call("read", &json!({ "source": source }), &[]);
        assert_ne!(code, 0, "{source}: {reply}");
        assert!(reply["result"].to_string().contains(part), "{source}: {reply}");
    }
    let deny = |rule: &str| {
        env.own("rules.toml", &format!("[[rules]]\neffect = \"deny\"\nrule = \"{rule}\"\n"));
    };
    for rule in ["WebFetch(domain:127.0.0.1)", "WebFetch", "read.url"] {
        deny(rule);
        let (reply, code) = env.call("read", &page, &open);
        assert_eq!((reply["outcome"].as_str(), code), (Some("denied"), 5), "{rule}: {reply}");
    }
    for rule in ["Read(plan.md)", "Read(*.md)", "Read", "read.file"] {
        deny(rule);
        let (reply, code) = env.call("read", &file, &[]);
        assert_eq!((reply["outcome"].as_str(), code), (Some("denied"), 5), "{rule}: {reply}");
    }
    assert_eq!(server.seen().len(), 0);
}

/// Regression: `WebFetch` rules covered only `url`, so the feed of `news` bypassed them.
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

#[test]
fn a_feed_of_100_mb_is_not_read_to_its_end() {
    const SIZE: usize = 100 << 20;
    let env = TestEnv::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        while request.read_line(&mut line).unwrap() > 2 {
            line.clear();
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/rss+xml\r\nconnection: close\r\n\r\n<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>Oats</title>";
        stream.write_all(head.as_bytes()).unwrap();
        let item = "<item><title>Oats rise again and again</title></item>".repeat(1_000);
        let mut sent = 0;
        // The client disconnects long before the end.
        while sent < SIZE && stream.write_all(item.as_bytes()).is_ok() {
            sent += item.len();
        }
        sent
    });
    let feed = json!({"feed": format!("http://{address}/feed.xml")});
    let (reply, code) = env.call("news", &feed, &["--allow-net", &address]);
    assert_ne!(code, 0, "{reply}");
    assert!(reply.to_string().contains("5 MB"), "{reply}");
    let sent = server.join().unwrap();
    // The limit, and the buffers of both sockets.
    assert!(sent < 30 << 20, "{sent} bytes were taken");
}
