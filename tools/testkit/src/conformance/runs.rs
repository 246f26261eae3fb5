//! Runs, and checkpoints of runs with their messages.

use serde_json::json;
use toolcrib_core::{
    Context, Conversation, ConversationAndRunStore, ConversationId, ConversationStore,
    DeletedConversation, OpenRun, RunId, RunStatus, StoreError, StoredMessage, StoredRun,
};

use super::fixtures::{conversation, message, run};

/// Runs are fenced by their epoch, taken once, and keep their owner.
///
/// # Panics
/// When the store does something else.
pub async fn runs(store: &dyn ConversationAndRunStore) {
    a_run_comes_back(store).await;
    an_older_epoch_is_fenced_off(store).await;
    a_run_is_taken_at_its_epoch(store).await;
    of_two_that_take_a_left_run_one_wins(store).await;
    lists_are_of_one_owner_and_status(store).await;
    every_process_sees_open_runs(store).await;
    a_deleted_conversation_takes_its_runs_along(store).await;
    a_deleted_conversation_comes_back_as_it_was(store).await;
    deleted_conversations_are_purged(store).await;
}

/// A checkpoint writes a run and its messages, both or neither, in order; its error comes with the
/// next flush of that run.
///
/// # Panics
/// When the store does something else.
pub async fn checkpoints(store: &dyn ConversationAndRunStore) {
    rounds_are_written_in_order(store).await;
    errors_come_with_the_flush(store).await;
    a_fenced_checkpoint_writes_nothing(store).await;
}

async fn talk(store: &dyn ConversationStore, owner: &str) -> Conversation {
    let made = conversation(owner);
    store.put_conversation(made.clone()).await.unwrap();
    made
}

async fn a_run_comes_back(store: &dyn ConversationAndRunStore) {
    let made = run(&talk(store, "ann").await);
    assert_eq!(store.run(made.id).await, Ok(None));
    store.put_run(made.clone()).await.unwrap();
    assert_eq!(store.run(made.id).await, Ok(Some(made.clone())));
    let ended = StoredRun {
        status: RunStatus::Ended,
        state: json!({"answer": "42", "usage": {"z": 1, "a": 2}}),
        context: Context { device: "phone".into(), ..made.context.clone() },
        updated_at: 3_000,
        epoch: 4,
        ..made.clone()
    };
    store.put_run(ended.clone()).await.unwrap();
    assert_eq!(store.run(made.id).await, Ok(Some(ended.clone())));
    let stolen = StoredRun { context: Context::default(), ..ended.clone() };
    assert!(matches!(store.put_run(stolen).await, Err(StoreError::Conflict(_))));
    let nowhere = StoredRun { conversation: ConversationId::fresh(), ..ended.clone() };
    assert!(matches!(store.put_run(nowhere.clone()).await, Err(StoreError::Missing(_))));
    let nowhere = StoredRun { id: RunId::fresh(), ..nowhere };
    assert!(matches!(store.put_run(nowhere).await, Err(StoreError::Missing(_))));
    assert_eq!(store.run(made.id).await, Ok(Some(ended)));
}

async fn an_older_epoch_is_fenced_off(store: &dyn ConversationAndRunStore) {
    let mine = StoredRun { epoch: 3, ..run(&talk(store, "ann").await) };
    store.put_run(mine.clone()).await.unwrap();
    store.put_run(mine.clone()).await.unwrap();
    let old = StoredRun { epoch: 2, state: json!("lost"), ..mine.clone() };
    let fenced = Err(StoreError::Fenced { current: 3, claimed: 2 });
    assert_eq!(store.put_run(old).await, fenced);
    assert_eq!(store.run(mine.id).await, Ok(Some(mine)));
}

