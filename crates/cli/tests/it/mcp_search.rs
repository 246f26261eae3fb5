//! `toolcrib mcp search` over a registry on this machine that answers as the official one is
//! specified (`GET /v0.1/servers`).

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::{self, TestEnv};

const ANSWER: &str = include_str!("../fixtures/mcp_registry.json");

/// A registry with its requested paths; it may be unavailable.
struct Registry {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
    down: Arc<AtomicBool>,
}

fn registry() -> Registry {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (asked, down) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let (log, is_down) = (Arc::clone(&asked), Arc::clone(&down));
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut first = String::new();
            let _ = reader.read_line(&mut first);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            log.lock().unwrap().push(first.split(' ').nth(1).unwrap_or_default().to_owned());
            let status = if is_down.load(Ordering::SeqCst) { "503 No" } else { "200 OK" };
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{ANSWER}",
                ANSWER.len()
            );
        }
    });
    Registry { address, asked, down }
}

#[test]
fn the_registry_is_searched_and_its_answer_kept() {
    let env = TestEnv::new();
    let registry = registry();
    let search = |more: &[&str]| {
        env.run(&[&["mcp", "search", "files", "--registry", &registry.address], more].concat())
    };
    let found = search(&[]).code(0).says(&["entries there are not reviewed", "the first 30"]);
    assert_eq!(
        *registry.asked.lock().unwrap(),
        ["/v0.1/servers?search=files&limit=30&version=latest"]
    );
    for part in [
        "toolcrib mcp add files -- npx -y @acme/mcp-files@1.2.0",
        "toolcrib mcp add files-search --env 'API_KEY=…' -- uvx --from acme-files==0.4.0 acme-files",
        "toolcrib mcp add files-box -- docker run -i --rm ghcr.io/acme/files:2.0.1",
        "toolcrib mcp add files-web --url https://files.example/mcp --header 'Authorization: …'",
        "(deprecated)",
    ] {
        assert!(found.stdout.contains(part), "{part}: {found:?}");
    }
    for part in ["taken-back", "older", "evil.example", "\u{1b}"] {
        assert!(!found.stdout.contains(part), "{part}: {found:?}");
    }
    let rows = support::json(&search(&["--json"]).code(0).stdout);
    assert_eq!(rows[1]["required"], json!(["API_KEY"]), "{rows}");
    assert_eq!(registry.asked.lock().unwrap().len(), 1, "the answer is kept");
    // After an hour, the registry is contacted again; while it is unavailable, the older response
    // is shown.
    let folder = env.outside().join("home/state/mcp/registry");
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let old = SystemTime::now() - Duration::from_secs(2 * 3600);
    std::fs::File::options().append(true).open(file).unwrap().set_modified(old).unwrap();
    registry.down.store(true, Ordering::SeqCst);
    let stale = search(&[]).code(0).says(&["HTTP 503", "its answer of 2 h ago"]);
    assert_eq!(stale.stdout, found.stdout);
    assert_eq!(registry.asked.lock().unwrap().len(), 2);
}

/// A server from the registry is added like any other: disabled, and invisible to models until its
/// review.
#[test]
fn what_is_found_is_off_until_it_was_reviewed() {
    let env = TestEnv::new();
    let registry = registry();
    let line = ["mcp", "search", "files", "--registry", &registry.address, "--json"];
    let rows = support::json(&env.run(&line).code(0).stdout);
    assert_eq!(env.run(&["mcp", "list"]).code(0).stdout, "", "searching adds nothing");
    let web = rows.as_array().unwrap().iter().find(|row| row["name"] == "io.example/files-web");
    let words: Vec<String> = web.unwrap()["add"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap().to_owned())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    env.run(&[&["mcp", "add"], words.as_slice()].concat()).code(0).says(&["is added and off"]);
    let listed = support::json(&env.run(&["mcp", "list", "--json"]).code(0).stdout);
    assert_eq!(listed[0]["enabled"], false, "{listed}");
}

#[test]
fn something_else_than_a_registry_is_refused() {
    let env = TestEnv::new();
    let server = support::Server::start();
    let address = server.url("/").trim_end_matches('/').to_owned();
    env.run(&["mcp", "search", "x", "--registry", &address]).code(1);
    env.run(&["mcp", "search", "x", "--registry", "file:///etc"]).code(2);
}
