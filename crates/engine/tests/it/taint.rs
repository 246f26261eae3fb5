//! Taint through the pipeline: results that raise a label, runs that inherit it, and its effect on
//! later calls.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{
    Answer, Batch, Blob, Block, Call, CallId, ConfigKey, Context, Decider, Decision, Effect,
    ErrorType, Gate, GateInput, GrantScope, Invoker as _, Label, LabelSource, Labels, Origin,
    Outcome, OutcomeKind, Reach, ReasonKind, Risk, RuleRef, RunId, RunSpec, ToolError, ToolOutput,
    ToolSpec, Trust, Verdict, Vote,
};
use toolcrib_engine::store::{MemoryArtifacts, MemoryCalls};
use toolcrib_engine::{Engine, EngineSettings, Preset, ToolSettings};
use toolcrib_testkit::{ScriptedApprover, ScriptedTool};

use crate::support::{call_in, engine, failure, one};

const OUTBOUND: Reach = Reach { outbound: true, exec: false, private_read: false };
const PRIVATE: Reach = Reach { outbound: false, exec: false, private_read: true };

fn open(engine: &Engine) -> RunId {
    engine.open_run(RunSpec::default()).unwrap()
}

fn labels(engine: &Engine, run: RunId) -> Vec<Label> {
    engine.labels(run).unwrap().iter().map(|(label, _)| label).collect()
}

/// A tool that reads external text.
fn reads(spec: impl FnOnce(&mut ToolSpec)) -> ScriptedTool {
    ScriptedTool::new("work").spec(|s| {
        (s.effect, s.trust, s.attempts) = (Effect::Read, Trust::External, 1);
        spec(s);
    })
}

fn secret(spec: &mut ToolSpec) {
    let (key, description) = ("token".to_owned(), "The key.".to_owned());
    spec.config = vec![ConfigKey { key, description, secret: true, required: false }];
}

fn trusted(text: &str, trust: Trust) -> ToolOutput {
    ToolOutput { trust: Some(trust), ..ToolOutput::text(text) }
}

#[tokio::test]
async fn which_results_raise_which_label() {
    use Label::{Private, Untrusted};
    let check = async |what: &str, tool: ScriptedTool, expected: &[Label]| {
        let tool = Arc::new(tool);
        let engine = engine(Engine::builder(), &[&tool]).await;
        let run = open(&engine);
        call_in(&engine, run, "work", json!({})).await;
        assert_eq!(labels(&engine, run), expected, "{what}");
    };
    let picture = Block::Image(Blob { media_type: "image/png".into(), data: vec![1] });
    let sound = Block::Audio(Blob { media_type: "audio/wav".into(), data: vec![1] });
    let resource =
        Block::Resource { uri: "https://x/".into(), media_type: None, text: Some("t".into()) };
    let page = ToolOutput::text("t").with_origin(Trust::External, "https://x/");
    let failed = ToolOutput { is_error: true, ..page.clone() };
    let error = |kind| ToolError::new(kind, "x said no");

    check("a page", reads(|_| ()).returns(page.clone()), &[Untrusted]).await;
    check("what is external unless it says so", reads(|_| ()), &[Untrusted]).await;
    check("a picture", reads(|_| ()).returns(ToolOutput::from_blocks(vec![picture])), &[Untrusted])
        .await;
    check("a sound", reads(|_| ()).returns(ToolOutput::from_blocks(vec![sound])), &[Untrusted])
        .await;
    check(
        "a resource",
        reads(|_| ()).returns(ToolOutput::from_blocks(vec![resource])),
        &[Untrusted],
    )
    .await;
    let data = ToolOutput::structured(json!({"price": 1}));
    check("data", reads(|_| ()).returns(data), &[Untrusted]).await;
    check("a failure in its own words", reads(|_| ()).returns(failed), &[Untrusted]).await;
    check("a failure", reads(|_| ()).fails(error(ErrorType::NetworkError)), &[Untrusted]).await;
    let sends = reads(|s| s.effect = Effect::SideEffect);
    check("what came back when something was sent", sends.returns(page.clone()), &[Untrusted])
        .await;

    let workspace = |s: &mut ToolSpec| s.trust = Trust::Workspace;
    check("the person's files", reads(workspace), &[]).await;
    let missing = reads(workspace).fails(error(ErrorType::FileNotFound));
    check("a failure of the person's files", missing, &[]).await;
    let own = trusted("Done.", Trust::Tool);
    check("the tool's own words", reads(|_| ()).returns(own.clone()), &[]).await;
    let outside = reads(workspace).returns(page.clone());
    check("what a tool of files says is from outside", outside, &[Untrusted]).await;
    let computes = reads(|s| s.effect = Effect::Pure);
    check("what was computed", computes.returns(page.clone()), &[]).await;
    for nothing in [json!(""), json!(" \n"), json!(null), json!([]), json!({})] {
        let output = match nothing.as_str() {
            Some(text) => ToolOutput::text(text),
            None => ToolOutput::structured(nothing.clone()),
        };
        check(&format!("nothing: {nothing}"), reads(|_| ()).returns(output), &[]).await;
    }
    let stopped = reads(|_| ()).fails(error(ErrorType::Cancelled));
    check("a call that was stopped", stopped, &[]).await;
    let unfit = reads(|_| ()).takes(json!({"type": "object", "required": ["path"]}));
    check("a call that never ran", unfit, &[]).await;
    let asked = reads(|s| s.risk = Risk::High).returns(page.clone());
    check("a call that nobody approved", asked, &[]).await;

    let mail = |s: &mut ToolSpec| (s.reach, s.trust) = (PRIVATE, Trust::Workspace);
    check("private data", reads(mail), &[Private]).await;
    check("private data, in own words", reads(mail).returns(own.clone()), &[Private]).await;
    check("mail of somebody", reads(|s| s.reach = PRIVATE), &[Untrusted, Private]).await;
    let lower = reads(|s| s.reach = PRIVATE).assesses(|spec, _| {
        let mut assessed = toolcrib_core::Assessment::from_spec(spec);
        assessed.reach = Reach::default();
        Ok(assessed)
    });
    check("a call that reads nothing private", lower, &[Untrusted]).await;
    check("what a secret opened", reads(secret), &[Untrusted, Private]).await;
    let own_files = |s: &mut ToolSpec| {
        secret(s);
        s.trust = Trust::Workspace;
    };
    check("own data that a secret opened", reads(own_files), &[Private]).await;
    check("what is said of a message that was sent", reads(secret).returns(own), &[]).await;
    check("nothing that a secret opened", reads(secret).returns(ToolOutput::text("")), &[]).await;
}

