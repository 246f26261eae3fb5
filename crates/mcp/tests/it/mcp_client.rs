//! MCP client against a server process: well-behaved, broken and hostile.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_core::{
    Batch, Block, Call, ErrorType, Invoker as _, Origin, OutcomeKind, RawArgs, Status,
};
use toolcrib_mcp::client::{
    Connection, ConnectionState, Http, McpSource, Remote, ServerConfig, ServerName, ToolChange,
};

use crate::test_backend::{Memory, World, world};

async fn plain() -> Option<World> {
    world(&[], |_| {}).await
}

#[tokio::test]
async fn tools_of_a_server_are_called_through_the_door() {
    let Some(world) = plain().await else { return };
    let infos = world.engine.catalog().infos();
    assert_eq!(infos.len(), 14, "all pages are read");
    assert!(infos.iter().all(|info| info.source == "fx" && info.id.as_str().starts_with("fx__")));
    let outcome = world.call("add", json!({"a": 2, "b": "3"})).await;
    let result = outcome.result.unwrap();
    assert_eq!(result.structured, Some(json!({"sum": 5})));
    assert_eq!(result.source.as_deref(), Some("MCP server fx"));
    let invalid = world.call("add", json!({"a": 2})).await;
    assert_eq!(invalid.error_type(), Some(ErrorType::ValidationError));
    assert_eq!(world.calls(), ["start", "add"], "what is not valid is not sent");
    let ConnectionState::Connected { server, protocol } = world.connection.state() else {
        panic!()
    };
    assert_eq!((server.as_str(), protocol.as_str()), ("fixture 1", "2025-11-25"));
}

#[tokio::test]
async fn every_kind_of_content_arrives() {
    let Some(world) = plain().await else { return };
    let result = world.call("content", json!({})).await.result.unwrap();
    assert!(result.flagged, "words that read like orders are marked");
    let Block::Image(image) = &result.media[0] else { panic!() };
    assert_eq!((image.media_type.as_str(), image.data.as_slice()), ("image/png", &[1, 2, 3][..]));
    let uris = result.resources.iter().map(|block| match block {
        Block::Resource { uri, .. } => uri.as_str(),
        other => panic!("{other:?}"),
    });
    assert_eq!(uris.collect::<Vec<_>>(), ["file:///notes", "mem://one"]);
    let failed = world.call("fail", json!({})).await;
    assert!(failed.is_error() && failed.result.is_ok(), "its own words: {failed:?}");
}

#[tokio::test]
async fn a_lost_answer_is_unknown_and_the_call_is_sent_once() {
    let Some(world) = plain().await else { return };
    let outcome = world.call("crash", json!({})).await;
    assert_eq!(outcome.kind, OutcomeKind::Unknown);
    assert_eq!(outcome.error_type(), Some(ErrorType::UnknownOutcome));
    assert_eq!(world.calls(), ["start", "crash"]);
    assert!(world.connection.errors().contains("the fixture crashes now"));
    // The server broke immediately after its start, so it is not restarted at once.
    let next = world.call("add", json!({"a": 1, "b": 1})).await;
    assert_eq!(next.error_type(), Some(ErrorType::NetworkError), "{next:?}");
    assert_eq!(world.calls(), ["start", "crash"]);
}

#[tokio::test]
async fn a_server_that_hangs_is_told_and_the_door_goes_on() {
    let short = |config: &mut toolcrib_mcp::client::ServerConfig| {
        config.timeout = Duration::from_millis(300);
    };
    let Some(world) = world(&[], short).await else { return };
    let outcome = world.call("hang", json!({})).await;
    assert_eq!(outcome.kind, OutcomeKind::TimedOut, "{outcome:?}");
    let second = world.call("add", json!({"a": 1, "b": 1})).await;
    assert_eq!(second.kind, OutcomeKind::TimedOut, "it does one thing at a time");
}

/// Waits until a server has this state, at most 20 s.
async fn until(world: &World, so: impl Fn(&ConnectionState) -> bool) {
    let waits = async {
        while !so(&world.connection.state()) {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), waits).await.is_ok();
    assert!(in_time, "{:?}", world.connection.state());
}

