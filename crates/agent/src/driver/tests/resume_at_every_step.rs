//! Property test: a run can be stored at every step, restored in a new process and finished, with
//! the same result.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use toolcrib_core::{
    ApprovalRequest, ApprovalStore, BoxFuture, CallId, Decision, DecisionRecord, StoreError,
    StoredMessage, StoredRun, ToolError,
};
use toolcrib_engine::store::MemoryApprovals;
use toolcrib_providers::model::{ModelInfo, ModelRequest};
use toolcrib_providers::quirks::{Dialect, Server};
use toolcrib_providers::request::render_body;

use super::super::restore;
use super::pause_and_resume::Later;
use super::*;
use crate::context::wire_check;
use crate::machine::{Pending, PendingKind, Phase, Question, QuestionAnswer, State};

/// The stored state of each step.
#[derive(Default)]
struct Steps {
    runs: MemoryRuns,
    steps: Mutex<Vec<(StoredRun, Vec<StoredMessage>)>>,
    messages: Mutex<Vec<StoredMessage>>,
    /// The position of every written message, in order.
    written: Mutex<Vec<u64>>,
    /// Sends a message when the run is over.
    late: Mutex<Option<RunControl>>,
}

kept_by_its_runs!(Steps);

impl ConversationAndRunStore for Steps {
    fn checkpoint(&self, run: StoredRun, messages: Vec<StoredMessage>) {
        let mut all = self.messages.lock().unwrap();
        for message in messages {
            let seq = usize::try_from(message.seq).unwrap();
            assert!(seq <= all.len(), "no gap");
            self.written.lock().unwrap().push(message.seq);
            all.truncate(seq);
            all.push(message);
        }
        let is_over = run.state["state"]["phase"]["phase"] == "ended";
        if let Some(control) = self.late.lock().unwrap().take_if(|_| is_over) {
            control.queue_message(typed("one more thing"));
        }
        self.steps.lock().unwrap().push((run, all.clone()));
    }

    fn flush(&self, _: RunId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A person whose answers depend on the question only.
struct Steady;

fn number(args: &Value) -> u64 {
    args["n"].as_u64().unwrap_or(0)
}

impl HumanInput for Steady {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>> {
        let said = match question.question.len() % 3 {
            0 => QuestionAnswer::Skipped,
            _ => QuestionAnswer::Answered { text: format!("about {}", question.question) },
        };
        Box::pin(std::future::ready(Some(said)))
    }

    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        let decision = match number(&request.args) % 4 {
            0 => Decision::approve(),
            1 => Decision::Deny { note: Some("no".into()) },
            2 => Decision::Edit { args: json!({"n": 4_000}) },
            _ => Decision::Skip,
        };
        let record = DecisionRecord { decision, decided_by: "ann".to_owned(), decided_at: 0 };
        Box::pin(std::future::ready(Some(record)))
    }
}

fn tools() -> [Arc<ScriptedTool>; 4] {
    let broken = ScriptedTool::new("broken").does(|_, args| {
        let error = ToolError::execution(format!("it broke at {}", number(args)));
        Box::pin(std::future::ready(Err(error)))
    });
    // Repeats its results, so that the stall guard has something to remember.
    let dull = ScriptedTool::new("dull").does(|_, args| {
        let text = format!("nothing in {}", number(args) % 2);
        Box::pin(std::future::ready(Ok(ToolOutput::text(text))))
    });
    [echo("look"), Arc::new(risky("delete")), Arc::new(broken), Arc::new(dull)]
}

/// One round of a script: whether it has a text, and the kinds of its calls.
type Round = (bool, Vec<u8>);

fn turns(rounds: &[Round]) -> Vec<ScriptTurn> {
    let n = AtomicUsize::new(0);
    let turn = |(says, calls): &Round| {
        let first =
            ScriptTurn { say: says.then(|| "Let me see.".to_owned()), ..Default::default() };
        let turn = calls.iter().fold(first, |turn, kind| {
            let n = n.fetch_add(1, Ordering::Relaxed);
            let args = json!({"n": n});
            match kind {
                0 => turn.and_call("look", args),
                1 => turn.and_call("broken", args),
                2 | 3 => turn.and_call("dull", args),
                4 => turn.and_call("ask_user", json!({"question": "?".repeat(n + 1)})),
                5 | 6 => turn.and_call("delete", args),
                7 => turn.and_call(format!("unknown_{n}"), args),
                _ => turn.and_call("look", Value::String(format!("{{\"n\": {n}, broken"))),
            }
        });
        // An empty turn becomes an empty answer.
        if turn.say.is_none() && turn.calls.is_empty() { say("") } else { turn.used(10, 5) }
    };
    rounds.iter().map(turn).chain([say("done"), say("done again")]).collect()
}

struct Setting {
    rounds: Vec<Round>,
    rounds_limit: u32,
    calls: u64,
}

impl Setting {
    /// A separate process: engine, tools, model.
    async fn process(&self, approvals: &Arc<dyn ApprovalStore>) -> Scene {
        let engine = Engine::builder().approver(Arc::new(Later));
        let (kept, tools) = (Arc::clone(approvals), tools());
        let tools: Vec<_> = tools.iter().collect();
        let mut scene = Scene::keeping(kept, engine, turns(&self.rounds), &tools).await;
        scene.person = Arc::new(Steady);
        scene.rounds = Some(self.rounds_limit);
        scene.limits.calls = Some(self.calls);
        scene
    }

