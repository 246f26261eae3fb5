//! Handling of questions in each channel, with every origin, through the pipeline; and dry runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_core::BoxFuture;
use toolcrib_core::hook::GuardInput;
use toolcrib_core::{
    Answer, ApprovalRequest, Batch, Call, Context, Decider, Decision, DecisionRecord, ErrorType,
    Guard, GuardVerdict, Invoker as _, Origin, OutcomeKind, Permission, PermissionState, Risk,
    RunLimits, RunSpec, Verdict, ViewRequest,
};
use toolcrib_engine::store::MemoryCalls;
use toolcrib_engine::{ApprovalRoute, Engine, EngineSettings, GrantedPermissions};
use toolcrib_testkit::{Recorder, ScriptedApprover, ScriptedTool};

use crate::support::{engine, failure, one};

const ORIGINS: [Origin; 7] = [
    Origin::Model,
    Origin::Chain,
    Origin::Mcp,
    Origin::Rest,
    Origin::Cli,
    Origin::Schedule,
    Origin::Device,
];

fn risky() -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new("work").spec(|s| s.risk = Risk::High))
}

fn batch(origin: Origin, args: Value) -> Batch {
    Batch::new(origin, vec![Call::new("work", args)])
}

/// Result of a call that needs an approval.
#[derive(Debug, PartialEq)]
enum Became {
    Asked,
    Denied { kept: bool },
    Waits,
}

async fn became(engine: &Engine, approver: &ScriptedApprover, batch: Batch) -> Became {
    let (before, began) = (approver.asked().len(), Instant::now());
    let answer = engine.invoke(batch).await.pop().unwrap();
    assert!(began.elapsed() < Duration::from_secs(1), "nobody is waited for");
    match answer {
        Answer::Suspended(request) => {
            assert_eq!(request.expires_at, None, "an inbox has no deadline");
            Became::Waits
        }
        Answer::Done(outcome) if approver.asked().len() > before => {
            assert_eq!(outcome.kind, OutcomeKind::Succeeded);
            Became::Asked
        }
        Answer::Done(outcome) => {
            let (kind, error_type, words) = failure(&outcome);
            assert_eq!((kind, error_type), (OutcomeKind::Denied, ErrorType::ApprovalDenied));
            assert!(words.contains("The work action was denied"), "{words}");
            assert!(words.contains("Do not retry it."), "{words}");
            Became::Denied { kept: words.contains("appr_") }
        }
    }
}

#[tokio::test]
async fn every_origin_asks_as_its_channel_does() {
    let check = async |settings: EngineSettings, expected: fn(Origin) -> Became| {
        let approver = Arc::new(ScriptedApprover::approving(20));
        let builder = Engine::builder().settings(settings).approver(Arc::clone(&approver) as _);
        let engine = engine(builder, &[&risky()]).await;
        for origin in ORIGINS {
            let was = became(&engine, &approver, batch(origin, json!({}))).await;
            assert_eq!(was, expected(origin), "{origin:?}");
        }
    };
    check(EngineSettings::default(), |origin| match origin {
        Origin::Model | Origin::Chain | Origin::Cli => Became::Asked,
        Origin::Mcp | Origin::Rest => Became::Denied { kept: false },
        Origin::Schedule | Origin::Device => Became::Denied { kept: true },
    })
    .await;
    let inbox = EngineSettings { inbox: true, ..EngineSettings::default() };
    check(inbox, |origin| match origin {
        Origin::Model | Origin::Chain | Origin::Cli => Became::Asked,
        Origin::Mcp | Origin::Rest => Became::Waits,
        Origin::Schedule | Origin::Device => Became::Denied { kept: true },
    })
    .await;
    let said = EngineSettings { ask_everywhere: true, ..EngineSettings::default() };
    check(said, |_| Became::Asked).await;
}

#[tokio::test]
async fn the_channel_of_the_context_counts_before_the_origin_and_an_unknown_one_is_outside() {
    let approver = Arc::new(ScriptedApprover::approving(9));
    let builder = Engine::builder().approver(Arc::clone(&approver) as _);
    let engine = engine(builder, &[&risky()]).await;
    for (channel, expected) in [
        ("chat", Became::Asked),
        ("background", Became::Denied { kept: true }),
        ("external-agent", Became::Denied { kept: false }),
        ("Chat", Became::Denied { kept: false }),
    ] {
        let context = Context { channel: channel.into(), ..Context::default() };
        let batch = Batch { context: Arc::new(context), ..batch(Origin::Rest, json!({})) };
        assert_eq!(became(&engine, &approver, batch).await, expected, "{channel}");
    }
}

fn approved() -> DecisionRecord {
    DecisionRecord { decision: Decision::approve(), decided_by: "ann".into(), decided_at: 0 }
}

async fn pending(engine: &Engine) -> Vec<ApprovalRequest> {
    engine.approvals().pending().await.unwrap()
}

