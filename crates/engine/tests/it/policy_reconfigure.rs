//! Another policy while calls run: it applies as a whole, to open runs too, and never in part.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use toolcrib_core::hook::GuardInput;
use toolcrib_core::{
    ApprovalRequest, Approver, ApproverReply, Batch, BoxFuture, Call, Context, Decision, ErrorType,
    Exclusion, Guard, GuardVerdict, Invoker as _, Origin, OutcomeKind, Permission, PermissionState,
    Permissions, RunSpec, SwitchState, ToolOutput, Verdict, ViewRequest,
};
use toolcrib_engine::rules::RuleSet;
use toolcrib_engine::{Engine, EngineSettings, GrantedPermissions, Policy, Preset};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::rules_suite::written;
use crate::support::{call, call_in, engine, failure};

fn rules(effect: Verdict, rule: &str) -> RuleSet {
    RuleSet::compile(vec![written(effect, rule)]).unwrap()
}

fn denying(rule: &str) -> Policy {
    Policy { rules: rules(Verdict::Deny, rule), ..Policy::default() }
}

struct Named(&'static str, GuardVerdict);

impl Guard for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn check<'a>(&'a self, _: &'a GuardInput<'a>) -> BoxFuture<'a, Result<GuardVerdict, String>> {
        Box::pin(std::future::ready(Ok(self.1.clone())))
    }
}

fn no(name: &'static str) -> Vec<Arc<dyn Guard>> {
    vec![Arc::new(Named(name, GuardVerdict::Deny("it says so".into())))]
}

#[tokio::test]
async fn a_rule_that_comes_denies_the_next_call_of_a_run_and_one_that_goes_allows_it() {
    let tool = Arc::new(ScriptedTool::new("work").takes(json!({
        "type": "object", "properties": {"path": {"type": "string"}},
    })));
    let engine = engine(Engine::builder(), &[&tool]).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    let mut round = 0;
    let mut next = async || {
        round += 1;
        call_in(&engine, run, "work", json!({"path": format!("{round}")})).await
    };
    assert_eq!(next().await.kind, OutcomeKind::Succeeded);
    engine.reconfigure(denying("work"));
    let outcome = next().await;
    assert_eq!(failure(&outcome).0, OutcomeKind::Denied);
    let view = engine.catalog().view(&Arc::new(ViewRequest::default()));
    assert!(matches!(view.excluded[0].reason, Exclusion::Rule { .. }), "{:?}", view.excluded);
    engine.reconfigure(Policy::default());
    assert_eq!(next().await.kind, OutcomeKind::Succeeded);
    engine.reconfigure(Policy { guards: no("doorman"), ..Policy::default() });
    let outcome = next().await;
    assert!(failure(&outcome).2.contains("the guard doorman"), "{outcome:?}");
    engine.reconfigure(Policy::default());
    assert_eq!(next().await.kind, OutcomeKind::Succeeded);
}

