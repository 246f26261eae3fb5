//! Views: the tools that each caller sees, and the reason for every excluded tool.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{
    Batch, Call, ErrorType, Exclusion, ModelCapabilities, Origin, OutcomeKind, ViewRequest,
};
use toolcrib_engine::Engine;
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::support::{engine, failure, one};

fn tools() -> [Arc<ScriptedTool>; 4] {
    [
        Arc::new(ScriptedTool::new("read_file").spec(|s| s.group = Some("files".into()))),
        Arc::new(ScriptedTool::new("read_files").spec(|s| s.group = Some("files".into()))),
        Arc::new(ScriptedTool::new("get_time").spec(|s| s.aliases = vec!["now".into()])),
        Arc::new(ScriptedTool::new("innate").spec(|s| s.tier = toolcrib_core::Tier::Innate)),
    ]
}

fn agent(items: &[&str]) -> ViewRequest {
    ViewRequest {
        agent: Some(items.iter().map(ToString::to_string).collect()),
        ..ViewRequest::default()
    }
}

async fn seen(engine: &Engine, request: ViewRequest) -> Vec<String> {
    let view = engine.catalog().view(&Arc::new(request));
    view.tools.iter().map(|entry| entry.spec().name.to_string()).collect()
}

#[tokio::test]
async fn lists_name_exactly_what_they_say() {
    let engine = engine(Engine::builder(), &tools().each_ref()).await;
    engine
        .catalog()
        .attach(&fixed_source("git", &[&Arc::new(ScriptedTool::new("git__push"))]))
        .await
        .unwrap();
    for (items, expected) in [
        (&["read_file"][..], &["read_file"][..]),
        (&["read"], &[]),
        (&["group:files"], &["read_file", "read_files"]),
        (&["now"], &["get_time"]),
        (&["read_*"], &["read_file", "read_files"]),
        (&["git"], &["git__push"]),
        (&["server:git"], &["git__push"]),
        (&["gi"], &[]),
        (&["*"], &["innate", "read_file", "read_files", "get_time", "git__push"]),
        (&[], &[]),
    ] {
        assert_eq!(seen(&engine, agent(items)).await, expected, "{items:?}");
    }
}

#[tokio::test]
async fn skills_narrow_and_an_empty_list_of_a_skill_is_no_limit() {
    let engine = engine(Engine::builder(), &tools().each_ref()).await;
    let skill = |items: &[&str]| ViewRequest {
        skill: Some(items.iter().map(ToString::to_string).collect()),
        ..agent(&["read_file", "get_time"])
    };
    assert_eq!(seen(&engine, skill(&["get_time", "innate"])).await, ["get_time"]);
    assert_eq!(seen(&engine, skill(&[])).await, ["read_file", "get_time"]);
    let small = ModelCapabilities { provider: String::new(), allow: Some(vec!["innate".into()]) };
    assert_eq!(
        seen(&engine, ViewRequest { model: small, ..ViewRequest::default() }).await,
        ["innate"]
    );
}

#[tokio::test]
async fn every_exclusion_has_its_reason() {
    let engine = engine(Engine::builder(), &tools().each_ref()).await;
    engine.catalog().set_enabled("get_time", false).unwrap();
    let view = engine.catalog().view(&Arc::new(agent(&["read_file", "get_time"])));
    let reasons: Vec<(&str, &Exclusion)> =
        view.excluded.iter().map(|e| (e.name.as_str(), &e.reason)).collect();
    assert_eq!(
        reasons,
        [
            ("read_files", &Exclusion::Agent),
            ("get_time", &Exclusion::Disabled),
            ("innate", &Exclusion::Agent)
        ]
    );
}

#[tokio::test]
async fn the_view_is_enforced_and_near_names_come_from_it_only() {
    let tools = tools();
    let engine = engine(Engine::builder(), &tools.each_ref()).await;
    let ask = |name: &str| Batch {
        view: Arc::new(agent(&["read_file"])),
        ..Batch::new(Origin::Model, vec![Call::new(name, json!({}))])
    };
    let hidden = one(&engine, ask("read_files")).await;
    let (kind, error_type, message) = failure(&hidden);
    assert_eq!((kind, error_type), (OutcomeKind::Denied, ErrorType::ToolNotAvailable));
    assert!(message.starts_with("Tool read_files is not available"), "{message}");
    let unknown = one(&engine, ask("read_flies")).await;
    let (_, error_type, message) = failure(&unknown);
    assert_eq!(error_type, ErrorType::ToolNotFound);
    assert_eq!(message, "Tool read_flies is not available. Did you mean read_file?");
    assert_eq!(
        one(&engine, ask("now")).await.kind,
        OutcomeKind::Denied,
        "an alias is no way round"
    );
    assert!(tools.iter().all(|tool| tool.runs() == 0));
}

#[tokio::test]
async fn remote_spellings_mean_one_tool() {
    let tool = Arc::new(ScriptedTool::new("git__push"));
    let engine = engine(Engine::builder(), &[&tool]).await;
    for name in ["git__push", "mcp__git__push", "mcp:git.push"] {
        let outcome =
            one(&engine, Batch::new(Origin::Model, vec![Call::new(name, json!({}))])).await;
        assert_eq!(outcome.kind, OutcomeKind::Succeeded, "{name}");
    }
    assert_eq!(tool.runs(), 3);
}