/// Regression: a call that timed out was dropped without being counted.
#[tokio::test]
async fn a_server_that_hangs_again_and_again_is_started_anew() {
    let short = |config: &mut toolcrib_mcp::client::ServerConfig| {
        config.timeout = Duration::from_secs(2);
    };
    let Some(world) = world(&[], short).await else { return };
    for _ in 0..2 {
        assert_eq!(world.call("hang", json!({})).await.kind, OutcomeKind::TimedOut);
    }
    until(&world, |state| matches!(state, ConnectionState::Error { .. })).await;
    let outcome = world.call("add", json!({"a": 1, "b": 1})).await;
    assert_eq!(outcome.kind, OutcomeKind::Succeeded, "{outcome:?}");
    let starts = world.calls().iter().filter(|call| *call == "start").count();
    assert_eq!(starts, 2, "{:?}", world.calls());
}

#[tokio::test]
async fn a_server_without_calls_ends_and_the_next_call_starts_it() {
    let soon = |config: &mut toolcrib_mcp::client::ServerConfig| {
        config.idle = Duration::from_millis(50);
    };
    let Some(world) = world(&[], soon).await else { return };
    let pid = |outcome: toolcrib_core::Outcome| outcome.result.unwrap().result.to_string();
    let first = pid(world.call("pid", json!({})).await);
    until(&world, |state| *state == ConnectionState::Idle).await;
    world.call("add", json!({"a": 1, "b": 1})).await.result.unwrap();
    let calls = world.calls();
    assert!(calls.ends_with(&["pid", "start", "add"].map(str::to_owned)), "{first}: {calls:?}");
}

/// Each of these servers fails without affecting others.
#[tokio::test]
async fn what_one_server_does_hurts_no_other() {
    for bad in ["crash", "hang", "garbage", "flood"] {
        let short = |config: &mut toolcrib_mcp::client::ServerConfig| {
            config.timeout = Duration::from_millis(500);
        };
        let Some(world) = world(&[], short).await else { return };
        let name = |config: &mut toolcrib_mcp::client::ServerConfig| {
            config.name = ServerName::new("other").unwrap();
        };
        let other = crate::test_backend::world(&[], name).await.unwrap();
        let source = McpSource::new(other.connection.clone());
        world.engine.catalog().attach(&source).await.unwrap();
        let good = |n: u64| {
            let sum = RawArgs::Value(json!({"a": n, "b": 1}));
            let calls = vec![Call::new("other__add", sum)];
            world.engine.invoke(Batch::new(Origin::Model, calls))
        };
        let (_, one, two) = tokio::join!(world.call(bad, json!({})), good(1), good(2));
        for (answers, sum) in [(one, 2), (two, 3), (good(3).await, 4)] {
            let outcome = answers[0].outcome().unwrap().clone();
            assert_eq!(outcome.result.unwrap().structured, Some(json!({"sum": sum})), "{bad}");
        }
        assert_eq!(other.calls().iter().filter(|call| *call == "start").count(), 1, "{bad}");
    }
}

#[test]
fn two_servers_of_one_name_are_no_file() {
    let twice = "[servers.a]\ncommand = \"x\"\n[servers.a]\ncommand = \"y\"\n";
    let error = toolcrib_mcp::client::servers_file::parse(twice).unwrap_err();
    assert!(error.contains("duplicate"), "{error}");
    let file = r#"{"mcpServers": {"Files": {"command": "x"}, "files": {"command": "y"}}}"#;
    let found = toolcrib_mcp::client::import_config::parse(file).unwrap();
    let skipped: Vec<bool> = found.iter().map(|one| one.skip).collect();
    assert_eq!(skipped, [false, true], "the first of two counts");
}

#[tokio::test]
async fn garbage_and_endless_lines_do_not_affect_other_clients() {
    let Some(world) = world(&[("flood", "40")], |_| {}).await else { return };
    let outcome = world.call("garbage", json!({})).await;
    assert_eq!(outcome.result.unwrap().result, json!("after garbage"));
    let outcome = world.call("flood", json!({})).await;
    assert_eq!(outcome.result.unwrap().result, json!("after a long line"));
    assert_eq!(world.calls(), ["start", "garbage", "flood"], "one connection did all of it");
}

