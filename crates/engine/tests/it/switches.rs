//! Switches through the pipeline: off, ask and on, of tools and groups; the kill switch inside and
//! outside the process.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolcrib_core::{
    Access, Assessment, BoxFuture, Decider, Effect, ErrorType, Exclusion, KillSwitch, OutcomeKind,
    ReasonKind, StoreError, Switch, SwitchState, SwitchStore, Tier, ToolError, ToolOutput,
    ToolSpec, Verdict, ViewRequest,
};
use toolcrib_engine::rules::RuleSet;
use toolcrib_engine::store::MemorySwitches;
use toolcrib_engine::{Engine, EngineSettings, Preset, SWITCH_CACHE_TTL, SwitchTarget};
use toolcrib_testkit::{ScriptedApprover, ScriptedTool, fixed_source};

use crate::rules_suite::written;
use crate::support::{call, engine, failure};

use SwitchState::{Ask, Off, On};

fn tool(name: &str) -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new(name))
}

fn in_group(name: &str, group: &str) -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new(name).spec(|s| s.group = Some(group.into())))
}

/// State and own state of every tool.
fn states(engine: &Engine) -> Vec<(String, SwitchState, SwitchState)> {
    let infos = engine.catalog().infos();
    infos.iter().map(|i| (i.id.to_string(), i.state, i.own_state)).collect()
}

#[tokio::test]
async fn a_switch_that_asks_asks_about_every_call_in_its_own_words() {
    let check = async |switched: &str, preset: Preset, rule: bool, words: &str| {
        let approver = Arc::new(ScriptedApprover::approving(2));
        let settings = EngineSettings { preset, ..EngineSettings::default() };
        let mut builder = Engine::builder().settings(settings).approver(Arc::clone(&approver) as _);
        if rule {
            let rules = RuleSet::compile(vec![written(Verdict::Allow, "peek")]).unwrap();
            builder = builder.rules(rules);
        }
        let engine = engine(builder, &[&in_group("peek", "files"), &tool("other")]).await;
        engine.set_switch(&SwitchTarget::parse(switched).unwrap(), Some(Ask)).unwrap();
        for asked in [1, 2] {
            let outcome = call(&engine, "peek", json!({})).await;
            let ruling = outcome.report.ruling.clone().unwrap();
            assert_eq!(outcome.kind, OutcomeKind::Succeeded, "{switched} {preset}");
            assert_eq!(approver.asked().len(), asked);
            assert_eq!((ruling.verdict, ruling.by), (Verdict::Ask, Decider::Switch));
            assert_eq!(ruling.reason, words);
        }
        let reasons = &approver.asked()[0].reasons;
        assert_eq!((reasons[0].kind, reasons[0].text.as_str()), (ReasonKind::Risk, words));
        assert_eq!(call(&engine, "other", json!({})).await.kind, OutcomeKind::Succeeded);
        assert_eq!(approver.asked().len(), 2, "nobody is asked about others");
    };
    let own = "a switch asks about every call of peek";
    let group = "a switch asks about every call of the group \"files\", which peek is in";
    for preset in [Preset::Auto, Preset::AskRisky] {
        check("tool:peek", preset, false, own).await;
        check("tool:peek", preset, true, own).await;
        check("group:files", preset, true, group).await;
    }
}

#[tokio::test]
async fn nothing_is_asked_while_tools_are_locked_so_it_is_denied() {
    let settings = EngineSettings { preset: Preset::Locked, ..EngineSettings::default() };
    let peek = tool("peek");
    let engine = engine(Engine::builder().settings(settings), &[&peek]).await;
    assert_eq!(call(&engine, "peek", json!({})).await.kind, OutcomeKind::Succeeded);
    engine.catalog().set_tool_state("peek", Ask).unwrap();
    let outcome = call(&engine, "peek", json!({})).await;
    assert!(failure(&outcome).2.contains("a switch asks about every call of peek"));
    assert_eq!(peek.runs(), 1);
}

