//! Restores the taint labels of the text that earlier runs of a conversation, or a process that
//! died, had read.

use std::collections::BTreeSet;

use toolcrib_agent::driver;
use toolcrib_core::{Labels, RunId, RunStore, StoreError, StoredMessage};

use super::RunnerError;

/// Returns the taint labels of a conversation. They stay even if the model no longer gets the text
/// that raised them, or gets only a summary of it.
///
/// Each run starts with the labels from before its first message, so the run of the newest message
/// has all of those. The labels of runs that wrote after its start are added, because another
/// process may have worked on the same conversation.
///
/// # Errors
/// [`RunnerError`] if a run cannot be read: the conversation must then not be treated as untainted.
pub(super) async fn conversation_labels(
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
        labels.inherit(&driver::labels(&run)?);
    }
    Ok(labels)
}

/// Returns the taint labels of a run when it was last stored; none for a run that is not stored,
/// such as the run of a single response.
///
/// # Errors
/// [`RunnerError`] if it cannot be read.
pub async fn run_labels(
    store: &(impl RunStore + ?Sized),
    id: RunId,
) -> Result<Labels, RunnerError> {
    let run = store.run(id).await?;
    Ok(run.map_or_else(|| Ok(Labels::default()), |run| driver::labels(&run))?)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use toolcrib_core::{
        Context, Conversation, ConversationId, ConversationStore as _, Label, RunStatus, StoredRun,
    };
    use toolcrib_engine::store::MemoryRuns;

    use super::*;

    /// Creates a conversation of runs with these labels, each with one message.
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
        let labels = conversation_labels(&store, &messages).await.unwrap();
        let found: Vec<Label> = labels.iter().map(|(label, _)| label).collect();
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn the_newest_run_knows_what_was_read_before_it() {
        check(&[], &[]).await;
        check(&[&[]], &[]).await;
        check(&[&[Label::Untrusted]], &[Label::Untrusted]).await;
        check(&[&[Label::Private], &Label::ALL], &Label::ALL).await;
        // A message without a run does not affect the labels.
        let (store, mut messages) = talk(&[&[Label::Private]]).await;
        messages.push(StoredMessage { seq: 1, run: None, body: Value::Null, created_at: 0 });
        let labels = conversation_labels(&store, &messages).await.unwrap();
        assert_eq!(labels.private.unwrap().tool, "tool0");
    }

    #[tokio::test]
    async fn a_run_that_wrote_beside_the_newest_counts_too() {
        let (store, mut messages) = talk(&[&[], &[Label::Untrusted]]).await;
        // The first run continues after the second has started.
        let again = StoredMessage { seq: 2, ..messages[0].clone() };
        messages.push(again);
        let labels = conversation_labels(&store, &messages).await.unwrap();
        assert_eq!(labels.untrusted.unwrap().tool, "tool1");
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_not_taken_for_nothing() {
        let (store, mut messages) = talk(&[&[]]).await;
        let id = messages[0].run.unwrap();
        let run = store.run(id).await.unwrap().unwrap();
        assert!(run_labels(&store, id).await.unwrap().is_empty());
        let broken = json!({"state": {"labels": {"untrusted": 1}}});
        store.put_run(StoredRun { state: broken, ..run }).await.unwrap();
        assert!(conversation_labels(&store, &messages).await.is_err());
        assert!(run_labels(&store, id).await.is_err());
        messages[0].run = Some(RunId::fresh());
        assert!(conversation_labels(&store, &messages).await.is_err());
        // The run of a single response is not stored.
        assert!(run_labels(&store, RunId::fresh()).await.unwrap().is_empty());
    }
}