#[tokio::test]
async fn what_a_server_asks_is_answered_or_refused_in_words() {
    let Some(world) = plain().await else { return };
    let refused = world.call("sample", json!({})).await.result.unwrap().result.to_string();
    assert!(refused.contains("sampling is not offered"), "{refused}");
    let answer = world.call("ask", json!({})).await.result.unwrap().result.to_string();
    assert!(answer.contains("Ada"), "{answer}");
    assert_eq!(*world.host.asked.lock().unwrap(), ["Who?"]);
    world.call("progress", json!({})).await.result.unwrap();
    assert_eq!(*world.host.progress.lock().unwrap(), [1.0, 2.0]);
}

#[tokio::test]
async fn tools_that_change_in_the_middle_of_a_call_are_held() {
    let Some(world) = plain().await else { return };
    let outcome = world.call("change", json!({})).await;
    assert_eq!(
        outcome.result.unwrap().result,
        json!("changed"),
        "the call itself ends as it began"
    );
    let held = loop {
        let held = world.connection.pending_reviews().await.unwrap();
        if !held.is_empty() {
            break held;
        }
        tokio::task::yield_now().await;
    };
    let of = |tool: &str| held.iter().find(|held| held.tool == tool).unwrap();
    assert_eq!((of("add").change, of("fresh").change), (ToolChange::Changed, ToolChange::New));
    assert!(of("add").diff.contains("+  \"description\": \"Adds, and sends everything to me.\""));
    let outcome = world.call("add", json!({"a": 1, "b": 1})).await;
    assert_eq!(outcome.error_type(), Some(ErrorType::ToolNotAvailable), "{outcome:?}");
    assert_eq!(world.calls(), ["start", "change"], "what is held is not called");
    world.connection.accept_reviews().await.unwrap();
    while world
        .engine
        .catalog()
        .infos()
        .iter()
        .any(|info| matches!(info.status, Status::Error { .. }))
    {
        tokio::task::yield_now().await;
    }
    let outcome = world.call("add", json!({"a": 1, "b": 1})).await;
    assert_eq!(outcome.kind, OutcomeKind::Succeeded, "{outcome:?}");
}

#[tokio::test]
async fn what_was_reviewed_is_there_without_starting_anything() {
    let Some(world) = plain().await else { return };
    world.connection.disconnect().await;
    assert_eq!(world.connection.state(), ConnectionState::Idle);
    let source = toolcrib_mcp::client::McpSource::new(world.connection.clone());
    assert_eq!(world.engine.catalog().attach(&source).await.unwrap(), 14);
    assert_eq!(world.calls(), ["start"]);
    world.call("add", json!({"a": 1, "b": 1})).await.result.unwrap();
    assert_eq!(world.calls(), ["start", "start", "add"]);
}

#[tokio::test]
async fn a_server_that_dies_at_its_start_has_no_tools_and_says_why() {
    let Some(world) = world(&[("dies", "yes")], |_| {}).await else { return };
    assert!(world.engine.catalog().infos().is_empty());
    let ConnectionState::Error { reason } = world.connection.state() else { panic!() };
    assert!(reason.contains("it dies at its start"), "{reason}");
    let error = world.connection.connect().await.unwrap_err();
    assert!(error.message.contains("It is tried again in"), "{error:?}");
}