#[tokio::test]
async fn a_switch_that_is_on_takes_nothing_back_that_the_settings_say() {
    let mut settings = EngineSettings::default();
    settings.tools.entry("asks".into()).or_default().ask = Some(true);
    settings.tools.entry("never".into()).or_default().off_for_good = true;
    let approver = Arc::new(ScriptedApprover::approving(1));
    let store = Arc::new(MemorySwitches::default());
    let builder = Engine::builder().settings(settings).approver(Arc::clone(&approver) as _);
    let builder = builder.switches(Arc::clone(&store) as _, "");
    let engine = engine(builder, &[&tool("asks"), &tool("never")]).await;
    engine.set_switch(&SwitchTarget::Tool("asks".into()), Some(On)).unwrap();
    let state = |name: &str, state| (name.to_owned(), state, state);
    assert_eq!(states(&engine), [state("asks", Ask), state("never", Off)]);
    let outcome = call(&engine, "asks", json!({})).await;
    assert_eq!(outcome.report.ruling.unwrap().by, Decider::Tool);
    assert_eq!(approver.asked().len(), 1);
    for wanted in [Ask, On] {
        let error = engine.catalog().set_tool_state("never", wanted).unwrap_err();
        assert_eq!(error.error_type, ErrorType::ToolDisabled);
    }
    is_news(&engine, &store, &[(SwitchTarget::Tool("never".into()), On)]).await;
    let outcome = call(&engine, "never", json!({})).await;
    assert_eq!(failure(&outcome).1, ErrorType::ToolDisabled);
}

/// Switching a group off and on again restores the state of each of its tools.
#[tokio::test]
async fn a_group_a_source_a_tier_and_a_feature_come_back_with_each_tool_as_it_was() {
    let named = ["on", "asks", "off", "shipped_off", "outside"];
    let tools = named.map(|name| {
        let tool = ScriptedTool::new(name);
        Arc::new(match name {
            "outside" => tool,
            "shipped_off" => {
                tool.spec(|s| (s.group, s.default_enabled) = (Some("g".into()), false))
            }
            _ => tool.spec(|s| s.group = Some("g".into())),
        })
    });
    let engine = engine(Engine::builder(), &tools.each_ref()).await;
    engine.catalog().set_tool_state("asks", Ask).unwrap();
    engine.catalog().set_tool_state("off", Off).unwrap();
    let before = states(&engine);
    let own: Vec<SwitchState> = before.iter().map(|(_, _, own)| *own).collect();
    assert_eq!(own, [On, Ask, Off, Off, On]);
    assert!(before.iter().all(|(_, state, own)| state == own));
    for (above, all) in
        [("group:g", false), ("source:test", true), ("tier:first_party", true), ("tools", true)]
    {
        let above = SwitchTarget::parse(above).unwrap();
        engine.set_switch(&above, Some(Off)).unwrap();
        for name in named.iter().filter(|name| all || **name != "outside") {
            let outcome = call(&engine, name, json!({})).await;
            assert_eq!(outcome.kind, OutcomeKind::Denied, "{name}");
        }
        let now = states(&engine);
        let kept: Vec<SwitchState> = now.iter().map(|(_, _, own)| *own).collect();
        assert_eq!(kept, own, "{above:?}");
        if above != SwitchTarget::Everything {
            assert!(now.iter().take(4).all(|(_, state, _)| *state == Off), "{above:?}");
        }
        engine.set_switch(&above, Some(On)).unwrap();
        assert_eq!(states(&engine), before, "{above:?}");
        // A tool that is switched meanwhile keeps the state that was set.
        engine.set_switch(&above, Some(Off)).unwrap();
        engine.catalog().set_tool_state("on", Ask).unwrap();
        engine.set_switch(&above, None).unwrap();
        assert_eq!(states(&engine)[0], ("on".into(), Ask, Ask));
        engine.catalog().set_tool_state("on", On).unwrap();
    }
}

