//! Stage 7 through the pipeline: permissions and presets, as tables.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{
    Effect, ErrorType, Gate, GateInput, OutcomeKind, Permission, PermissionState, ReasonKind, Risk,
    RuleRef, Tier, ToolError, Verdict, Vote,
};
use toolcrib_engine::{Engine, EngineSettings, GrantedPermissions, Preset};
use toolcrib_testkit::{ScriptedApprover, ScriptedTool, fixed_source};

use crate::support::{call, engine, failure};

#[derive(Debug, PartialEq)]
enum Does {
    Runs,
    Asks,
    Denies,
}

async fn does(preset: Preset, tool: ScriptedTool, ask: Option<bool>) -> Does {
    let tool = Arc::new(tool);
    let approver = Arc::new(ScriptedApprover::approving(1));
    let mut settings = EngineSettings { preset, ..EngineSettings::default() };
    settings.tools.entry("work".into()).or_default().ask = ask;
    let builder = Engine::builder().settings(settings).approver(Arc::clone(&approver) as _);
    let engine = engine(builder, &[&tool]).await;
    let outcome = call(&engine, "work", json!({})).await;
    match (approver.asked().len(), outcome.kind) {
        (0, OutcomeKind::Succeeded) => Does::Runs,
        (1, OutcomeKind::Succeeded) => Does::Asks,
        (0, OutcomeKind::Denied) => Does::Denies,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn presets_by_risk() {
    use Does::{Asks, Denies, Runs};
    use Risk::{Critical, High, Safe};
    for (preset, risk, effect, expected) in [
        (Preset::Auto, Safe, Effect::Read, Runs),
        (Preset::Auto, High, Effect::SideEffect, Runs),
        (Preset::Auto, Critical, Effect::SideEffect, Asks),
        (Preset::AskRisky, Safe, Effect::SideEffect, Runs),
        (Preset::AskRisky, High, Effect::Read, Asks),
        (Preset::AskRisky, Critical, Effect::Read, Asks),
        (Preset::AskAll, Safe, Effect::Pure, Asks),
        (Preset::Locked, Safe, Effect::Read, Runs),
        (Preset::Locked, Safe, Effect::Pure, Runs),
        (Preset::Locked, Safe, Effect::Idempotent, Denies),
        (Preset::Locked, High, Effect::Read, Denies),
    ] {
        let tool = ScriptedTool::new("work").spec(|s| (s.risk, s.effect) = (risk, effect));
        assert_eq!(does(preset, tool, None).await, expected, "{preset} {risk:?} {effect:?}");
    }
}

#[tokio::test]
async fn ask_all_leaves_innate_tools_alone_and_owners_may_say_otherwise_per_tool() {
    let innate = ScriptedTool::new("work").spec(|s| s.tier = Tier::Innate);
    assert_eq!(does(Preset::AskAll, innate, None).await, Does::Runs);
    let risk = |risk| ScriptedTool::new("work").spec(move |s| s.risk = risk);
    assert_eq!(does(Preset::Auto, risk(Risk::Safe), Some(true)).await, Does::Asks);
    assert_eq!(does(Preset::AskRisky, risk(Risk::High), Some(false)).await, Does::Runs);
    assert_eq!(does(Preset::AskRisky, risk(Risk::Critical), Some(false)).await, Does::Asks);
    let risky = risk(Risk::High);
    assert_eq!(does(Preset::Locked, risky, Some(false)).await, Does::Denies);
}

#[tokio::test]
async fn undeclared_risk_is_high_and_undeclared_effect_is_a_side_effect() {
    let name = toolcrib_core::ToolName::local("work").unwrap();
    let spec = toolcrib_core::ToolSpec::new(name, "Undeclared.", json!({"type": "object"}));
    assert_eq!((spec.risk, spec.effect), (Risk::High, Effect::SideEffect));
}

#[tokio::test]
async fn permissions_are_asked_before_every_call() {
    for (state, expected) in [
        (PermissionState::Granted, None),
        (PermissionState::Denied, Some("Permission network was denied by the user")),
        (
            PermissionState::DeniedForGood { change: "set network".into() },
            Some("in the settings: set network"),
        ),
    ] {
        let tool =
            Arc::new(ScriptedTool::new("work").spec(|s| s.permissions = vec![Permission::Network]));
        let permissions = GrantedPermissions::default().with(Permission::Network, state);
        let engine = engine(Engine::builder().permissions(Arc::new(permissions)), &[&tool]).await;
        for _ in 0..2 {
            let outcome = call(&engine, "work", json!({})).await;
            match expected {
                None => assert_eq!(outcome.kind, OutcomeKind::Succeeded),
                Some(words) => {
                    let (kind, error_type, message) = failure(&outcome);
                    assert_eq!(
                        (kind, error_type),
                        (OutcomeKind::Denied, ErrorType::PermissionDenied)
                    );
                    assert!(message.contains(words), "{message}");
                    assert_eq!(tool.runs(), 0);
                }
            }
        }
    }
}

struct Says(Vote);

impl Gate for Says {
    fn name(&self) -> &'static str {
        "says"
    }
    fn evaluate(&self, _: &GateInput<'_>) -> Result<Vote, String> {
        Ok(self.0.clone())
    }
}

fn rule(effect: Verdict) -> RuleRef {
    RuleRef { effect, rule: "work".into(), origin: "test".into(), reason: None }
}

#[tokio::test]
async fn an_ask_from_permission_or_taint_stands_whatever_a_rule_allows() {
    let allow = || Arc::new(Says(Vote::Allow { rule: rule(Verdict::Allow) }));
    let undecided =
        GrantedPermissions::default().with(Permission::Exec, PermissionState::Undecided);
    let taint =
        Vote::Ask { kind: ReasonKind::Taint, reason: "untrusted text was read".into(), rule: None };
    let deny = Vote::Deny { error: ToolError::new(ErrorType::PolicyDenied, "never"), rule: None };
    let tool = || {
        Arc::new(
            ScriptedTool::new("work")
                .spec(|s| (s.risk, s.permissions) = (Risk::Critical, vec![Permission::Exec])),
        )
    };

    let ruled = engine(Engine::builder().gate(allow()), &[&tool()]).await;
    assert_eq!(
        call(&ruled, "work", json!({})).await.kind,
        OutcomeKind::Succeeded,
        "a rule replaces the preset"
    );

    let builder = Engine::builder().gate(allow()).permissions(Arc::new(undecided));
    let asked = engine(builder, &[&tool()]).await;
    assert_eq!(call(&asked, "work", json!({})).await.kind, OutcomeKind::Denied);

    let tainted =
        engine(Engine::builder().gate(allow()).gate(Arc::new(Says(taint))), &[&tool()]).await;
    assert_eq!(call(&tainted, "work", json!({})).await.kind, OutcomeKind::Denied);

    let denied =
        engine(Engine::builder().gate(allow()).gate(Arc::new(Says(deny))), &[&tool()]).await;
    assert_eq!(failure(&call(&denied, "work", json!({})).await).1, ErrorType::PolicyDenied);
}

#[tokio::test]
async fn only_code_of_this_process_may_say_that_a_call_is_less_than_declared() {
    for (remote, expected) in [(false, OutcomeKind::Succeeded), (true, OutcomeKind::Denied)] {
        let tool = ScriptedTool::new("work").spec(|s| s.risk = Risk::High).assesses(|spec, _| {
            let mut lower = toolcrib_core::Assessment::from_spec(spec);
            lower.risk = Risk::Safe;
            Ok(lower)
        });
        let engine = Engine::builder().build();
        let source = fixed_source("test", &[&Arc::new(tool)]);
        let source = if remote { source.remote() } else { source };
        engine.catalog().attach(&source).await.unwrap();
        assert_eq!(call(&engine, "work", json!({})).await.kind, expected, "remote: {remote}");
    }
}

#[tokio::test]
async fn a_tool_that_breaks_while_it_judges_its_arguments_is_not_run() {
    let tool = Arc::new(ScriptedTool::new("work").assesses(|_, _| panic!("boom")));
    let engine = engine(Engine::builder(), &[&tool]).await;
    assert_eq!(failure(&call(&engine, "work", json!({})).await).1, ErrorType::Crashed);
    assert_eq!(tool.runs(), 0);
}