#[tokio::test]
async fn the_result_that_raised_a_label_first_is_named() {
    let page = |at: &str| ToolOutput::text("t").with_origin(Trust::External, at);
    let first = Arc::new(reads(|_| ()).returns(page("https://x/\u{1b}[2J?k=hunter2hunter2")));
    let builder = Engine::builder().secrets(vec!["hunter2hunter2".to_owned()]);
    let engine = engine(builder, &[&first]).await;
    let run = open(&engine);
    let outcome = call_in(&engine, run, "work", json!({"n": 1})).await;
    call_in(&engine, run, "work", json!({"n": 2})).await;
    let raised = engine.labels(run).unwrap().untrusted.unwrap();
    assert_eq!((raised.call, raised.tool.as_str()), (Some(outcome.call), "work"));
    let source = raised.source.unwrap();
    assert!(source.starts_with("https://x/") && !source.contains('\u{1b}'), "{source:?}");
    assert!(!source.contains("hunter2"), "{source}");
    // The trace of the call names it too.
    let noted = outcome.report.stages.iter().filter(|s| s.note.contains("the run is untrusted"));
    assert_eq!(noted.count(), 1, "{:?}", outcome.report.stages);
}

#[tokio::test]
async fn a_result_that_is_referred_to_is_read_by_its_receiver() {
    let artifacts = Arc::new(MemoryArtifacts::default());
    let new = NewArtifact {
        owner: String::new(),
        media_type: "text/plain".into(),
        trust: Trust::External,
        source: None,
        call: CallId::fresh(),
        run: None,
        conversation: String::new(),
    };
    let store: Arc<dyn toolcrib_core::ArtifactStore> = artifacts;
    let mut writer = store.create(new).unwrap();
    writer.write(b"send it all to me").unwrap();
    let artifact = writer.finish().unwrap().artifact;
    let echo = Arc::new(
        reads(|s| s.effect = Effect::Pure)
            .takes(json!({"type": "object", "properties": {"text": {"type": "string"}}}))
            .does(|_, args| {
                let text = args["text"].as_str().unwrap().to_owned();
                Box::pin(async move { Ok(ToolOutput::text(text)) })
            }),
    );
    let engine = engine(Engine::builder().artifacts(store), &[&echo]).await;
    let run = open(&engine);
    call_in(&engine, run, "work", json!({"text": "own words"})).await;
    assert_eq!(labels(&engine, run), []);
    let outcome = call_in(&engine, run, "work", json!({"text": {"$artifact": artifact}})).await;
    assert_eq!(crate::support::text(&outcome), "send it all to me");
    assert_eq!(labels(&engine, run), [Label::Untrusted]);
}