#[tokio::test]
async fn a_group_that_asks_asks_about_what_is_on_and_wakes_nothing() {
    let tools = [in_group("on", "g"), in_group("off", "g")];
    let engine = engine(Engine::builder(), &tools.each_ref()).await;
    engine.catalog().set_enabled("off", false).unwrap();
    engine.set_group_state("g", Ask);
    assert_eq!(states(&engine), [("on".into(), Ask, On), ("off".into(), Off, Off)]);
    engine.set_group_state("g", On);
    assert_eq!(states(&engine), [("on".into(), On, On), ("off".into(), Off, Off)]);
}

#[tokio::test]
async fn a_group_that_is_off_is_the_reason() {
    let engine = engine(Engine::builder(), &[&in_group("peek", "files")]).await;
    engine.set_group_state("files", Off);
    let view = engine.catalog().view(&Arc::new(ViewRequest::default()));
    assert_eq!(view.excluded[0].reason, Exclusion::GroupOff { group: "files".into() });
    let outcome = call(&engine, "peek", json!({})).await;
    let (kind, error_type, message) = failure(&outcome);
    assert_eq!((kind, error_type), (OutcomeKind::Denied, ErrorType::ToolDisabled));
    assert!(message.contains("the group \"files\" is switched off"), "{message}");
    assert!(message.contains("switched on in the settings"), "{message}");
}

#[tokio::test]
async fn only_tools_and_groups_are_asked_about() {
    let store = Arc::new(MemorySwitches::default());
    let builder = Engine::builder().switches(Arc::clone(&store) as _, "");
    let engine = engine(builder, &[&tool("one")]).await;
    for name in ["tools", "source:test", "tier:first_party", "feature:x"] {
        let error = engine.set_switch(&SwitchTarget::parse(name).unwrap(), Some(Ask)).unwrap_err();
        assert_eq!(error.error_type, ErrorType::ValidationError, "{name}");
        assert!(error.message.contains(name), "{}", error.message);
    }
    assert_eq!(call(&engine, "one", json!({})).await.kind, OutcomeKind::Succeeded);
    // A row with such a state counts as off.
    assert!(is_news(&engine, &store, &[(SwitchTarget::Source("test".into()), Ask)]).await);
    assert_eq!(call(&engine, "one", json!({})).await.kind, OutcomeKind::Denied);
}

/// Replaces the stored switches by these; returns whether that changes the engine's switches.
async fn is_news(
    engine: &Engine,
    store: &MemorySwitches,
    rows: &[(SwitchTarget, SwitchState)],
) -> bool {
    for old in store.switches("").await.unwrap() {
        store.unset_switch("", &old.name, "ann", 1).await.unwrap();
    }
    for (switched, state) in rows {
        let (owner, name, by) = (String::new(), switched.name(), "ann".into());
        store.set_switch(Switch { owner, name, state: *state, by, at: 1 }).await.unwrap();
    }
    engine.refresh_switches().await.unwrap()
}

