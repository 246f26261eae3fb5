//! Approval races: several deciders on one question, decisions at the deadline, and two processes
//! that continue one decided call. Exactly one decision applies, and the call runs at most once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_app::runner::DeferApproval;
use toolcrib_app::{Decisions, Engine, EngineSettings, Sealing, SecretAccess, Stores};
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalRequest, Batch, Call, Clock, Decision, DecisionRecord, Effect, Invoker as _,
    Origin, OutcomeKind, Risk, SystemClock, ToolOutput,
};
use toolcrib_testkit::{FakeClock, ScriptedTool, fixed_source};

/// Races in a usual test run, and decisions at a deadline; fewer of them on disk, because a debug
/// build makes them slow.
const RACES: usize = 2_000;
const RACES_ON_DISK: usize = 250;
const DEADLINES: usize = 1_000;
const DEADLINES_ON_DISK: usize = 250;
/// Variable that replaces these numbers: `TOOLCRIB_RACES=10000 cargo test --release -p toolcrib-app
/// approval_races` runs the full number.
const VARIABLE: &str = "TOOLCRIB_RACES";
/// Calls that race at the same time: their writes share commits.
const AT_ONCE: usize = 250;

/// Counts the runs of the tool, by the number in its arguments.
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<HashMap<u64, u32>>>);

impl Runs {
    fn tool(&self) -> Arc<ScriptedTool> {
        let runs = self.clone();
        let tool = ScriptedTool::new("erase").does(move |_, args| {
            *runs.0.lock().unwrap().entry(number(args)).or_default() += 1;
            Box::pin(std::future::ready(Ok(ToolOutput::text("gone"))))
        });
        Arc::new(tool.spec(|spec| {
            spec.risk = Risk::High;
            spec.effect = Effect::Destructive;
        }))
    }

    fn of(&self, number: u64) -> u32 {
        self.0.lock().unwrap().get(&number).copied().unwrap_or(0)
    }
}

fn number(args: &Value) -> u64 {
    args["n"].as_u64().unwrap()
}

/// Creates one of several processes on the same stores.
async fn process(
    stores: &Stores,
    clock: &Arc<dyn Clock>,
    wait: Option<Duration>,
    tool: &Arc<ScriptedTool>,
) -> Engine {
    let settings = EngineSettings { approval_timeout: wait, ..EngineSettings::default() };
    let engine = Engine::builder()
        .settings(settings)
        .calls(Arc::clone(&stores.calls))
        .approvals(Arc::clone(&stores.approvals))
        .grants(Arc::clone(&stores.grants))
        .clock(Arc::clone(clock))
        .approver(Arc::new(DeferApproval))
        .build();
    engine.catalog().attach(&fixed_source("test", &[tool])).await.unwrap();
    engine
}

/// Makes calls with these numbers, each of which then waits for a person.
async fn ask(engine: &Engine, numbers: std::ops::Range<u64>) -> Vec<ApprovalRequest> {
    let calls = numbers.map(|n| Call::new("erase", json!({"n": n}))).collect();
    let answers = engine.invoke(Batch::new(Origin::Model, calls)).await;
    let waiting = answers.into_iter().map(|answer| match answer {
        Answer::Suspended(request) => *request,
        Answer::Done(outcome) => panic!("{outcome:?}"),
    });
    waiting.collect()
}

fn record(decision: Decision, by: &str) -> DecisionRecord {
    DecisionRecord { decision, decided_by: by.to_owned(), decided_at: 0 }
}

type Decided = Result<Option<Answer>, DecideError>;