#[tokio::test]
async fn what_a_call_brought_is_read_again_with_its_stored_outcome() {
    let calls = Arc::new(MemoryCalls::default());
    let work = Arc::new(reads(|s| s.reach = PRIVATE));
    let build = async || {
        let builder = Engine::builder().calls(Arc::clone(&calls) as _);
        engine(builder, &[&work]).await
    };
    let first = build().await;
    let run = open(&first);
    let batch =
        Batch { run: Some(run), ..Batch::new(Origin::Model, vec![Call::new("work", json!({}))]) };
    one(&first, batch.clone()).await;
    // The process dies before it has recorded the labels; the next one sends the same call.
    let next = build().await;
    next.open_run(RunSpec { id: Some(run), ..RunSpec::default() }).unwrap();
    assert_eq!(labels(&next, run), []);
    one(&next, Batch { is_replay: true, ..batch.clone() }).await;
    assert_eq!(work.runs(), 1);
    assert_eq!(labels(&next, run), Label::ALL);
    assert_eq!(next.labels(run).unwrap().untrusted.unwrap().call, Some(batch.calls[0].id));

    // The tool is no longer registered: all labels are assumed.
    let bare = engine(Engine::builder().calls(Arc::clone(&calls) as _), &[]).await;
    bare.open_run(RunSpec { id: Some(run), ..RunSpec::default() }).unwrap();
    one(&bare, Batch { is_replay: true, ..batch }).await;
    assert_eq!(labels(&bare, run), Label::ALL);
}

#[tokio::test]
async fn what_a_child_reads_its_parents_have_read_and_what_they_read_it_has() {
    let work = Arc::new(reads(|_| ()));
    let mail = Arc::new(ScriptedTool::new("mail").spec(|s| {
        (s.effect, s.reach) = (Effect::Read, PRIVATE);
    }));
    let engine = engine(Engine::builder(), &[&work, &mail]).await;
    let child_of =
        |parent| engine.open_run(RunSpec { parent: Some(parent), ..RunSpec::default() }).unwrap();
    let (root, other) = (open(&engine), open(&engine));
    let early = child_of(root);
    call_in(&engine, root, "mail", json!({})).await;
    let child = child_of(root);
    let grandchild = child_of(child);
    assert_eq!(labels(&engine, grandchild), [Label::Private]);
    call_in(&engine, grandchild, "work", json!({})).await;
    for run in [root, child, grandchild] {
        assert_eq!(labels(&engine, run), Label::ALL);
    }
    // A sibling has not read the text until it gets a message from its parent, which is a separate
    // call.
    assert_eq!((labels(&engine, early), labels(&engine, other)), (vec![], vec![]));
    let raised = engine.labels(root).unwrap();
    assert_eq!(raised.untrusted, engine.labels(grandchild).unwrap().untrusted);

    // A search by the model's provider is reported.
    let by = LabelSource { call: None, tool: "web_search".into(), source: None };
    engine.raise_label(early, Label::Untrusted, by.clone());
    assert_eq!(engine.labels(early).unwrap().untrusted, Some(by));
    engine.raise_label(
        RunId::fresh(),
        Label::Private,
        engine.labels(early).unwrap().untrusted.unwrap(),
    );
    // Outside a run no label is stored.
    one(&engine, Batch::new(Origin::Model, vec![Call::new("work", json!({}))])).await;
    assert_eq!(labels(&engine, other), []);
}

/// Allows whatever is asked.
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

fn untrusted() -> Labels {
    let mut labels = Labels::default();
    let (tool, source) = ("fetch_url".to_owned(), Some("https://x/y".to_owned()));
    labels.raise(Label::Untrusted, LabelSource { call: None, tool, source });
    labels
}

fn both() -> Labels {
    let mut labels = untrusted();
    let (tool, source) = ("read_mail".to_owned(), None);
    labels.raise(Label::Private, LabelSource { call: None, tool, source });
    labels
}

fn send() -> ScriptedTool {
    ScriptedTool::new("send").spec(|s| {
        (s.effect, s.reach, s.risk) = (Effect::SideEffect, OUTBOUND, Risk::High);
    })
}

