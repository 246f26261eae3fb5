//! What was read before a run, in its conversation or by a process that has died (DESIGN 9, Taint).

use std::collections::BTreeSet;

use toolcrib_agent::drive;
use toolcrib_core::{Labels, RunId, RunStore, StoreError, StoredMessage};

use super::RunnerError;

/// What was read in a conversation, whether it is still in what is sent to a model or only in its summary.
///
/// Each run begins with what was read before its first message, so the run of the newest message knows all of that. Beside it count runs
/// that wrote later than it began: another process worked on the same conversation.
///
/// # Errors
/// [`RunnerError`] when a run cannot be read: its conversation is not taken for one that has read nothing.
pub(super) async fn of_conversation(
    store: &(impl RunStore + ?Sized),
    messages: &[StoredMessage],
) -> Result<Labels, RunnerError> {
    let newest = messages.iter().rev().find_map(|message| message.run);
    let begun = messages.iter().position(|message| message.run == newest).unwrap_or_default();
    let writers: BTreeSet<RunId> =
        messages.iter().skip(begun).filter_map(|message| message.run).collect();
    let mut labels = Labels::default();
    for id in writers {
        let run = store.run(id).await?.ok_or_else(|| StoreError::Missing(id.to_string()))?;
        labels.inherit(&drive::labels(&run)?);
    }
    Ok(labels)
}

/// What a run of the agent loop had read when it was stored; none for a run that is not stored, such as that of a response.
///
/// # Errors
/// [`RunnerError`] when it cannot be read.
pub async fn of_run(store: &(impl RunStore + ?Sized), id: RunId) -> Result<Labels, RunnerError> {
    let run = store.run(id).await?;
    Ok(run.map_or_else(|| Ok(Labels::default()), |run| drive::labels(&run))?)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use toolcrib_core::{
        Context, Conversation, ConversationId, ConversationStore as _, Label, RunStatus, StoredRun,
    };
    use toolcrib_engine::store::MemoryRuns;

    use super::*;

    /// A conversation in which these runs have read what is said, each with one message.
    async fn talk(runs: &[&[Label]]) -> (MemoryRuns, Vec<StoredMessage>) {
        let (store, conversation) = (MemoryRuns::default(), ConversationId::fresh());
        let empty = String::new;
        let head = Conversation {
            id: conversation,
            owner: empty(),
            title: empty(),
            agent: empty(),
            workspace: empty(),
            created_at: 0,
            updated_at: 0,
        };
        store.put_conversation(head).await.unwrap();
        let mut messages = Vec::new();
        for (place, read) in runs.iter().enumerate() {
            let mut state = json!({"state": {"labels": {}}});
            for label in *read {
                state["state"]["labels"][label.as_str()] = json!({"tool": format!("tool{place}")});
            }
            let id = RunId::fresh();
            let run = StoredRun {
                id,
                conversation,
                context: Context::default(),
                status: RunStatus::Ended,
                state,
                epoch: 0,
                created_at: 0,
                updated_at: 0,
            };
            store.put_run(run).await.unwrap();
            let seq = place as u64;
            messages.push(StoredMessage { seq, run: Some(id), body: Value::Null, created_at: 0 });
        }
        (store, messages)
    }

    async fn check(runs: &[&[Label]], expected: &[Label]) {
        let (store, messages) = talk(runs).await;
        let labels = of_conversation(&store, &messages).await.unwrap();
        let found: Vec<Label> = labels.iter().map(|(label, _)| label).collect();
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn the_newest_run_knows_what_was_read_before_it() {
        check(&[], &[]).await;
        check(&[&[]], &[]).await;
        check(&[&[Label::Untrusted]], &[Label::Untrusted]).await;
        check(&[&[Label::Private], &Label::ALL], &Label::ALL).await;
        // A message that no run has written says nothing about the others.
        let (store, mut messages) = talk(&[&[Label::Private]]).await;
        messages.push(StoredMessage { seq: 1, run: None, body: Value::Null, created_at: 0 });
        let labels = of_conversation(&store, &messages).await.unwrap();
        assert_eq!(labels.private.unwrap().tool, "tool0");
    }

    #[tokio::test]
    async fn a_run_that_wrote_beside_the_newest_counts_too() {
        let (store, mut messages) = talk(&[&[], &[Label::Untrusted]]).await;
        // The first goes on after the second began.
        let again = StoredMessage { seq: 2, ..messages[0].clone() };
        messages.push(again);
        let labels = of_conversation(&store, &messages).await.unwrap();
        assert_eq!(labels.untrusted.unwrap().tool, "tool1");
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_not_taken_for_nothing() {
        let (store, mut messages) = talk(&[&[]]).await;
        let id = messages[0].run.unwrap();
        let run = store.run(id).await.unwrap().unwrap();
        assert!(of_run(&store, id).await.unwrap().is_empty());
        let broken = json!({"state": {"labels": {"untrusted": 1}}});
        store.put_run(StoredRun { state: broken, ..run }).await.unwrap();
        assert!(of_conversation(&store, &messages).await.is_err());
        assert!(of_run(&store, id).await.is_err());
        messages[0].run = Some(RunId::fresh());
        assert!(of_conversation(&store, &messages).await.is_err());
        // The run of a single response is no row.
        assert!(of_run(&store, RunId::fresh()).await.unwrap().is_empty());
    }
}