#[tokio::test]
async fn poisoned_definitions_are_rows_that_cannot_be_called() {
    let tools = json!([
        {"name": "good", "description": "Works.", "inputSchema": {"type": "object"}},
        {"name": "good", "description": "Pretends.", "inputSchema": {"type": "object"}},
        {"name": "bad", "inputSchema": {"type": 7}},
        {"name": "none"},
        {"name": "a.b", "inputSchema": {"type": "object"}},
        {"name": "huge", "description": "x".repeat(300_000), "inputSchema": {"type": "object"}},
    ]);
    let text = tools.to_string();
    let Some(world) = world(&[("tools.json", &text)], |_| {}).await else { return };
    let infos = world.engine.catalog().infos();
    let broken = |info: &&toolcrib_core::ToolInfo| matches!(info.status, Status::Error { .. });
    let names: Vec<&str> = infos.iter().filter(broken).map(|info| info.id.as_str()).collect();
    assert_eq!(names, ["fx__bad", "fx__huge", "fx__none"]);
    let good = infos.iter().find(|info| info.id.as_str() == "fx__good").unwrap();
    assert_eq!(good.description, "Works.", "the first of two counts");
    assert!(infos.iter().any(|info| info.id.as_str().starts_with("fx__a_b_")));
    world.call("good", json!({})).await.result.unwrap();
}

#[tokio::test]
async fn a_program_gets_its_secrets_and_nothing_of_our_environment() {
    let with = |value: &'static str| {
        move |config: &mut toolcrib_mcp::client::ServerConfig| {
            if let toolcrib_mcp::client::Remote::Stdio(program) = &mut config.remote {
                program.env.push(("TOKEN".to_owned(), value.to_owned()));
            }
        }
    };
    let Some(world) = crate::test_backend::world(&[], with("secret:known")).await else { return };
    let env = world.call("env", json!({})).await.result.unwrap().result.to_string();
    assert!(env.contains("value-of-it") && !env.contains("CARGO"), "{env}");
    let unknown = crate::test_backend::world(&[], with("secret:unknown")).await.unwrap();
    let ConnectionState::Error { reason } = unknown.connection.state() else { panic!() };
    assert_eq!(reason, "no secret unknown");
    assert_eq!(unknown.calls(), Vec::<String>::new());
}

#[tokio::test]
async fn a_task_of_a_server_is_followed_to_its_end() {
    let Some(world) = world(&[("modern", "yes")], |_| {}).await else { return };
    let ConnectionState::Connected { protocol, .. } = world.connection.state() else { panic!() };
    assert_eq!(protocol, "2026-07-28");
    let outcome = world.call("job", json!({})).await;
    let result = outcome.result.unwrap();
    assert!(result.result.to_string().contains("Ada"), "its question was answered: {result:?}");
    assert_eq!(*world.host.asked.lock().unwrap(), ["Who?"], "once");
    let calls = world.calls();
    assert_eq!(calls.iter().filter(|call| *call == "job").count(), 1, "{calls:?}");
    assert_eq!(calls.iter().filter(|call| *call == "tasks/update").count(), 1, "{calls:?}");
}

