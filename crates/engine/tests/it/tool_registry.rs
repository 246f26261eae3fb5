//! Names, sources, switches.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{
    ConfigKey, Entry, ErrorType, OutcomeKind, ProviderSpec, Status, Tier, ViewRequest,
    entry::FixedSource,
};
use toolcrib_engine::{Engine, EngineSettings};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::support::{call, engine, failure};

fn tool(name: &str) -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new(name))
}

#[tokio::test]
async fn names_and_aliases_are_unique_and_a_source_loads_whole_or_not_at_all() {
    let engine = engine(Engine::builder(), &[&tool("first")]).await;
    let aliased = Arc::new(ScriptedTool::new("third").spec(|s| s.aliases = vec!["first".into()]));
    for clashing in [tool("first"), aliased] {
        let error =
            engine.catalog().attach(&fixed_source("other", &[&tool("second"), &clashing])).await;
        assert!(error.unwrap_err().message.contains("already has a tool"));
        assert_eq!(engine.catalog().infos().len(), 1);
    }
    let twice = engine.catalog().attach(&fixed_source("other", &[&tool("a"), &tool("a")])).await;
    assert!(twice.is_err());
}

#[tokio::test]
async fn broken_definitions_are_refused_in_clear_words() {
    let engine = engine(Engine::builder(), &[]).await;
    for (broken, words) in [
        (ScriptedTool::new("a").takes(json!({"type": "array"})), "object"),
        (
            ScriptedTool::new("a")
                .takes(json!({"type": "object", "properties": {"x": {"type": "text"}}})),
            "schema",
        ),
        (
            ScriptedTool::new("a").takes(json!({"$ref": "https://example.com/s.json"})),
            "not fetched",
        ),
        (ScriptedTool::new("a").spec(|s| s.spec_version = 99), "version 99"),
    ] {
        let error =
            engine.catalog().attach(&fixed_source("x", &[&Arc::new(broken)])).await.unwrap_err();
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_broken_tool_of_a_remote_source_is_a_row_and_the_others_work() {
    let engine = engine(Engine::builder(), &[&tool("first")]).await;
    let bad = Arc::new(ScriptedTool::new("bad").takes(json!({"type": "array"})));
    let tools = [&bad, &tool("good"), &tool("good"), &tool("first")];
    let source = fixed_source("far", &tools).remote();
    assert_eq!(engine.catalog().attach(&source).await.unwrap(), 4);
    let rows: Vec<(String, String)> = engine
        .catalog()
        .infos()
        .into_iter()
        .filter_map(|info| match info.status {
            Status::Error { reason } => Some((info.id.to_string(), reason)),
            _ => None,
        })
        .collect();
    for ((name, reason), (row, words)) in rows.iter().zip([
        ("bad", "type \"object\""),
        ("far__good", "\"far\" already has"),
        ("far__first", "\"test\" already has"),
    ]) {
        assert!(name == row && reason.contains(words), "{name}: {reason}");
    }
    assert_eq!(rows.len(), 3);
    for (name, outcome) in [("first", OutcomeKind::Succeeded), ("good", OutcomeKind::Succeeded)] {
        assert_eq!(call(&engine, name, json!({})).await.kind, outcome, "{name}");
    }
    let outcome = call(&engine, "bad", json!({})).await;
    let (_, kind, text) = failure(&outcome);
    assert_eq!(kind, ErrorType::ToolNotAvailable);
    assert!(text.contains("broken: input schema"), "{text}");
    assert_eq!(bad.runs(), 0);
}

#[tokio::test]
async fn sources_load_and_unload_and_several_engines_stand_side_by_side() {
    let a = engine(Engine::builder(), &[&tool("one")]).await;
    let b = engine(Engine::builder(), &[]).await;
    assert_eq!(b.catalog().infos().len(), 0);
    let generation = a.catalog().generation();
    a.catalog().attach(&fixed_source("more", &[&tool("two")])).await.unwrap();
    assert!(a.catalog().generation() > generation);
    assert_eq!(call(&a, "two", json!({})).await.kind, OutcomeKind::Succeeded);
    assert!(a.catalog().detach("more"));
    assert!(!a.catalog().detach("more"));
    assert_eq!(failure(&call(&a, "two", json!({})).await).1, ErrorType::ToolNotFound);
}

#[tokio::test]
async fn a_call_in_flight_finishes_on_the_entries_it_began_with() {
    let slow = Arc::new(ScriptedTool::new("slow").does(|_, _| {
        Box::pin(async {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            Ok(toolcrib_core::ToolOutput::text("old"))
        })
    }));
    let engine = engine(Engine::builder(), &[&slow]).await;
    let running = call(&engine, "slow", json!({}));
    tokio::pin!(running);
    assert!(futures_util::poll!(running.as_mut()).is_pending());
    engine.catalog().detach("test");
    assert_eq!(running.await.kind, OutcomeKind::Succeeded);
}

#[tokio::test]
async fn every_tool_is_listed_whether_enabled_or_not() {
    let mut settings = EngineSettings::default();
    settings
        .tools
        .entry("ready".into())
        .or_default()
        .config
        .insert("key".into(), "secret-value".into());
    let key = || {
        vec![ConfigKey {
            key: "key".into(),
            description: String::new(),
            secret: true,
            required: true,
        }]
    };
    let tools = [
        tool("plain"),
        Arc::new(ScriptedTool::new("off").spec(|s| s.default_enabled = false)),
        Arc::new(ScriptedTool::new("bare").spec(|s| s.config = key())),
        Arc::new(ScriptedTool::new("ready").spec(|s| s.config = key())),
        Arc::new(ScriptedTool::new("ruled").spec(|s| s.controlled_by = Some("memory".into()))),
    ];
    let engine = engine(Engine::builder().settings(settings), &tools.each_ref()).await;
    let infos = engine.catalog().infos();
    let status: Vec<(&str, &Status, bool)> =
        infos.iter().map(|i| (i.id.as_str(), &i.status, i.enabled)).collect();
    assert_eq!(
        status,
        [
            ("plain", &Status::System, true),
            ("off", &Status::Disabled, false),
            ("bare", &Status::Available { missing: vec!["key".into()] }, true),
            ("ready", &Status::Connected, true),
            ("ruled", &Status::System, true),
        ]
    );
    assert_eq!(infos[0].title_key, "tool.plain.title");
    assert_eq!(infos[0].title, "Plain");
}

#[tokio::test]
async fn the_owners_settings_switch_a_tool_by_any_of_its_names() {
    let aliased = Arc::new(ScriptedTool::new("get_time").spec(|s| s.aliases = vec!["now".into()]));
    let mut settings = EngineSettings::default();
    settings.tools.entry("now".into()).or_default().enabled = Some(false);
    let engine = engine(Engine::builder().settings(settings), &[&aliased]).await;
    assert_eq!(failure(&call(&engine, "get_time", json!({})).await).1, ErrorType::ToolDisabled);
    engine.catalog().set_enabled("get_time", true).unwrap();
    assert_eq!(call(&engine, "get_time", json!({})).await.kind, OutcomeKind::Succeeded);
}

#[tokio::test]
async fn switches_and_what_the_model_reads() {
    let tools = [
        tool("one"),
        Arc::new(ScriptedTool::new("ruled").spec(|s| s.controlled_by = Some("memory".into()))),
    ];
    let engine = engine(Engine::builder(), &tools.each_ref()).await;
    engine.catalog().set_enabled("one", false).unwrap();
    let off = call(&engine, "one", json!({})).await;
    let (kind, error_type, message) = failure(&off);
    assert_eq!((kind, error_type), (OutcomeKind::Denied, ErrorType::ToolDisabled));
    assert!(message.starts_with("Tool one is not available"), "{message}");
    engine.catalog().set_enabled("one", true).unwrap();

    let error = engine.catalog().set_enabled("ruled", false).unwrap_err();
    assert!(error.message.contains("\"memory\""), "{error}");
    engine.set_feature_enabled("memory", false);
    assert_eq!(failure(&call(&engine, "ruled", json!({})).await).1, ErrorType::ToolDisabled);
    assert!(engine.catalog().set_enabled("none", true).is_err());

    for (switch, restore) in [
        (
            Box::new(|| engine.set_source_enabled("test", false)) as Box<dyn Fn()>,
            Box::new(|| engine.set_source_enabled("test", true)) as Box<dyn Fn()>,
        ),
        (
            Box::new(|| engine.set_tier_enabled(Tier::FirstParty, false)),
            Box::new(|| engine.set_tier_enabled(Tier::FirstParty, true)),
        ),
        (
            Box::new(|| engine.catalog().set_tools_enabled(false)),
            Box::new(|| engine.catalog().set_tools_enabled(true)),
        ),
    ] {
        switch();
        let outcome = call(&engine, "one", json!({})).await;
        let (kind, error_type, message) = failure(&outcome);
        assert_eq!((kind, error_type), (OutcomeKind::Denied, ErrorType::ToolsDisabled));
        assert!(message.starts_with("Tools are disabled"), "{message}");
        restore();
        assert_eq!(call(&engine, "one", json!({})).await.kind, OutcomeKind::Succeeded);
    }
}

#[tokio::test]
async fn a_tool_that_is_not_configured_says_which_setting_is_missing() {
    let key = ConfigKey {
        key: "api_key".into(),
        description: String::new(),
        secret: true,
        required: true,
    };
    let tool = Arc::new(ScriptedTool::new("search").spec(|s| s.config = vec![key]));
    let engine = engine(Engine::builder(), &[&tool]).await;
    let outcome = call(&engine, "search", json!({})).await;
    let (_, error_type, message) = failure(&outcome);
    assert_eq!(error_type, ErrorType::NotConfigured);
    assert!(message.contains("api_key"), "{message}");
}

#[tokio::test]
async fn hosted_and_provider_defined_entries_exist_only_for_their_provider() {
    let patch = tool("apply_patch");
    let search = ScriptedTool::new("web_search");
    let declared = |kind: &str| {
        vec![ProviderSpec {
            provider: "openai-responses".into(),
            declaration: json!({"type": kind}),
            call_types: vec![],
        }]
    };
    let entries = vec![
        Entry::ProviderDefined {
            providers: declared("apply_patch"),
            handler: Arc::clone(&patch) as _,
        },
        Entry::Hosted {
            spec: Arc::clone(toolcrib_core::Handler::spec(&search)),
            providers: declared("web_search"),
        },
    ];
    let engine = Engine::builder().build();
    engine.catalog().attach(&FixedSource::new("openai", entries)).await.unwrap();
    assert!(engine.catalog().view(&Arc::default()).tools.is_empty());
    let mut request = ViewRequest::default();
    request.model.provider = "openai-responses".into();
    let request = Arc::new(request);
    assert_eq!(engine.catalog().view(&request).tools.len(), 2);
    let mut batch = toolcrib_core::Batch::new(
        toolcrib_core::Origin::Model,
        vec![toolcrib_core::Call::new("apply_patch", json!({}))],
    );
    batch.view = Arc::clone(&request);
    assert_eq!(crate::support::one(&engine, batch.clone()).await.kind, OutcomeKind::Succeeded);
    batch.calls = vec![toolcrib_core::Call::new("web_search", json!({}))];
    let hosted = crate::support::one(&engine, batch).await;
    assert_eq!(failure(&hosted).1, ErrorType::ToolNotAvailable);
    assert_eq!(search.runs(), 0);
}