/// Two processes decide, a third stores a decision, and a fourth resumes the call with the stored
/// decision.
async fn race(engines: &[Engine; 2], stores: &Stores, request: &ApprovalRequest, runs: &Runs) {
    let id = request.id;
    let n = number(&request.args);
    let (approve, deny) = (Decision::approve(), Decision::Deny { note: None });
    let [one, other] = engines.clone();
    let second = if n.is_multiple_of(2) { approve.clone() } else { deny };
    let ann = tokio::spawn(async move { one.decide(id, record(approve, "ann")).await });
    let ben = tokio::spawn(async move { other.decide(id, record(second, "ben")).await });
    let written = {
        let stores = stores.clone();
        tokio::spawn(async move {
            let (approvals, grants) = (&*stores.approvals, &*stores.grants);
            let sealing = &Sealing::default();
            let decisions = Decisions {
                approvals,
                grants,
                clock: &SystemClock,
                sealing,
                secret_access: SecretAccess::MayRead,
            };
            decisions.record(id, record(Decision::Skip, "cleo")).await
        })
    };
    let follows = {
        let engine = engines[1].clone();
        tokio::spawn(async move { engine.resume(id).await })
    };
    let decided: [Decided; 2] = [ann.await.unwrap(), ben.await.unwrap()];
    let written = written.await.unwrap();
    // Before the decision, resuming has no effect; afterwards, it resumes the same call.
    let _ = follows.await.unwrap();
    let (_, stored) = stores.approvals.get(id).await.unwrap().unwrap();
    let stored = stored.unwrap();
    let mut winners = usize::from(written.is_ok());
    for decided in &decided {
        match decided {
            Ok(_) => winners += 1,
            Err(DecideError::AlreadyDecided(first)) => assert_eq!(**first, stored),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(winners, 1, "one decision: {decided:?} {written:?}");
    let is_to_run = matches!(stored.decision, Decision::Approve { .. });
    if is_to_run {
        // The process that lost the race does not run the call a second time.
        assert_eq!(runs.of(n), 1, "{n}: {decided:?}");
    } else {
        assert_eq!(runs.of(n), 0, "{n}: {decided:?}");
    }
}

async fn races(stores: Stores, count: usize) {
    let runs = Runs::default();
    let tool = runs.tool();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let engines =
        [process(&stores, &clock, None, &tool).await, process(&stores, &clock, None, &tool).await];
    for begin in (0..count as u64).step_by(AT_ONCE) {
        let waiting = ask(&engines[0], begin..begin + AT_ONCE as u64).await;
        let all = waiting.iter().map(|request| race(&engines, &stores, request, &runs));
        futures_util::future::join_all(all).await;
    }
    assert_eq!(stores.approvals.pending().await.unwrap(), []);
}

fn on_disk(dir: &Path) -> Stores {
    Stores::open(Some(&dir.join("toolcrib.db"))).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_first_decision_in_memory_counts() {
    races(Stores::memory(), number_of(RACES)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_first_decision_in_a_database_counts() {
    let dir = tempfile::tempdir().unwrap();
    races(on_disk(dir.path()), number_of(RACES_ON_DISK)).await;
}

/// Returns the number of races: the usual one, unless the variable is set.
fn number_of(usual: usize) -> usize {
    let wanted = std::env::var(VARIABLE).ok().and_then(|number| number.parse().ok());
    wanted.unwrap_or(usual)
}

/// Makes decisions from 1 ms before the deadline to 1 ms after it, while the clock advances.
async fn late(stores: Stores, count: usize) {
    let runs = Runs::default();
    let tool = runs.tool();
    let clock = Arc::new(FakeClock::at(1_800_000_000_000));
    let shared: Arc<dyn Clock> = Arc::clone(&clock) as _;
    let wait = Some(Duration::from_secs(1));
    let one = process(&stores, &shared, wait, &tool).await;
    let other = process(&stores, &shared, wait, &tool).await;
    let mut granted = 0;
    for begin in (0..count as u64).step_by(AT_ONCE) {
        let waiting = ask(&one, begin..begin + AT_ONCE as u64).await;
        clock.advance(999);
        // One decision certainly arrives at the last moment, the others while the clock advances.
        let last = one.decide(waiting[0].id, record(Decision::approve(), "ann")).await;
        assert!(matches!(last, Ok(Some(Answer::Done(_)))), "{last:?}");
        granted += 1;
        let waiting = &waiting[1..];
        let deciding: Vec<_> = waiting
            .iter()
            .flat_map(|request| {
                let id = request.id;
                [(one.clone(), "ann"), (other.clone(), "ben")].map(|(engine, by)| {
                    tokio::spawn(
                        async move { engine.decide(id, record(Decision::approve(), by)).await },
                    )
                })
            })
            .collect();
        // Let some of the decisions run.
        tokio::task::yield_now().await;
        clock.advance(1);
        tokio::task::yield_now().await;
        clock.advance(1);
        let mut decided = Vec::new();
        for deciding in deciding {
            decided.push(deciding.await.unwrap());
        }
        for (request, pair) in waiting.iter().zip(decided.chunks(2)) {
            let (_, stored) = stores.approvals.get(request.id).await.unwrap().unwrap();
            let stored = stored.unwrap();
            let ran = runs.of(number(&request.args));
            let is_granted = pair.iter().any(Result::is_ok);
            assert_eq!(is_granted, !stored.is_expiry(), "{pair:?} {stored:?}");
            assert_eq!(ran, u32::from(is_granted), "either it ran or it expired: {pair:?}");
            let call = stores.calls.call(request.call).await.unwrap().unwrap();
            let kind = if is_granted { OutcomeKind::Succeeded } else { OutcomeKind::Expired };
            assert_eq!(call.row.end.unwrap().outcome, kind);
            granted += usize::from(is_granted);
            // Setting the clock back does not revive a question.
            clock.advance(-10_000);
            let again = one.decide(request.id, record(Decision::approve(), "ann")).await;
            assert_eq!(again, Err(DecideError::AlreadyDecided(Box::new(stored))));
            clock.advance(10_000);
        }
    }
    assert!(granted < count, "some came too late");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn at_the_deadline_a_call_is_granted_or_expired_in_memory() {
    late(Stores::memory(), number_of(DEADLINES)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn at_the_deadline_a_call_is_granted_or_expired_in_a_database() {
    let dir = tempfile::tempdir().unwrap();
    late(on_disk(dir.path()), number_of(DEADLINES_ON_DISK)).await;
}