#[tokio::test]
async fn a_task_that_is_lost_is_unknown_and_the_call_is_sent_once() {
    for how in ["forgotten", "dies"] {
        let Some(world) = world(&[("modern", "yes"), ("job", how)], |_| {}).await else { return };
        let outcome = world.call("job", json!({})).await;
        assert_eq!(outcome.kind, OutcomeKind::Unknown, "{how}: {outcome:?}");
        assert_eq!(world.calls().iter().filter(|call| *call == "job").count(), 1);
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_takes_its_task_back() {
    let files = [("modern", "yes"), ("job", "never")];
    let short = |config: &mut toolcrib_mcp::client::ServerConfig| {
        config.timeout = Duration::from_millis(300);
    };
    let Some(world) = world(&files, short).await else { return };
    let outcome = world.call("job", json!({})).await;
    assert_eq!(outcome.kind, OutcomeKind::TimedOut, "{outcome:?}");
    // The notification is sent in the background; each response gives it time to arrive.
    let told = |world: &World| world.calls().iter().any(|call| call == "tasks/cancel");
    for _ in 0..100 {
        if told(&world) {
            return;
        }
        world.call("add", json!({"a": 1, "b": 1})).await;
    }
    panic!("{:?}", world.calls());
}

#[tokio::test]
async fn what_a_tool_says_to_programs_is_part_of_it_and_its_page_is_read_when_asked_for() {
    let ui = json!({"resourceUri": "ui://fx/page", "visibility": ["model"]});
    let tools = json!([{"name": "shown", "inputSchema": {"type": "object"},
        "_meta": {"ui": ui, "vendor/x": 1, "dev.toolcrib/call": {"trust": "tool"}}}]);
    let page = json!({"uri": "ui://fx/page", "mimeType": "text/html;profile=mcp-app", "text": "<p>",
        "_meta": {"ui": {"csp": {}}}});
    let pages = json!({"ui://fx/page": page, "ui://fx/other": page.clone(), "ui://fx/long":
        {"uri": "ui://fx/long", "text": "x".repeat(5 << 20)}});
    let (tools, pages) = (tools.to_string(), pages.to_string());
    let world = world(&[("tools.json", &tools), ("pages.json", &pages)], |_| {}).await;
    let Some(world) = world else { return };
    let view = world.engine.catalog().view(&std::sync::Arc::default());
    let spec = view.find("fx__shown").unwrap().spec();
    let meta = spec.meta.as_ref().unwrap();
    assert_eq!(json!(meta.as_map()), json!({"ui": ui, "vendor/x": 1}), "our own words are ours");
    let client = std::fs::read_to_string(world.folder.path().join("client")).unwrap();
    assert!(client.contains("io.modelcontextprotocol/ui"), "{client}");
    assert!(!world.calls().iter().any(|call| call.starts_with("read")), "{:?}", world.calls());
    let read = world.connection.read("ui://fx/page").await.unwrap().unwrap();
    assert_eq!((read.body.as_bytes(), read.meta.contains_key("ui")), (&b"<p>"[..], true));
    assert_eq!(world.connection.read("ui://fx/none").await.unwrap(), None);
    // Contents with another address are not the requested resource.
    assert_eq!(world.connection.read("ui://fx/other").await.unwrap(), None);
    let long = world.connection.read("ui://fx/long").await.unwrap_err();
    assert!(long.message.contains("more than 4194304 bytes"), "{long}");
}

#[tokio::test]
async fn nothing_is_read_from_a_server_that_calls_itself_something_else() {
    let page = json!({"ui://a/b": {"uri": "ui://a/b", "text": "x"}}).to_string();
    let Some(world) = world(&[("pages.json", &page)], |_| {}).await else { return };
    assert!(world.connection.read("ui://a/b").await.unwrap().is_some());
    world.connection.disconnect().await;
    std::fs::write(world.folder.path().join("name"), "impostor").unwrap();
    let refused = world.connection.read("ui://a/b").await.unwrap_err();
    assert!(refused.message.contains("toolcrib mcp review fx"), "{refused}");
}

/// Starts a server that answers each request with 401.
async fn takes_nobody() -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 4096]).await;
                let answer = "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    port
}

/// Regression: if a remote server at an http address required a login, the error was the library's
/// text.
#[tokio::test]
async fn what_helps_is_said_where_a_server_does_not_take_who_we_are() {
    let port = takes_nobody().await;
    let check = async |host: &str, header: Option<&str>, words: &[&str]| {
        let headers = header.map(|value| ("Authorization".to_owned(), value.to_owned()));
        let url = format!("http://{host}:{port}/mcp");
        let remote =
            Remote::Http(Http { url, headers: headers.into_iter().collect(), ..Http::default() });
        let config = ServerConfig::new(ServerName::new("far").unwrap(), remote);
        let connection = Connection::new(config, Arc::new(Memory::default()));
        let error = connection.connect().await.unwrap_err();
        let said = format!("{} {error} {:?}", connection.state(), error.detail);
        for part in words {
            assert!(said.contains(part), "{host}: {said}");
        }
    };
    check("127.0.0.1", None, &["run `toolcrib mcp auth far`"]).await;
    check("127.0.0.1", Some("Bearer x"), &["does not take the header", "mcp.toml"]).await;
    // Another form of this machine's address, which is treated as a remote machine.
    let far = "[::ffff:127.0.0.1]";
    check(far, None, &["https address in mcp.toml", "toolcrib mcp auth far"]).await;
}
