//! Batches that are accepted before they run.

use std::sync::Arc;

use toolcrib_core::{Acceptance, AcceptedBatch, BatchId, CallId, CallStore, StoreError};

use super::call_fixtures::{accepted, json_of, recover_and_take, released_epoch, under_key};

pub(super) async fn batches(here: &Arc<dyn CallStore>, there: &Arc<dyn CallStore>) {
    one_key_is_one_batch(&**here, &**there).await;
    keys_belong_to_their_owners(&**here).await;
    a_process_taken_for_dead_accepts_nothing(&**here).await;
    a_batch_is_taken_only_from_the_dead(&**here, &**there).await;
    what_is_not_there_is_not_taken(&**here).await;
    of_many_one_accepts_and_one_takes(here, there).await;
}

fn batch(epoch: u64) -> AcceptedBatch {
    accepted("ann", &[CallId::fresh(), CallId::fresh()], epoch)
}

async fn assert_known(
    store: &dyn CallStore,
    sent: AcceptedBatch,
    first: &AcceptedBatch,
    worked_on: bool,
) {
    match store.accept(sent).await.unwrap() {
        Acceptance::New => panic!("{:?} was accepted twice", first.key),
        Acceptance::Known { first: found, is_owner_alive: is_worked_on } => {
            assert_eq!(json_of(&found), json_of(first));
            assert_eq!(is_worked_on, worked_on);
        }
    }
}

pub(super) async fn assert_new(store: &dyn CallStore, batch: &AcceptedBatch) {
    let answer = store.accept(batch.clone()).await.unwrap();
    assert!(matches!(answer, Acceptance::New), "{answer:?}");
}

async fn one_key_is_one_batch(here: &dyn CallStore, there: &dyn CallStore) {
    let (mine, theirs) = (here.claim().await.unwrap(), there.claim().await.unwrap());
    let key = "order 17 \u{e9}\u{0}\"";
    let first = under_key(batch(mine), key, "f1");
    assert_new(here, &first).await;
    for (store, epoch) in [(here, mine), (there, theirs)] {
        assert_known(store, under_key(batch(epoch), key, "f1"), &first, true).await;
        let other = store.accept(under_key(batch(epoch), key, "f2")).await;
        assert!(matches!(other, Err(StoreError::Conflict(_))), "{other:?}");
    }
    // Without a key every batch is new, and so is every other key.
    for _ in 0..2 {
        assert_new(here, &batch(mine)).await;
    }
    assert_new(here, &under_key(batch(mine), "order 17", "f1")).await;
    assert_new(here, &under_key(batch(mine), "ORDER 18", "f1")).await;
    assert_new(here, &under_key(batch(mine), "order 18", "f1")).await;
    here.release(mine).await.unwrap();
    assert_known(there, under_key(batch(theirs), key, "f1"), &first, false).await;
    recover_and_take(there, theirs, 5_000).await.unwrap();
    let taken = AcceptedBatch { epoch: theirs, ..first };
    assert_known(there, under_key(batch(theirs), key, "f1"), &taken, true).await;
    // The key outlives the batch's work.
    there.finish_batch(taken.id).await.unwrap();
    let other = there.accept(under_key(batch(theirs), key, "f2")).await;
    assert!(matches!(other, Err(StoreError::Conflict(_))), "{other:?}");
    let again = there.accept(under_key(batch(theirs), key, "f1")).await.unwrap();
    let Acceptance::Known { first, .. } = again else { panic!("a key was forgotten") };
    assert_eq!(json_of(&first), json_of(&taken));
    there.release(theirs).await.unwrap();
}

async fn keys_belong_to_their_owners(store: &dyn CallStore) {
    let epoch = store.claim().await.unwrap();
    for owner in ["ann", "ben", "", "an"] {
        let batch = accepted(owner, &[CallId::fresh()], epoch);
        assert_new(store, &under_key(batch.clone(), "shared key", owner)).await;
    }
    // Owner and key are two words, not one text.
    for (owner, key) in [("own", "erkey"), ("owner", "key")] {
        let batch = accepted(owner, &[CallId::fresh()], epoch);
        assert_new(store, &under_key(batch, key, "f")).await;
    }
    store.release(epoch).await.unwrap();
}