#[tokio::test]
async fn all_switches_at_once_replace_all_before_and_say_whether_anything_changed() {
    let mut settings = EngineSettings::default();
    settings.features_off.insert("memory".into());
    let ruled =
        Arc::new(ScriptedTool::new("ruled").spec(|s| s.controlled_by = Some("memory".into())));
    let store = Arc::new(MemorySwitches::default());
    let builder = Engine::builder().settings(settings).switches(Arc::clone(&store) as _, "");
    let engine = engine(builder, &[&tool("one"), &ruled]).await;
    let generation = || engine.catalog().generation();
    let rows = [
        (SwitchTarget::Tool("one".into()), Ask),
        (SwitchTarget::Tool("later".into()), Off),
        // The tool has no separate switch.
        (SwitchTarget::Tool("ruled".into()), On),
        (SwitchTarget::Feature("memory".into()), On),
    ];
    assert!(is_news(&engine, &store, &rows).await);
    let before = generation();
    assert!(!is_news(&engine, &store, &rows).await);
    assert_eq!(generation(), before, "views are kept where nothing changed");
    assert_eq!(states(&engine), [("one".into(), Ask, Ask), ("ruled".into(), On, On)]);
    // A tool that is loaded later has the switched state.
    engine.catalog().attach(&fixed_source("more", &[&tool("later")])).await.unwrap();
    assert_eq!(failure(&call(&engine, "later", json!({})).await).1, ErrorType::ToolDisabled);
    engine.set_tier_enabled(Tier::FirstParty, false);
    assert!(is_news(&engine, &store, &[]).await);
    let state = |name: &str, state| (name.to_owned(), state, On);
    assert_eq!(states(&engine), [state("one", On), state("ruled", Off), state("later", On)]);
}

/// A kill switch that is engaged by hand, or automatically at a given check.
#[derive(Default)]
struct Handbrake {
    on: AtomicBool,
    looks: AtomicUsize,
    pulled_at: AtomicUsize,
}