async fn a_run_is_taken_at_its_epoch(store: &dyn ConversationAndRunStore) {
    for status in [RunStatus::Running, RunStatus::Paused] {
        let left = StoredRun { status, epoch: 3, ..run(&talk(store, "ann").await) };
        assert!(matches!(store.claim_run(left.id, 3).await, Err(StoreError::Missing(_))));
        store.put_run(left.clone()).await.unwrap();
        let conflict = Err(StoreError::Conflict(status.as_str().into()));
        for epoch in [2, 4] {
            assert_eq!(store.claim_run(left.id, epoch).await, conflict);
        }
        assert_eq!(store.run(left.id).await, Ok(Some(left.clone())));
        let taken = StoredRun { status: RunStatus::Running, epoch: 4, ..left.clone() };
        assert_eq!(store.claim_run(left.id, 3).await, Ok(taken.clone()));
        assert_eq!(store.run(left.id).await, Ok(Some(taken.clone())));
        // The process that left it has lost it.
        let fenced = Err(StoreError::Fenced { current: 4, claimed: 3 });
        assert_eq!(store.put_run(left).await, fenced);
        let ended = StoredRun { status: RunStatus::Ended, ..taken };
        store.put_run(ended.clone()).await.unwrap();
        let conflict = Err(StoreError::Conflict("ended".into()));
        assert_eq!(store.claim_run(ended.id, 4).await, conflict);
    }
}

async fn of_two_that_take_a_left_run_one_wins(store: &dyn ConversationAndRunStore) {
    let left = run(&talk(store, "ann").await);
    store.put_run(left.clone()).await.unwrap();
    let (one, two) = tokio::join!(store.claim_run(left.id, 1), store.claim_run(left.id, 1));
    let lost = StoreError::Conflict("running".into());
    let won = match (one, two) {
        (Ok(won), Err(error)) | (Err(error), Ok(won)) if error == lost => won,
        both => panic!("{both:?}"),
    };
    assert_eq!(won, StoredRun { epoch: 2, ..left });
}

async fn lists_are_of_one_owner_and_status(store: &dyn ConversationAndRunStore) {
    let talk_of_lister = talk(store, "lister").await;
    let statuses = [RunStatus::Ended, RunStatus::Paused, RunStatus::Running, RunStatus::Paused];
    let mut made: Vec<StoredRun> = statuses
        .into_iter()
        .zip([4_000, 1_000, 2_000, 1_000])
        .map(|(status, created_at)| StoredRun { status, created_at, ..run(&talk_of_lister) })
        .collect();
    for one in &made {
        store.put_run(one.clone()).await.unwrap();
    }
    store.put_run(run(&talk(store, "other").await)).await.unwrap();
    made.sort_by_key(|run| std::cmp::Reverse((run.created_at, run.id)));
    assert_eq!(store.runs("lister", None, usize::MAX).await.unwrap(), made);
    assert_eq!(store.runs("lister", None, 3).await.unwrap(), made[..3]);
    let paused = store.runs("lister", Some(RunStatus::Paused), 9).await.unwrap();
    assert_eq!(paused, made[2..]);
    let last = store.runs("lister", Some(RunStatus::Paused), 1).await.unwrap();
    assert_eq!(last, made[2..3]);
    assert!(store.runs("nobody", None, 9).await.unwrap().is_empty());
    for (at, last) in made.iter().enumerate() {
        let before = (last.created_at, last.id);
        let rest = store.runs_before("lister", None, before, 9).await.unwrap();
        assert_eq!(rest, made[at + 1..]);
        let next = store.runs_before("lister", None, before, 1).await.unwrap();
        assert_eq!(next, made[at + 1..made.len().min(at + 2)]);
    }
    let first = (made[2].created_at, made[2].id);
    let paused = store.runs_before("lister", Some(RunStatus::Paused), first, 9).await.unwrap();
    assert_eq!(paused, made[3..]);
}

async fn every_process_sees_open_runs(store: &dyn ConversationAndRunStore) {
    let mut made = Vec::new();
    for owner in ["", "open ann", "open ben"] {
        let talk = talk(store, owner).await;
        for status in [RunStatus::Running, RunStatus::Paused, RunStatus::Ended] {
            let one = StoredRun { status, epoch: 3, ..run(&talk) };
            store.put_run(one.clone()).await.unwrap();
            made.push(one);
        }
    }
    let open = store.open_runs(usize::MAX).await.unwrap();
    for run in &made {
        let row = OpenRun { id: run.id, status: run.status, epoch: 3 };
        assert_eq!(open.contains(&row), run.status != RunStatus::Ended, "{row:?}");
    }
    assert_eq!(store.open_runs(2).await.unwrap().len(), 2);
}

