//! Tests of taint labels: stored with the messages that cause them, and restored in every process
//! that continues the run.

use toolcrib_core::{
    CancellationToken, ErrorType, Invoker, Label, LabelSource, Labels, Reach, RunStore as _, Trust,
};
use toolcrib_providers::HostedCall;
use toolcrib_providers::model::{DeltaSink, ModelError, ModelInfo, ModelReply, ModelRequest};

use super::compaction::exchanges;
use super::pause_and_resume::Answers;
use super::*;
use crate::driver::{labels, restore};

/// A tool that returns untrusted text.
fn page() -> Arc<ScriptedTool> {
    let page = ToolOutput::text("words").with_origin(Trust::External, "https://x/");
    Arc::new(ScriptedTool::new("page").returns(page).spec(|spec| spec.effect = Effect::Read))
}

/// A tool that sends, with a risk that needs no approval.
fn send() -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new("send").spec(|spec| {
        spec.effect = Effect::SideEffect;
        spec.reach = Reach { outbound: true, ..Reach::default() };
    }))
}

fn kinds(labels: &Labels) -> Vec<Label> {
    labels.iter().map(|(label, _)| label).collect()
}

async fn stored(scene: &Scene, run: RunId) -> toolcrib_core::StoredRun {
    scene.store.run(run).await.unwrap().unwrap()
}

#[tokio::test]
async fn what_was_read_is_stored_and_taken_up_by_the_next_process() {
    let asks = ScriptTurn::call("ask_user", json!({"question": "Go on?"}));
    let turns = [call("page", 1), asks, call("send", 1), say("done")];
    let scene = Scene::new(turns.clone(), &[&page()]).await;
    let ran = scene.run().await;
    assert_eq!(ran.end(), "paused");
    let run = ran.machine.state().run;
    let left = stored(&scene, run).await;
    assert_eq!(labels(&left).unwrap(), ran.machine.state().labels);
    let source = &ran.machine.state().labels.untrusted.as_ref().unwrap().source;
    assert_eq!(source.as_deref(), Some("https://x/"));

    // Another process and engine that know only what is stored.
    let send = send();
    let mut next = Scene::new(turns, &[&send]).await;
    next.store = Arc::clone(&scene.store);
    next.approvals = Arc::clone(&scene.approvals);
    let taken = next.store.claim_run(left.id, left.epoch).await.unwrap();
    let messages = next.store.messages(taken.conversation, 0).await.unwrap();
    let (machine, used, _) = restore(&taken, messages).unwrap();
    next.person = Arc::new(Answers("yes"));
    let job = RunJob { used, epoch: taken.epoch, resumed: true, ..next.job() };
    let ran = next.drive(machine, &job).await;
    assert_eq!((ran.end(), send.runs()), ("completed", 0));
    assert_eq!(ran.answers(2)[0]["error_type"], json!(ErrorType::ApprovalDenied));
    assert_eq!(kinds(&labels(&stored(&next, run).await).unwrap()), [Label::Untrusted]);
}

#[tokio::test]
async fn a_run_that_was_stored_before_there_were_labels_has_none_and_broken_ones_stop() {
    let scene = Scene::new([say("done")], &[]).await;
    let ran = scene.run().await;
    let mut run = stored(&scene, ran.machine.state().run).await;
    assert_eq!(run.state.pointer("/state/labels"), None, "what is not there is not written");
    assert_eq!(labels(&run).unwrap(), Labels::default());
    let messages = scene.store.messages(run.conversation, 0).await.unwrap();
    assert_eq!(restore(&run, messages.clone()).unwrap().0, ran.machine);
    run.state["state"]["labels"] = json!({"untrusted": "yes"});
    assert!(labels(&run).is_err());
    assert!(restore(&run, messages).is_err());
}

#[tokio::test]
async fn a_summary_of_what_was_read_is_as_untrusted_as_that_was() {
    let send = send();
    let turns = [say("They counted to four.").for_summary(), call("send", 1), say("done")];
    let mut scene = Scene::new(turns, &[&send]).await;
    scene.windows = ContextWindows::builtin().unwrap().with_override("*", 1_000).unwrap();
    let conversation = ConversationId::fresh();
    scene.store.put_conversation(untitled(conversation)).await.unwrap();
    let history = exchanges(8, 400);
    let (run, rounds) = (RunId::fresh(), scene.rounds);
    let mut machine = Machine::begin(run, conversation, history, typed("go"), rounds);
    let mut before = Labels::default();
    before.raise(Label::Untrusted, LabelSource { call: None, tool: "page".into(), source: None });
    machine.add_labels(&before);
    let ran = scene.drive(machine, &scene.job()).await;
    assert!(ran.events.iter().any(|event| matches!(event, Event::Compaction { .. })));
    assert_eq!((ran.end(), send.runs()), ("completed", 0));
    assert_eq!(ran.machine.state().labels, before);
}

/// A model whose provider searches the web for its first answer.
struct Searches(Arc<TestModel>);

impl Model for Searches {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn tool_format(&self) -> toolcrib_providers::Format {
        self.0.tool_format()
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
        cancel: &'a CancellationToken,
    ) -> toolcrib_core::BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let mut reply = self.0.ask(request, deltas, cancel).await?;
            if self.0.asked().len() == 1 {
                let (kind, name) = ("server_tool_use".to_owned(), Some("web_search".to_owned()));
                reply.turn.hosted.push(HostedCall { id: None, kind, name, item: Value::Null });
            }
            Ok(reply)
        })
    }
}

#[tokio::test]
async fn what_the_provider_looked_up_the_run_has_read() {
    let check = async |searches: bool, runs: usize| {
        let send = send();
        let scene = Scene::new([call("send", 1), say("done")], &[&send]).await;
        let mut job = scene.job();
        if searches {
            job.models = vec![Arc::new(Searches(Arc::clone(&scene.models[0])))];
        }
        let conversation = ConversationId::fresh();
        scene.store.put_conversation(untitled(conversation)).await.unwrap();
        let run = RunId::fresh();
        let machine = Machine::begin(run, conversation, Vec::new(), typed("go"), scene.rounds);
        let ran = scene.drive(machine, &job).await;
        assert_eq!((ran.end(), send.runs()), ("completed", runs));
        let raised = &ran.machine.state().labels.untrusted;
        let by = LabelSource { call: None, tool: "web_search".into(), source: None };
        assert_eq!(raised.as_ref(), searches.then_some(&by));
        // The run is closed: its labels are known from its state only.
        assert_eq!(scene.engine.labels(run), None);
    };
    check(false, 1).await;
    check(true, 0).await;
}