#[tokio::test]
async fn permissions_presets_and_flags_follow() {
    let tool = Arc::new(ScriptedTool::new("work").spec(|s| {
        (s.permissions, s.risk) = (vec![Permission::Network], toolcrib_core::Risk::High);
    }));
    let auto = EngineSettings { preset: Preset::Auto, ..EngineSettings::default() };
    let engine = engine(Engine::builder().settings(auto.clone()), &[&tool]).await;
    assert_eq!(call(&engine, "work", json!({})).await.kind, OutcomeKind::Succeeded);
    let check = async |policy: Policy, expected: ErrorType| {
        engine.reconfigure(policy);
        assert_eq!(failure(&call(&engine, "work", json!({})).await).1, expected);
    };
    let denied = GrantedPermissions::default().with(Permission::Network, PermissionState::Denied);
    let permissions: Arc<dyn Permissions> = Arc::new(denied);
    let settings = auto.clone();
    check(Policy { permissions, settings, ..Policy::default() }, ErrorType::PermissionDenied).await;
    let locked = EngineSettings { preset: Preset::Locked, ..EngineSettings::default() };
    check(Policy { settings: locked, ..Policy::default() }, ErrorType::PolicyDenied).await;
    let flags = [("allow_work".to_owned(), false)].into();
    let flagged = EngineSettings { flags, ..auto.clone() };
    check(Policy { settings: flagged, ..Policy::default() }, ErrorType::ToolNotAvailable).await;
    engine.reconfigure(Policy { settings: auto, ..Policy::default() });
    assert_eq!(call(&engine, "work", json!({})).await.kind, OutcomeKind::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn what_is_said_of_single_tools_follows_and_their_switches_stay() {
    let tools = [
        Arc::new(ScriptedTool::new("slow").hangs()),
        Arc::new(ScriptedTool::new("off")),
        Arc::new(ScriptedTool::new("needs").spec(|s| {
            s.config = vec![toolcrib_core::ConfigKey {
                key: "KEY".into(),
                description: String::new(),
                secret: true,
                required: true,
            }];
        })),
        Arc::new(ScriptedTool::new("says").returns(ToolOutput::text("it is s3cr3t-value"))),
    ];
    let engine = engine(Engine::builder(), &tools.each_ref()).await;
    engine.catalog().set_tool_state("off", SwitchState::Off).unwrap();
    assert_eq!(failure(&call(&engine, "needs", json!({})).await).1, ErrorType::NotConfigured);
    let mut settings = EngineSettings::default();
    settings.tools.entry("slow".into()).or_default().timeout = Some(Duration::from_secs(7));
    settings.tools.entry("says".into()).or_default().enabled = Some(false);
    let own = &mut settings.tools.entry("needs".into()).or_default().config;
    own.insert("KEY".into(), "s3cr3t-value".into());
    engine.reconfigure(Policy { settings, ..Policy::default() });
    let outcome = call(&engine, "slow", json!({})).await;
    assert!(failure(&outcome).2.contains("after 7s"), "{outcome:?}");
    assert_eq!(call(&engine, "needs", json!({})).await.kind, OutcomeKind::Succeeded);
    assert_eq!(failure(&call(&engine, "off", json!({})).await).1, ErrorType::ToolDisabled);
    assert_eq!(failure(&call(&engine, "says", json!({})).await).1, ErrorType::ToolDisabled);
    // Back to the defaults; known secrets stay masked.
    engine.reconfigure(Policy::default());
    assert_eq!(failure(&call(&engine, "needs", json!({})).await).1, ErrorType::NotConfigured);
    let said = call(&engine, "says", json!({})).await;
    assert_eq!(crate::support::text(&said), "it is ***");
}

#[tokio::test]
async fn a_limit_that_stays_the_same_goes_on_counting() {
    let check = async |before: usize, now: usize, runs: usize| {
        let tool = Arc::new(ScriptedTool::new("slow").hangs());
        let limited = |most| {
            let mut settings = EngineSettings::default();
            settings.tools.entry("slow".into()).or_default().max_concurrent = Some(most);
            settings
        };
        let engine = engine(Engine::builder().settings(limited(before)), &[&tool]).await;
        let (first, second) = (call(&engine, "slow", json!({})), call(&engine, "slow", json!({})));
        tokio::pin!(first, second);
        assert!(futures_util::poll!(first.as_mut()).is_pending());
        engine.reconfigure(Policy { settings: limited(now), ..Policy::default() });
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        assert_eq!(tool.runs(), runs, "{before} {now}");
    };
    check(1, 1, 1).await;
    check(1, 2, 2).await;
    check(2, 2, 2).await;
}

/// Applies another policy while it is asked, and approves.
struct Changing(std::sync::OnceLock<Engine>, fn(&Engine));

impl Approver for Changing {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        self.1(self.0.get().unwrap());
        let decided = ApproverReply::Decided { decision: Decision::approve(), by: "ann".into() };
        Box::pin(std::future::ready(decided))
    }
}

/// A call is evaluated by the policy under which it was received; only a denial by the new one
/// refuses it right before it runs.
#[tokio::test]
async fn a_call_that_waits_is_refused_by_a_new_denial_and_by_nothing_else() {
    let check = async |change: fn(&Engine), expected: OutcomeKind| {
        let tool = Arc::new(ScriptedTool::new("work"));
        let settings = EngineSettings { preset: Preset::AskAll, ..EngineSettings::default() };
        let approver = Arc::new(Changing(std::sync::OnceLock::new(), change));
        let builder = Engine::builder().settings(settings).approver(Arc::clone(&approver) as _);
        let engine = engine(builder, &[&tool]).await;
        assert!(approver.0.set(engine.clone()).is_ok());
        let outcome = call(&engine, "work", json!({})).await;
        assert_eq!(outcome.kind, expected, "{outcome:?}");
        assert_eq!(tool.runs(), usize::from(expected == OutcomeKind::Succeeded));
    };
    check(|_| (), OutcomeKind::Succeeded).await;
    check(|engine| engine.reconfigure(denying("work")), OutcomeKind::Denied).await;
    check(|engine| engine.reconfigure(denying("work(path:/x)")), OutcomeKind::Succeeded).await;
    check(
        |engine| engine.reconfigure(Policy { guards: no("new"), ..Policy::default() }),
        OutcomeKind::Succeeded,
    )
    .await;
    check(
        |engine| engine.catalog().set_tool_state("work", SwitchState::Off).unwrap(),
        OutcomeKind::Denied,
    )
    .await;
    check(
        |engine| engine.catalog().set_tool_state("work", SwitchState::Ask).unwrap(),
        OutcomeKind::Succeeded,
    )
    .await;
}

/// A gate that names its policy.
struct Tagged(u64);

impl Permissions for Tagged {
    fn state(&self, _: &Permission, _: &Context) -> PermissionState {
        PermissionState::DeniedForGood { change: format!("permission {}", self.0) }
    }
}

/// Guards and permissions of one policy carry the same number: a call that is rewritten by one and
/// denied by the other tells both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_never_meets_two_policies() {
    let tool = Arc::new(
        ScriptedTool::new("work")
            .takes(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
            .spec(|s| s.permissions = vec![Permission::Network]),
    );
    let builder = Engine::builder().policy(numbered(0));
    let engine = builder.build();
    engine.catalog().attach(&fixed_source("test", &[&tool])).await.unwrap();
    let made = Arc::new(AtomicU64::new(0));
    let changing = {
        let (engine, made) = (engine.clone(), Arc::clone(&made));
        tokio::spawn(async move {
            for number in 1..=300 {
                engine.reconfigure(numbered(number));
                made.store(number, Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        })
    };
    let mut met = std::collections::BTreeSet::new();
    while !changing.is_finished() || met.is_empty() {
        let first = made.load(Ordering::SeqCst);
        let batch = Batch::new(Origin::Model, vec![Call::new("work", json!({"n": 0}))]);
        let mut forecasts = engine.dry_run(batch).await;
        let forecast = forecasts.pop().unwrap();
        let guard = forecast.args["n"].as_u64().unwrap();
        let words = forecast.refused.unwrap().message;
        assert!(words.contains(&format!("permission {guard}.")), "{guard}: {words}");
        assert!(guard >= first, "a policy that was in force before the call is not met again");
        met.insert(guard);
    }
    changing.await.unwrap();
}

fn numbered(number: u64) -> Policy {
    let rewrite = GuardVerdict::Rewrite(json!({"n": number}));
    Policy {
        permissions: Arc::new(Tagged(number)),
        guards: vec![Arc::new(Named("numbered", rewrite))],
        ..Policy::default()
    }
}