async fn a_process_taken_for_dead_accepts_nothing(store: &dyn CallStore) {
    let lost = released_epoch(store).await;
    let sent = [batch(lost), under_key(batch(lost), "of a dead one", "f")];
    for batch in &sent {
        let answer = store.accept(batch.clone()).await;
        assert!(matches!(answer, Err(StoreError::Fenced { .. })), "{answer:?}");
    }
    let epoch = store.claim().await.unwrap();
    let found = recover_and_take(store, epoch, 5_000).await.unwrap();
    assert!(found.batches.iter().all(|b| sent.iter().all(|s| s.id != b.id)), "{found:?}");
    assert_new(store, &under_key(batch(epoch), "of a dead one", "other")).await;
    store.release(epoch).await.unwrap();
}

async fn a_batch_is_taken_only_from_the_dead(here: &dyn CallStore, there: &dyn CallStore) {
    let (mine, theirs) = (here.claim().await.unwrap(), there.claim().await.unwrap());
    let first = under_key(batch(mine), "taken", "f");
    assert_new(here, &first).await;
    assert_eq!(there.take_batch(first.id, theirs).await, Ok(false));
    here.release(mine).await.unwrap();
    let lost = released_epoch(here).await;
    let answer = here.take_batch(first.id, lost).await;
    assert!(matches!(answer, Err(StoreError::Fenced { .. })), "{answer:?}");
    assert_eq!(there.take_batch(first.id, theirs).await, Ok(true));
    assert_eq!(there.take_batch(first.id, theirs).await, Ok(false));
    let taken = AcceptedBatch { epoch: theirs, ..first };
    assert_known(there, under_key(batch(theirs), "taken", "f"), &taken, true).await;
    let next = here.claim().await.unwrap();
    let found = recover_and_take(here, next, 5_000).await.unwrap();
    assert!(found.batches.iter().all(|batch| batch.id != taken.id), "{found:?}");
    there.release(theirs).await.unwrap();
    let found = recover_and_take(here, next, 5_000).await.unwrap();
    assert!(found.batches.iter().any(|batch| batch.id == taken.id), "{found:?}");
    let call = taken.batch.calls.first().map(|call| call.id).unwrap();
    let open = there.batch_of(call).await.unwrap();
    assert_eq!(open.map(|batch| (batch.id, batch.epoch)), Some((taken.id, next)));
    here.finish_batch(taken.id).await.unwrap();
    assert!(there.batch_of(call).await.unwrap().is_none());
    here.release(next).await.unwrap();
}

async fn what_is_not_there_is_not_taken(store: &dyn CallStore) {
    let epoch = store.claim().await.unwrap();
    assert_eq!(store.take_batch(BatchId::fresh(), epoch).await, Ok(false));
    let answer = store.finish_batch(BatchId::fresh()).await;
    assert!(matches!(answer, Err(StoreError::Missing(_))), "{answer:?}");
    store.release(epoch).await.unwrap();
}

async fn of_many_one_accepts_and_one_takes(here: &Arc<dyn CallStore>, there: &Arc<dyn CallStore>) {
    for round in 0..10 {
        let key = format!("race {round}");
        let (mine, theirs) = (here.claim().await.unwrap(), there.claim().await.unwrap());
        let handles = [(here, mine), (there, theirs)];
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..8 {
            let (store, epoch) = handles[task % 2];
            let (store, sent) = (Arc::clone(store), under_key(batch(epoch), &key, "f"));
            tasks.spawn(async move { (sent.clone(), store.accept(sent).await.unwrap()) });
        }
        let answers = tasks.join_all().await;
        let (new, known): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|(_, answer)| matches!(answer, Acceptance::New));
        assert_eq!((new.len(), known.len()), (1, 7));
        let accepted = &new[0].0;
        for (_, answer) in known {
            let Acceptance::Known { first, is_owner_alive: is_worked_on } = answer else {
                unreachable!()
            };
            assert_eq!(json_of(&first), json_of(accepted));
            assert!(is_worked_on);
        }
        here.release(mine).await.unwrap();
        there.release(theirs).await.unwrap();

        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..8 {
            let (store, id) = (Arc::clone(handles[task % 2].0), accepted.id);
            tasks.spawn(async move {
                let epoch = store.claim().await.unwrap();
                (epoch, store.take_batch(id, epoch).await.unwrap())
            });
        }
        let taken = tasks.join_all().await;
        assert_eq!(taken.iter().filter(|(_, taken)| *taken).count(), 1, "{taken:?}");
        here.finish_batch(accepted.id).await.unwrap();
        for (epoch, _) in taken {
            here.release(epoch).await.unwrap();
        }
    }
}