#[tokio::test]
async fn what_was_denied_in_the_background_runs_as_a_new_call_once_it_is_approved() {
    let tool = risky();
    let builder = Engine::builder().calls(Arc::new(MemoryCalls::default()));
    let engine = engine(builder, &[&tool]).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    let denied =
        one(&engine, Batch { run: Some(run), ..batch(Origin::Schedule, json!({"n": 1})) }).await;
    let words = failure(&denied).2.to_owned();
    engine.close_run(run);
    let [question] = &pending(&engine).await[..] else { panic!("one question is kept") };
    assert!(words.contains(&question.id.to_string()), "{words}");
    assert!(words.contains("no person can be asked in the background"), "{words}");
    assert_eq!((question.run, question.expires_at), (None, None));
    assert_ne!(question.call, denied.call);
    assert_eq!(tool.runs(), 0);
    let answer = engine.decide(question.id, approved()).await.unwrap().unwrap();
    let outcome = answer.outcome().unwrap();
    assert_eq!((outcome.kind, outcome.call), (OutcomeKind::Succeeded, question.call));
    assert_eq!(tool.seen(), [json!({"n": 1})]);
    let first = engine.calls().call(denied.call).await.unwrap().unwrap();
    assert_eq!(first.row.end.unwrap().outcome, OutcomeKind::Denied, "its outcome stands");
}

#[tokio::test]
async fn the_same_call_in_the_background_is_asked_about_once() {
    let engine = engine(Engine::builder(), &[&risky()]).await;
    let mut named = Vec::new();
    for args in [json!({"n": 1}), json!({"n": 1}), json!({"n": 2})] {
        let outcome = one(&engine, batch(Origin::Device, args)).await;
        let words = failure(&outcome).2.to_owned();
        let at = words.find("appr_").unwrap();
        named.push(words[at..].split(';').next().unwrap().to_owned());
    }
    assert_eq!(pending(&engine).await.len(), 2);
    assert_eq!(named[0], named[1]);
    assert_ne!(named[0], named[2]);
    // Once it is decided, the next call gets a separate question.
    let first = pending(&engine).await.remove(0);
    engine.decide(first.id, approved()).await.unwrap();
    one(&engine, batch(Origin::Device, json!({"n": 1}))).await;
    assert_eq!(pending(&engine).await.len(), 2);
}

#[tokio::test]
async fn a_call_from_outside_that_waits_in_the_inbox_goes_on_when_it_is_approved() {
    let tool = risky();
    let settings = EngineSettings { inbox: true, ..EngineSettings::default() };
    let engine = engine(Engine::builder().settings(settings), &[&tool]).await;
    let answer = engine.invoke(batch(Origin::Mcp, json!({}))).await.pop().unwrap();
    let Answer::Suspended(request) = answer else { panic!("{answer:?}") };
    assert_eq!(tool.runs(), 0);
    let answer = engine.decide(request.id, approved()).await.unwrap().unwrap();
    let outcome = answer.outcome().unwrap();
    assert_eq!((outcome.kind, outcome.call), (OutcomeKind::Succeeded, request.call));
}

#[tokio::test]
async fn an_undecided_permission_is_denied_outside_and_a_grant_answers_everywhere() {
    let tool =
        Arc::new(ScriptedTool::new("work").spec(|s| s.permissions = vec![Permission::Network]));
    let permissions =
        GrantedPermissions::default().with(Permission::Network, PermissionState::Undecided);
    let always = Decision::approve_for(toolcrib_core::GrantScope::Always);
    let approver = Arc::new(ScriptedApprover::deciding([always]));
    let builder =
        Engine::builder().permissions(Arc::new(permissions)).approver(Arc::clone(&approver) as _);
    let engine = engine(builder, &[&tool]).await;
    let denied = one(&engine, batch(Origin::Rest, json!({}))).await;
    assert!(failure(&denied).2.contains("Permission network"), "{denied:?}");
    assert_eq!(one(&engine, batch(Origin::Cli, json!({}))).await.kind, OutcomeKind::Succeeded);
    for origin in ORIGINS {
        let outcome = one(&engine, batch(origin, json!({}))).await;
        assert_eq!(outcome.kind, OutcomeKind::Succeeded, "{origin:?}");
    }
    assert_eq!(approver.asked().len(), 1);
}

struct NoThrees;

impl Guard for NoThrees {
    fn name(&self) -> &'static str {
        "no-threes"
    }
    fn check<'a>(
        &'a self,
        call: &'a GuardInput<'a>,
    ) -> BoxFuture<'a, Result<GuardVerdict, String>> {
        let verdict = match call.args["n"].as_i64() {
            Some(3) => GuardVerdict::Deny("no threes".into()),
            Some(4) => GuardVerdict::Rewrite(json!({"n": 5})),
            _ => GuardVerdict::Continue,
        };
        Box::pin(std::future::ready(Ok(verdict)))
    }
}