    async fn check(&self) {
        let approvals: Arc<dyn ApprovalStore> = Arc::new(MemoryApprovals::default());
        let scene = self.process(&approvals).await;
        let store = Arc::new(Steps::default());
        let driver = Driver { store: Arc::clone(&store) as _, ..scene.driver() };
        let (run, conversation) = (RunId::fresh(), ConversationId::fresh());
        let mut machine = Machine::begin(run, conversation, Vec::new(), typed("go"), scene.rounds);
        driver.drive(&mut machine, &scene.job(), &scene.control).await.unwrap();
        let steps = store.steps.lock().unwrap().clone();
        let used = &steps.last().unwrap().0.state["used"];
        for (at, (stored, messages)) in steps.iter().enumerate() {
            check_sent(messages);
            let (fork, kept) = self.go_on(stored, messages, &approvals).await;
            assert_eq!(plain(&fork), plain(&machine), "from step {at} of {}", steps.len());
            assert_eq!((fork.state(), fork.next()), (machine.state(), machine.next()), "step {at}");
            for counter in ["calls", "tokens"] {
                assert_eq!(kept[counter], used[counter], "{counter} from step {at}");
            }
        }
    }

    /// Restores a step in a separate process and finishes it there.
    async fn go_on(
        &self,
        stored: &StoredRun,
        messages: &[StoredMessage],
        approvals: &Arc<dyn ApprovalStore>,
    ) -> (Machine, Value) {
        let (mut machine, used, _) = restore(stored, messages.to_vec()).unwrap();
        let own: Arc<dyn ApprovalStore> = Arc::new(MemoryApprovals::default());
        if let Phase::Person { pending } = &machine.state().phase {
            for question in questions(pending) {
                let (waiting, _) = approvals.get(question.id).await.unwrap().unwrap();
                own.ask(waiting).await.unwrap();
            }
        }
        let scene = self.process(&own).await;
        let store = Arc::new(Steps::default());
        store.messages.lock().unwrap().extend(messages.iter().cloned());
        let driver = Driver { store: Arc::clone(&store) as _, ..scene.driver() };
        let job = RunJob { used, resumed: true, ..scene.job() };
        driver.drive(&mut machine, &job, &scene.control).await.unwrap();
        let steps = store.steps.lock().unwrap();
        (machine, steps.last().unwrap().0.state["used"].clone())
    }
}

fn questions(pending: &[Pending]) -> impl Iterator<Item = &ApprovalRequest> {
    pending.iter().filter_map(|wait| match &wait.what {
        PendingKind::Approval(request) => Some(&**request),
        PendingKind::Answer(_) => None,
    })
}

/// The history without the ids of its calls.
fn plain(machine: &Machine) -> Vec<Value> {
    let without = |message: &Arc<Message>| {
        let mut message = Message::clone(message);
        if let Message::Model(model) = &mut message {
            let mut value = serde_json::to_value(&*model).unwrap();
            for answer in value["answers"].as_array_mut().unwrap() {
                assert!(answer["call"].take().as_str().unwrap().parse::<CallId>().is_ok());
                // On a busy machine a step takes some milliseconds in one of the two runs.
                answer["elapsed_ms"].take();
            }
            return value;
        }
        serde_json::to_value(&message).unwrap()
    };
    machine.history().iter().map(without).collect()
}

/// Every provider gets exactly one result for each call, at any step.
fn check_sent(stored: &[StoredMessage]) {
    let messages: Vec<Arc<Message>> = stored
        .iter()
        .map(|message| Arc::new(serde_json::from_value(message.body.clone()).unwrap()))
        .collect();
    let calls = messages.iter().map(|message| match &**message {
        Message::Model(message) => message.turn.calls.len(),
        Message::User(_) => 0,
    });
    let calls: usize = calls.sum();
    let request = ModelRequest {
        system: "Be brief.".to_owned(),
        messages: messages.clone(),
        tools: None,
        temperature: None,
        max_output: None,
        stream: false,
    };
    for server in [Server::OpenaiChat, Server::OpenaiResponses, Server::Anthropic, Server::Gemini] {
        let dialect = Dialect::new(server);
        for provider in ["scripted", "another"] {
            let info = ModelInfo {
                provider: provider.to_owned(),
                model: "script".to_owned(),
                format: dialect.format,
                scripted: false,
                on_device: false,
                requested_window: None,
            };
            let body = serde_json::from_slice(&render_body(&info, &dialect, &request)).unwrap();
            assert_eq!(wire_check::check(dialect.format, &body), calls);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_run_that_is_taken_up_at_any_step_comes_to_the_same_end(
        rounds in prop::collection::vec((any::<bool>(), prop::collection::vec(0..9u8, 0..4)), 0..6),
        rounds_limit in 1..8u32,
        calls in 2..20u64,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(Setting { rounds, rounds_limit, calls }.check());
    }
}

#[tokio::test]
async fn what_is_written_just_after_the_end_is_given_back() {
    let scene = Scene::new([say("done")], &[]).await;
    let store = Arc::new(Steps::default());
    *store.late.lock().unwrap() = Some(scene.control.clone());
    let driver = Driver { store: Arc::clone(&store) as _, ..scene.driver() };
    let (run, conversation) = (RunId::fresh(), ConversationId::fresh());
    let mut machine = Machine::begin(run, conversation, Vec::new(), typed("go"), Some(3));
    driver.drive(&mut machine, &scene.job(), &scene.control).await.unwrap();
    assert_eq!(scene.control.take_messages(), [typed("one more thing")]);
}

#[tokio::test]
async fn a_message_is_written_when_it_is_new_and_when_its_calls_are_answered() {
    let scene = Scene::new([call("look", 1), call("look", 2), say("done")], &[&echo("look")]).await;
    let store = Arc::new(Steps::default());
    let driver = Driver { store: Arc::clone(&store) as _, ..scene.driver() };
    let mut machine =
        Machine::begin(RunId::fresh(), ConversationId::fresh(), Vec::new(), typed("go"), Some(3));
    driver.drive(&mut machine, &scene.job(), &scene.control).await.unwrap();
    assert_eq!(*store.written.lock().unwrap(), [0, 1, 1, 2, 2, 3]);
    assert_eq!(store.messages.lock().unwrap().len(), machine.history().len());
    let stored = store.messages.lock().unwrap().clone();
    for (stored, message) in stored.iter().zip(machine.history()) {
        assert_eq!(stored.body, serde_json::to_value(&**message).unwrap(), "as it is in the end");
    }
}

/// The state contains everything that another process needs: it survives its JSON form.
#[test]
fn the_state_survives_its_json() {
    let machine =
        Machine::begin(RunId::fresh(), ConversationId::fresh(), Vec::new(), typed("go"), Some(3));
    let text = serde_json::to_string(machine.state()).unwrap();
    assert_eq!(&serde_json::from_str::<State>(&text).unwrap(), machine.state());
}