async fn rounds_are_written_in_order(store: &dyn ConversationAndRunStore) {
    let talk = talk(store, "ann").await;
    let mut now = run(&talk);
    let mut all: Vec<StoredMessage> = Vec::new();
    for round in 0..20 {
        now.state = json!({"round": round});
        now.updated_at = 1_000 + round;
        let asked = StoredMessage {
            run: Some(now.id),
            created_at: now.updated_at,
            ..message(2 * round.unsigned_abs(), json!({"round": round, "calls": 1}))
        };
        let answered = StoredMessage { seq: asked.seq + 1, ..asked.clone() };
        all.extend([asked.clone(), answered.clone()]);
        store.checkpoint(now.clone(), vec![asked, answered]);
    }
    now.status = RunStatus::Paused;
    store.checkpoint(now.clone(), vec![]);
    store.flush(now.id).await.unwrap();
    assert_eq!(store.run(now.id).await, Ok(Some(now.clone())));
    assert_eq!(store.messages(talk.id, 0).await.unwrap(), all);
    let head = store.conversation(talk.id).await.unwrap().unwrap();
    assert_eq!(head.updated_at, now.updated_at);
    // What is awaited comes after what was queued.
    store.checkpoint(StoredRun { status: RunStatus::Running, ..now.clone() }, vec![]);
    let taken = store.claim_run(now.id, now.epoch + 1).await;
    assert_eq!(taken, Err(StoreError::Conflict("running".into())));
}

async fn errors_come_with_the_flush(store: &dyn ConversationAndRunStore) {
    let talk = talk(store, "ann").await;
    let (good, bad) = (run(&talk), run(&talk));
    store.checkpoint(good.clone(), vec![message(0, json!("first"))]);
    store.checkpoint(bad.clone(), vec![message(1, json!("second")), message(3, json!("gap"))]);
    store.checkpoint(StoredRun { conversation: ConversationId::fresh(), ..bad.clone() }, vec![]);
    store.flush(good.id).await.unwrap();
    let first = store.flush(bad.id).await;
    assert!(matches!(first, Err(StoreError::Conflict(_))), "the first error, not {first:?}");
    store.flush(bad.id).await.unwrap();
    assert_eq!(store.run(bad.id).await, Ok(None), "neither the run nor its messages");
    assert_eq!(store.messages(talk.id, 0).await.unwrap().len(), 1);
    store.checkpoint(bad.clone(), vec![message(1, json!("second"))]);
    store.flush(bad.id).await.unwrap();
    assert_eq!(store.run(bad.id).await, Ok(Some(bad)));
}

async fn a_fenced_checkpoint_writes_nothing(store: &dyn ConversationAndRunStore) {
    let talk = talk(store, "ann").await;
    let lost = StoredRun { status: RunStatus::Paused, ..run(&talk) };
    store.put_run(lost.clone()).await.unwrap();
    let taken = store.claim_run(lost.id, lost.epoch).await.unwrap();
    store.checkpoint(lost.clone(), vec![message(0, json!("too late"))]);
    let fenced = Err(StoreError::Fenced { current: 2, claimed: 1 });
    assert_eq!(store.flush(lost.id).await, fenced);
    assert!(store.messages(talk.id, 0).await.unwrap().is_empty());
    assert_eq!(store.run(lost.id).await, Ok(Some(taken)));
}

async fn a_deleted_conversation_takes_its_runs_along(store: &dyn ConversationAndRunStore) {
    let (gone, stays) = (talk(store, "ann").await, talk(store, "ann").await);
    let open = run(&gone);
    let other = run(&stays);
    for one in [&open, &other] {
        store.put_run(one.clone()).await.unwrap();
        store.put_messages(one.conversation, vec![message(0, json!("hello"))]).await.unwrap();
    }
    let missing = store.delete_conversation("ben", gone.id).await;
    assert!(matches!(missing, Err(StoreError::Missing(_))), "{missing:?}");
    // A process drives it, or it waits for a person.
    for status in [RunStatus::Running, RunStatus::Paused] {
        store.put_run(StoredRun { status, ..open.clone() }).await.unwrap();
        let refused = store.delete_conversation("ann", gone.id).await;
        assert_eq!(refused, Err(StoreError::Conflict(open.id.to_string())));
        assert_eq!(store.messages(gone.id, 0).await.unwrap().len(), 1);
    }
    let ended = StoredRun { status: RunStatus::Ended, ..open.clone() };
    store.put_run(ended.clone()).await.unwrap();
    store.delete_conversation("ann", gone.id).await.unwrap();
    assert_eq!(store.conversation(gone.id).await, Ok(None));
    assert!(store.messages(gone.id, 0).await.unwrap().is_empty());
    assert_eq!(store.run(ended.id).await, Ok(None));
    let again = store.delete_conversation("ann", gone.id).await;
    assert!(matches!(again, Err(StoreError::Missing(_))), "{again:?}");
    // A late word of the run writes nothing.
    assert!(matches!(store.put_run(ended).await, Err(StoreError::Missing(_))));
    assert_eq!(store.conversation(stays.id).await.unwrap().map(|one| one.id), Some(stays.id));
    assert_eq!(store.messages(stays.id, 0).await.unwrap().len(), 1);
    assert_eq!(store.run(other.id).await, Ok(Some(other)));
}