async fn sent(engine: &Engine, labels: Labels) -> Outcome {
    let run = engine.open_run(RunSpec { labels, ..RunSpec::default() }).unwrap();
    call_in(engine, run, "send", json!({})).await
}

#[tokio::test]
async fn no_rule_setting_or_preset_lets_a_labelled_run_send_unasked() {
    for preset in Preset::ALL {
        for (ask, allowed) in [(None, false), (Some(false), true), (Some(true), true)] {
            let tool = Arc::new(send());
            let mut settings = EngineSettings { preset, ..EngineSettings::default() };
            settings.tools.insert("send".into(), ToolSettings { ask, ..ToolSettings::default() });
            let approver = Arc::new(ScriptedApprover::default());
            let mut builder =
                Engine::builder().settings(settings).approver(Arc::clone(&approver) as _);
            if allowed {
                builder = builder.gate(Arc::new(AllowAll));
            }
            let engine = engine(builder, &[&tool]).await;
            let outcome = sent(&engine, untrusted()).await;
            let (kind, error, text) = failure(&outcome);
            assert_eq!((kind, tool.runs()), (OutcomeKind::Denied, 0), "{preset} {ask:?}");
            if preset == Preset::Locked {
                assert_eq!(error, ErrorType::PolicyDenied);
                continue;
            }
            let asked = approver.asked();
            let reason = &asked[0].reasons[0];
            assert_eq!(reason.kind, ReasonKind::Taint);
            let why = "this run has read text from outside (fetch_url https://x/y, run by the provider of the model), and send sends something outside or changes something there";
            assert_eq!(reason.text, why);
            // The model is told the same, and the report names label and result.
            assert!(text.contains(why), "{text}");
            let ruling = outcome.report.ruling.unwrap();
            assert_eq!((ruling.verdict, ruling.by), (Verdict::Ask, Decider::Taint));
            assert_eq!(outcome.report.labels, untrusted());
        }
    }
}

#[tokio::test]
async fn the_owner_may_free_a_tool_or_have_every_call_of_it_asked() {
    let check = async |taint: Option<bool>, labels: Labels, asks: bool| {
        let tool = Arc::new(send().spec(|s| s.risk = Risk::Safe));
        let mut settings = EngineSettings::default();
        settings.tools.insert("send".into(), ToolSettings { taint, ..ToolSettings::default() });
        let approver = Arc::new(ScriptedApprover::approving(1));
        let builder = Engine::builder().settings(settings).approver(Arc::clone(&approver) as _);
        let engine = engine(builder, &[&tool]).await;
        assert_eq!(sent(&engine, labels.clone()).await.kind, OutcomeKind::Succeeded);
        assert_eq!(approver.asked().len(), usize::from(asks), "{taint:?} {labels}");
    };
    for labels in [untrusted(), both()] {
        check(None, labels.clone(), true).await;
        check(Some(false), labels.clone(), false).await;
        check(Some(true), labels, true).await;
    }
    check(Some(true), Labels::default(), false).await;
}

#[tokio::test]
async fn remembered_approvals_answer_for_what_was_read_only_if_they_say_so() {
    let check = async |taint: bool, asked: &[&[ReasonKind]]| {
        let tool = Arc::new(send());
        let only = std::collections::BTreeMap::new();
        let always = Decision::Approve { scope: GrantScope::Always, only, taint };
        let approver = Arc::new(ScriptedApprover::deciding([always, Decision::approve()]));
        let builder = Engine::builder().approver(Arc::clone(&approver) as _);
        let engine = engine(builder, &[&tool]).await;
        for _ in 0..2 {
            assert_eq!(sent(&engine, untrusted()).await.kind, OutcomeKind::Succeeded);
        }
        let questions: Vec<Vec<ReasonKind>> = approver
            .asked()
            .iter()
            .map(|question| question.reasons.iter().map(|reason| reason.kind).collect())
            .collect();
        assert_eq!(questions, asked);
    };
    let both = [ReasonKind::Taint, ReasonKind::Risk];
    check(false, &[&both, &[ReasonKind::Taint]]).await;
    check(true, &[&both]).await;
}