#[tokio::test]
async fn a_forecast_says_what_a_call_would_come_to_and_leaves_no_trace() {
    let tool = risky();
    let told = Arc::new(Recorder::default());
    let approver = Arc::new(ScriptedApprover::approving(1));
    let builder = Engine::builder()
        .calls(Arc::new(MemoryCalls::default()))
        .observer(Arc::clone(&told) as _)
        .guard(Arc::new(NoThrees))
        .approver(Arc::clone(&approver) as _);
    let engine = engine(builder, &[&tool]).await;
    let limits = RunLimits { calls: Some(1), ..RunLimits::default() };
    let run = engine.open_run(RunSpec { limits, ..RunSpec::default() }).unwrap();
    let forecast = async |origin, name: &str, args: Value| {
        let calls = vec![Call::new(name, args)];
        let batch = Batch { run: Some(run), ..Batch::new(origin, calls) };
        engine.dry_run(batch).await.pop().unwrap()
    };
    for _ in 0..4 {
        let seen = forecast(Origin::Cli, "work", json!({"n": 1})).await;
        let ruling = seen.report.ruling.clone().unwrap();
        assert_eq!((ruling.verdict, ruling.by), (Verdict::Ask, Decider::Preset));
        assert_eq!((seen.refused, seen.asking), (None, Some(ApprovalRoute::Asked)));
        assert_eq!((seen.report.risk, seen.asks.len()), (Some(Risk::High), 1));
        assert_eq!(seen.report.operation.as_deref(), Some("work"));
    }
    let asking = async |origin| forecast(origin, "work", json!({})).await.asking;
    assert_eq!(asking(Origin::Rest).await, Some(ApprovalRoute::ExternalCaller));
    assert_eq!(asking(Origin::Schedule).await, Some(ApprovalRoute::Background));
    let refused = async |name, args| {
        let seen = forecast(Origin::Cli, name, args).await;
        seen.refused.unwrap().error_type
    };
    assert_eq!(refused("work", json!({"n": 3})).await, ErrorType::PolicyDenied);
    assert_eq!(refused("work", json!([])).await, ErrorType::ValidationError);
    assert_eq!(refused("wrok", json!({})).await, ErrorType::ToolNotFound);
    let rewritten = forecast(Origin::Cli, "work", json!({"n": 4})).await;
    assert_eq!(rewritten.args, json!({"n": 5}));

    engine.flush_observers().await;
    assert_eq!(told.kinds(), [], "nobody is told");
    assert_eq!((tool.runs(), approver.asked().len(), engine.received()), (0, 0, 0));
    assert_eq!(pending(&engine).await, []);
    assert_eq!(engine.calls().open_calls().await.unwrap(), []);
    assert_eq!(engine.usage(run).unwrap().calls, 0, "the budget is whole");
    // The real call behaves as the dry run predicted.
    let real = Batch { run: Some(run), ..batch(Origin::Cli, json!({"n": 1})) };
    assert_eq!(one(&engine, real).await.kind, OutcomeKind::Succeeded);
    assert_eq!(approver.asked().len(), 1);
}

#[tokio::test]
async fn a_forecast_knows_grants_and_that_no_approver_is_present() {
    let always = Decision::approve_for(toolcrib_core::GrantScope::Always);
    let approver = Arc::new(ScriptedApprover::deciding([always]));
    let asked = engine(Engine::builder().approver(approver as _), &[&risky()]).await;
    one(&asked, batch(Origin::Cli, json!({}))).await;
    let seen = asked.dry_run(batch(Origin::Cli, json!({}))).await.pop().unwrap();
    assert_eq!(seen.asking, Some(ApprovalRoute::Granted));
    let alone = engine(Engine::builder(), &[&risky()]).await;
    let seen = alone.dry_run(batch(Origin::Cli, json!({}))).await.pop().unwrap();
    assert_eq!(seen.asking, Some(ApprovalRoute::NoApprover));
}

#[tokio::test]
async fn a_role_that_may_not_have_a_tool_is_told_which_flag_says_so() {
    let tool = Arc::new(ScriptedTool::new("work").spec(|s| s.aliases = vec!["labour".into()]));
    let flags = [("allow_work_viewer", false), ("allow_labour_clerk", false)];
    let settings = EngineSettings {
        flags: flags.into_iter().map(|(name, on)| (name.to_owned(), on)).collect(),
        ..EngineSettings::default()
    };
    let engine = engine(Engine::builder().settings(settings), &[&tool]).await;
    let call = async |role: &str, name: &str| {
        let view = Arc::new(ViewRequest { role: role.into(), ..ViewRequest::default() });
        let calls = vec![Call::new(name, json!({}))];
        one(&engine, Batch { view, ..Batch::new(Origin::Model, calls) }).await
    };
    for (role, flag) in [("viewer", "allow_work_viewer"), ("clerk", "allow_labour_clerk")] {
        for name in ["work", "labour"] {
            let outcome = call(role, name).await;
            let (_, error_type, words) = failure(&outcome);
            assert_eq!(error_type, ErrorType::ToolNotAvailable);
            assert!(words.contains(&format!("the flag {flag} is false")), "{words}");
        }
    }
    for role in ["", "agent"] {
        assert_eq!(call(role, "work").await.kind, OutcomeKind::Succeeded, "{role}");
    }
    assert_eq!(tool.runs(), 2);
}
