//! Tests of checkpoints: a run is stored before its calls run; if that fails, they do not run.

use std::sync::atomic::{AtomicUsize, Ordering};

use toolcrib_core::{BoxFuture, RunStatus, RunStore as _, StoreError, StoredMessage, StoredRun};

use super::super::DriveError;
use super::*;

/// Refuses one checkpoint, as a full disk does for a moment.
struct Flaky {
    runs: MemoryRuns,
    refused: usize,
    seen: AtomicUsize,
    fault: Mutex<Option<StoreError>>,
}

kept_by_its_runs!(Flaky);

impl ConversationAndRunStore for Flaky {
    fn checkpoint(&self, run: StoredRun, messages: Vec<StoredMessage>) {
        if self.seen.fetch_add(1, Ordering::SeqCst) == self.refused {
            *self.fault.lock().unwrap() = Some(StoreError::Full("for a moment".into()));
        } else {
            self.runs.checkpoint(run, messages);
        }
    }

    fn flush(&self, run: RunId) -> BoxFuture<'_, Result<(), StoreError>> {
        let fault = self.fault.lock().unwrap().take();
        Box::pin(async move {
            // A store keeps only the first error.
            let own = self.runs.flush(run).await;
            fault.map_or(own, Err)
        })
    }
}

fn turns() -> [ScriptTurn; 3] {
    [call("look", 1), call("look", 2), say("done")]
}

#[tokio::test]
async fn a_checkpoint_that_failed_does_not_spoil_those_after_it() {
    for refused in 0..7 {
        let look = echo("look");
        let scene = Scene::new(turns(), &[&look]).await;
        let store = Arc::new(Flaky {
            runs: MemoryRuns::default(),
            refused,
            seen: AtomicUsize::new(0),
            fault: Mutex::default(),
        });
        let driver = Driver { store: Arc::clone(&store) as _, ..scene.driver() };
        let (conversation, run) = (ConversationId::fresh(), RunId::fresh());
        store.put_conversation(untitled(conversation)).await.unwrap();
        let mut machine = Machine::begin(run, conversation, Vec::new(), typed("go"), scene.rounds);
        let driven = driver.drive(&mut machine, &scene.job(), &scene.control).await.unwrap();
        assert!(matches!(driven, DriveOutcome::Ended(_)), "{driven:?}");
        let stored = store.runs.messages(conversation, 0).await.unwrap();
        assert_eq!(stored.len(), machine.history().len(), "refused {refused}");
        let bodies = machine.history().iter().map(|m| serde_json::to_value(&**m).unwrap());
        assert!(stored.iter().map(|m| m.body.clone()).eq(bodies), "refused {refused}");
        assert_eq!(store.runs.run(run).await.unwrap().unwrap().status, RunStatus::Ended);
    }
}

#[tokio::test]
async fn a_run_that_another_process_has_taken_runs_no_more_calls() {
    let look = echo("look");
    let mut scene = Scene::new(turns(), &[&look]).await;
    let (conversation, run) = (ConversationId::fresh(), RunId::fresh());
    scene.store.put_conversation(untitled(conversation)).await.unwrap();
    let store = Arc::clone(&scene.store);
    let thief = Arc::clone(&store);
    // When the second answer of the model arrives, another process has taken the run.
    let answers = AtomicUsize::new(0);
    scene.looks = Arc::new(move |event| {
        if let Event::Answer { .. } = event
            && answers.fetch_add(1, Ordering::SeqCst) == 1
        {
            let taken = futures_util::FutureExt::now_or_never(thief.claim_run(run, 0));
            taken.unwrap().unwrap();
        }
    });
    let mut machine = Machine::begin(run, conversation, Vec::new(), typed("go"), scene.rounds);
    let driven = scene.driver().drive(&mut machine, &scene.job(), &scene.control).await;
    let lost = matches!(&driven, Err(DriveError::Store(StoreError::Fenced { .. })));
    assert!(lost, "{driven:?}");
    assert_eq!(look.runs(), 1, "nothing runs for whoever has lost the run");
}