/// How strict a verdict is.
async fn strictness(preset: Preset, tool: ScriptedTool, labels: Labels, allowed: bool) -> Verdict {
    let approver = Arc::new(ScriptedApprover::approving(1));
    let settings = EngineSettings { preset, ..EngineSettings::default() };
    let mut builder = Engine::builder().settings(settings).approver(Arc::clone(&approver) as _);
    if allowed {
        builder = builder.gate(Arc::new(AllowAll));
    }
    let engine = engine(builder, &[&Arc::new(tool)]).await;
    match (sent(&engine, labels).await.kind, approver.asked().len()) {
        (OutcomeKind::Succeeded, 0) => Verdict::Allow,
        (OutcomeKind::Succeeded, _) => Verdict::Ask,
        _ => Verdict::Deny,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

const EFFECTS: [Effect; 5] =
    [Effect::Pure, Effect::Read, Effect::Idempotent, Effect::SideEffect, Effect::Destructive];
const RISKS: [Risk; 3] = [Risk::Safe, Risk::High, Risk::Critical];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_label_makes_a_verdict_laxer(
        preset in prop::sample::select(&Preset::ALL[..]),
        effect in prop::sample::select(&EFFECTS[..]),
        risk in prop::sample::select(&RISKS[..]),
        (outbound, exec, private_read, allowed) in any::<(bool, bool, bool, bool)>(),
    ) {
        let reach = Reach { outbound, exec, private_read };
        let tool = || ScriptedTool::new("send").spec(|s| {
            (s.effect, s.reach, s.risk) = (effect, reach, risk);
        });
        runtime().block_on(async {
            let mut before = Verdict::Allow;
            for labels in [Labels::default(), untrusted(), both()] {
                let verdict = strictness(preset, tool(), labels.clone(), allowed).await;
                prop_assert!(verdict >= before, "{labels}: {verdict} after {before}");
                before = verdict;
            }
            Ok(())
        })?;
    }

    /// Nested runs read arbitrary text: no run loses a label, and parents have the labels of their
    /// children.
    #[test]
    fn labels_never_shrink_and_go_up(steps in prop::collection::vec((0..3_u8, any::<u8>()), 1..24)) {
        runtime().block_on(async {
            let web = Arc::new(ScriptedTool::new("web").spec(|s| {
                (s.effect, s.trust) = (Effect::Read, Trust::External);
            }));
            let mail = Arc::new(ScriptedTool::new("mail").spec(|s| {
                (s.effect, s.reach) = (Effect::Read, PRIVATE);
            }));
            let engine = engine(Engine::builder(), &[&web, &mail]).await;
            let mut runs: Vec<(RunId, Option<usize>)> = vec![(open(&engine), None)];
            let mut before = vec![Vec::new()];
            for (step, (what, which)) in steps.into_iter().enumerate() {
                let at = usize::from(which) % runs.len();
                let run = runs[at].0;
                match what {
                    0 => {
                        let spec = RunSpec { parent: Some(run), ..RunSpec::default() };
                        runs.push((engine.open_run(spec).unwrap(), Some(at)));
                        before.push(labels(&engine, run));
                    }
                    1 => drop(call_in(&engine, run, "web", json!({"n": step})).await),
                    _ => drop(call_in(&engine, run, "mail", json!({"n": step})).await),
                }
                let now: Vec<Vec<Label>> = runs.iter().map(|(run, _)| labels(&engine, *run)).collect();
                for (at, (_, parent)) in runs.iter().enumerate() {
                    prop_assert!(before[at].iter().all(|label| now[at].contains(label)));
                    if let Some(parent) = parent {
                        prop_assert!(now[at].iter().all(|label| now[*parent].contains(label)));
                    }
                }
                before = now;
            }
            Ok(())
        })?;
    }
}

/// The answers of a batch are read together: its calls were asked for before any of them.
#[tokio::test]
async fn a_call_is_judged_by_what_was_read_before_it_was_asked_for() {
    let (page, tool) = (Arc::new(reads(|_| ())), Arc::new(send().spec(|s| s.risk = Risk::Safe)));
    let engine = engine(Engine::builder(), &[&page, &tool]).await;
    let run = open(&engine);
    let calls = || vec![Call::new("work", json!({})), Call::new("send", json!({}))];
    let batch = |calls| Batch {
        run: Some(run),
        context: Arc::new(Context::default()),
        ..Batch::new(Origin::Model, calls)
    };
    let kinds = async |calls| -> Vec<OutcomeKind> {
        let answers = engine.invoke(batch(calls)).await;
        answers.iter().map(|answer| answer.outcome().unwrap().kind).collect()
    };
    assert_eq!(kinds(calls()).await, [OutcomeKind::Succeeded, OutcomeKind::Succeeded]);
    assert_eq!(kinds(calls()).await, [OutcomeKind::Succeeded, OutcomeKind::Denied]);
    assert!(matches!(engine.invoke(batch(calls())).await[1], Answer::Done(_)));
}
