//! Decides whether this process may run a stored call: the environment must match, and the tool
//! must be available. Other stored calls are left to a matching process.

use toolcrib_core::store::PendingApproval;
use toolcrib_core::{AcceptedBatch, Batch, StoreError};

use crate::engine_inner::EngineInner;

/// Returns whether a stored batch belongs to the environment of this process. Earlier versions
/// stored no environment.
pub(crate) fn is_own(engine: &EngineInner, batch: &Batch) -> bool {
    batch.environment.is_empty() || batch.environment == engine.environment
}

/// Returns why this process cannot run a call whose approval is stored; `None` if it can.
pub(crate) fn obstacle(engine: &EngineInner, waiting: &PendingApproval) -> Option<String> {
    if !is_own(engine, &waiting.batch) {
        return Some(other_environment(&waiting.batch));
    }
    missing_tool(engine, waiting)
}

/// Returns why a call must not be approved here: this process could not run it, or its tool has
/// another definition, which would void the approval.
pub(crate) fn decision_obstacle(engine: &EngineInner, waiting: &PendingApproval) -> Option<String> {
    obstacle(engine, waiting).or_else(|| changed_tool(engine, waiting))
}

/// Returns why a call whose approval is stored cannot run with the tools of this process.
fn missing_tool(engine: &EngineInner, waiting: &PendingApproval) -> Option<String> {
    let parents = std::iter::successors(waiting.batch.parent_call.as_deref(), |within| {
        within.parent.parent_call.as_deref()
    });
    let calls = waiting.batch.calls.iter().chain(parents.flat_map(|within| &within.parent.calls));
    let registry = engine.registry.read();
    let mut names = calls.map(|call| call.name.as_str());
    let missing = names.find(|name| registry.find_any_spelling(name).is_none())?;
    Some(format!(
        "the tool {missing} is not available in this process, so the call was left as it is; decide again when the tool is back, or where it is available"
    ))
}

fn changed_tool(engine: &EngineInner, waiting: &PendingApproval) -> Option<String> {
    let request = &waiting.request;
    if request.question.is_some() {
        return None;
    }
    let registry = engine.registry.read();
    let tool = registry.find_any_spelling(request.tool.as_str())?;
    (tool.definition_hash() != request.definition_hash).then(|| {
        format!(
            "{} has another definition in this process than when the call was asked about, so the call was left as it is; deny it and let it be made again, or decide where the definition is unchanged",
            request.tool
        )
    })
}

/// Describes the environment of a stored batch.
pub(crate) fn other_environment(batch: &Batch) -> String {
    let workspace = match batch.context.workspace.as_str() {
        "" => "in another workspace".to_owned(),
        folder => format!("in the workspace {folder}"),
    };
    format!(
        "the call was asked {workspace}, and this process has another workspace, policy or tools, so the call was left as it is; a daemon of that environment or `toolcrib approve` carries it out"
    )
}

/// Takes over the accepted batches of dead processes that belong to this environment. Others remain
/// for a process of their environment.
pub(crate) async fn take_abandoned(engine: &EngineInner) -> Result<Vec<AcceptedBatch>, StoreError> {
    let mut taken = Vec::new();
    for batch in engine.calls.abandoned_batches().await? {
        if !is_own(engine, &batch.batch) {
            continue;
        }
        let id = batch.id;
        if batch.batch.calls.is_empty() {
            // This batch only reserves the key of a run, and the next request under the key takes
            // it over. If it were taken over here, this process would appear to be starting the
            // run.
            engine.calls.finish_batch(id).await?;
            continue;
        }
        let take = |epoch| async move { Ok((engine.calls.take_batch(id, epoch).await?, epoch)) };
        if let (true, epoch) = engine.under_claim(take).await? {
            taken.push(AcceptedBatch { epoch, ..batch });
        }
    }
    Ok(taken)
}