impl KillSwitch for Handbrake {
    fn is_engaged(&self) -> bool {
        let looks = self.looks.fetch_add(1, Ordering::SeqCst) + 1;
        looks == self.pulled_at.load(Ordering::SeqCst) || self.on.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn the_brake_is_asked_when_a_call_comes_and_again_before_it_is_recorded() {
    let brake = Arc::new(Handbrake::default());
    let one = tool("one");
    let write = Arc::new(ScriptedTool::new("write").spec(|s| s.effect = Effect::SideEffect));
    let engine =
        engine(Engine::builder().kill_switch(Arc::clone(&brake) as _), &[&one, &write]).await;
    assert_eq!(call(&engine, "one", json!({})).await.kind, OutcomeKind::Succeeded);
    assert_eq!(brake.looks.load(Ordering::SeqCst), 2);
    // Stage 1, then stage 11 of the next call.
    for (look, stages) in [(1, 2), (2, 12)] {
        brake.looks.store(0, Ordering::SeqCst);
        brake.pulled_at.store(look, Ordering::SeqCst);
        let outcome = call(&engine, "one", json!({})).await;
        let (kind, error_type, message) = failure(&outcome);
        assert_eq!((kind, error_type), (OutcomeKind::Denied, ErrorType::ToolsDisabled));
        assert_eq!(message, "Tools are disabled. Answer without calling tools.");
        let passed = outcome.report.stages.len();
        assert_eq!(passed, stages + 1, "look {look}: the stages before, and the record");
    }
    assert_eq!(one.runs(), 1);
    // A call that changes something checks the kill switch again after its record is written, which
    // may have taken long.
    brake.looks.store(0, Ordering::SeqCst);
    brake.pulled_at.store(3, Ordering::SeqCst);
    let outcome = call(&engine, "write", json!({})).await;
    assert_eq!(failure(&outcome).1, ErrorType::ToolsDisabled);
    assert_eq!((write.runs(), brake.looks.load(Ordering::SeqCst)), (0, 3));
    let stored = engine.calls().call(outcome.call).await.unwrap().unwrap();
    let end = stored.row.end.unwrap();
    assert_eq!((end.outcome, end.attempts), (OutcomeKind::Denied, 0));
    brake.pulled_at.store(0, Ordering::SeqCst);
    brake.on.store(true, Ordering::SeqCst);
    assert!(!engine.tools_enabled());
    brake.on.store(false, Ordering::SeqCst);
    engine.set_switch(&SwitchTarget::Everything, Some(Off)).unwrap();
    assert!(!engine.tools_enabled(), "either of them is enough");
    engine.set_switch(&SwitchTarget::Everything, Some(On)).unwrap();
    assert!(engine.tools_enabled());
}

#[tokio::test]
async fn what_is_switched_off_while_a_call_waits_for_its_turn_does_not_run() {
    for switched in ["tool:second", "group:g", "source:test", "tier:first_party", "tools"] {
        let first = Arc::new(ScriptedTool::new("first").assesses(locked).does(|ctx, _| {
            let cancel = ctx.cancel.clone();
            Box::pin(async move {
                cancel.cancelled().await;
                Ok(ToolOutput::text("freed"))
            })
        }));
        let second = Arc::new(
            ScriptedTool::new("second").spec(|s| s.group = Some("g".into())).assesses(locked),
        );
        let engine = engine(Engine::builder(), &[&first, &second]).await;
        let holding = call(&engine, "first", json!({}));
        let waiting = call(&engine, "second", json!({}));
        tokio::pin!(holding, waiting);
        assert!(futures_util::poll!(holding.as_mut()).is_pending());
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        engine.set_switch(&SwitchTarget::parse(switched).unwrap(), Some(Off)).unwrap();
        assert_eq!(engine.cancel_all(|_| true).len(), 1);
        drop(holding.await);
        assert_eq!(waiting.await.kind, OutcomeKind::Denied, "{switched}");
        assert_eq!(second.runs(), 0, "{switched}");
    }
}

fn locked(spec: &ToolSpec, _: &Value) -> Result<Assessment, ToolError> {
    Ok(Assessment::from_spec(spec).with_lock("lock", Access::Exclusive))
}

/// Two engines on one store, like two daemons: found by the test of several daemons, in which calls
/// started 200 ms after the kill switch.
#[tokio::test]
async fn what_another_engine_stored_holds_for_calls_that_start_later() {
    let store = Arc::new(MemorySwitches::default());
    let one = tool("one");
    let builder = Engine::builder().switches(Arc::clone(&store) as _, "");
    let engine = engine(builder, &[&one]).await;
    assert_eq!(call(&engine, "one", json!({})).await.kind, OutcomeKind::Succeeded);
    let name = SwitchTarget::Everything.name();
    let off = Switch { owner: String::new(), name, state: Off, by: "ann".into(), at: 1 };
    store.set_switch(off).await.unwrap();
    // The engine is not notified; its cached switches expire.
    tokio::time::sleep(SWITCH_CACHE_TTL).await;
    let outcome = call(&engine, "one", json!({})).await;
    assert_eq!(failure(&outcome).1, ErrorType::ToolsDisabled);
    assert_eq!(one.runs(), 1);
    assert!(!engine.refresh_switches().await.unwrap(), "it is known by now");
}

/// A call does not run if the kill switch cannot be read.
#[tokio::test]
async fn nothing_starts_on_switches_that_cannot_be_read() {
    struct Broken;
    impl SwitchStore for Broken {
        fn set_switch(&self, _: Switch) -> BoxFuture<'_, Result<(), StoreError>> {
            Box::pin(ready(Err(StoreError::Failed("gone".into()))))
        }
        fn unset_switch<'a>(
            &'a self,
            _: &'a str,
            _: &'a str,
            _: &'a str,
            _: i64,
        ) -> BoxFuture<'a, Result<bool, StoreError>> {
            Box::pin(ready(Err(StoreError::Failed("gone".into()))))
        }
        fn switches<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<Switch>, StoreError>> {
            Box::pin(ready(Err(StoreError::Failed("gone".into()))))
        }
    }
    let one = tool("one");
    let engine = engine(Engine::builder().switches(Arc::new(Broken), ""), &[&one]).await;
    let outcome = call(&engine, "one", json!({})).await;
    let (_, error_type, message) = failure(&outcome);
    assert_eq!(error_type, ErrorType::StoreFailed);
    assert!(message.starts_with("Whether tools may run could not be read"), "{message}");
    assert_eq!(one.runs(), 0);
}