async fn a_deleted_conversation_comes_back_as_it_was(store: &dyn ConversationAndRunStore) {
    let gone = talk(store, "trash").await;
    let ended = StoredRun { status: RunStatus::Ended, ..run(&gone) };
    let paused = StoredRun { status: RunStatus::Paused, ..ended.clone() };
    store.put_run(paused).await.unwrap();
    store.put_messages(gone.id, vec![message(0, json!({"text": "caf\u{e9}"}))]).await.unwrap();
    let refused = store.trash_conversation("trash", gone.id, 7).await;
    assert_eq!(refused, Err(StoreError::Conflict(ended.id.to_string())));
    store.put_run(ended.clone()).await.unwrap();
    let (head, messages) = (store.conversation(gone.id).await, store.messages(gone.id, 0).await);
    for (owner, id) in [("ben", gone.id), ("trash", ConversationId::fresh())] {
        let missing = store.trash_conversation(owner, id, 7).await;
        assert_eq!(missing, Err(StoreError::Missing(id.to_string())));
    }
    store.trash_conversation("trash", gone.id, 7).await.unwrap();
    assert_eq!(store.conversation(gone.id).await, Ok(None));
    assert_eq!(store.messages(gone.id, 0).await, Ok(Vec::new()));
    assert_eq!(store.run(ended.id).await, Ok(None));
    assert_eq!(store.conversations("trash", 10).await, Ok(Vec::new()));
    assert!(matches!(store.put_run(ended.clone()).await, Err(StoreError::Missing(_))));
    assert_eq!(store.deleted_conversations("ben", 10).await, Ok(Vec::new()));
    let deleted = store.deleted_conversations("trash", 10).await.unwrap();
    let row = DeletedConversation { conversation: head.clone().unwrap().unwrap(), deleted_at: 7 };
    assert_eq!(deleted, [row]);
    let missing = Err(StoreError::Missing(gone.id.to_string()));
    assert_eq!(store.restore_conversation("ben", gone.id).await, missing);
    store.restore_conversation("trash", gone.id).await.unwrap();
    assert_eq!(store.restore_conversation("trash", gone.id).await, missing);
    assert_eq!(store.conversation(gone.id).await, head);
    assert_eq!(store.messages(gone.id, 0).await, messages);
    assert_eq!(store.run(ended.id).await, Ok(Some(ended)));
    assert_eq!(store.deleted_conversations("trash", 10).await, Ok(Vec::new()));
}

async fn deleted_conversations_are_purged(store: &dyn ConversationAndRunStore) {
    let (old, new) = (talk(store, "purge").await, talk(store, "purge").await);
    for (one, at) in [(&old, 100), (&new, 200)] {
        store.put_messages(one.id, vec![message(0, json!("hello"))]).await.unwrap();
        store.trash_conversation("purge", one.id, at).await.unwrap();
    }
    let ids = async || {
        let deleted = store.deleted_conversations("purge", 10).await.unwrap();
        deleted.iter().map(|one| one.conversation.id).collect::<Vec<_>>()
    };
    assert_eq!(ids().await, [new.id, old.id]);
    assert_eq!(store.deleted_conversations("purge", 1).await.unwrap().len(), 1);
    store.purge_conversations(200).await.unwrap();
    assert_eq!(ids().await, [new.id]);
    let gone = store.restore_conversation("purge", old.id).await;
    assert_eq!(gone, Err(StoreError::Missing(old.id.to_string())));
    // For good, also what is deleted already.
    let foreign = store.delete_conversation("ben", new.id).await;
    assert_eq!(foreign, Err(StoreError::Missing(new.id.to_string())));
    store.delete_conversation("purge", new.id).await.unwrap();
    assert_eq!(ids().await, []);
}
