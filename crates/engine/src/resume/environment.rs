//! Whether this process may carry out a stored call: in the environment it was asked in, and with
//! the tool that it needs. A stored call that does not fit is left to a process that fits.

use toolcrib_core::store::PendingApproval;
use toolcrib_core::{AcceptedBatch, Batch, StoreError};

use crate::engine_inner::EngineInner;

/// Whether a stored batch was asked in the environment of this process. An earlier version stored
/// no environment.
pub(crate) fn is_own(engine: &EngineInner, batch: &Batch) -> bool {
    batch.environment.is_empty() || batch.environment == engine.environment
}

/// Why a call whose approval is stored cannot be carried out here; `None` = it can.
pub(crate) fn obstacle(engine: &EngineInner, waiting: &PendingApproval) -> Option<String> {
    if !is_own(engine, &waiting.batch) {
        return Some(other_environment(&waiting.batch));
    }
    missing_tool(engine, waiting)
}

/// Why a call must not be approved here: it could not be carried out, or its tool has another
/// definition, which would void the approval.
pub(crate) fn decision_obstacle(engine: &EngineInner, waiting: &PendingApproval) -> Option<String> {
    obstacle(engine, waiting).or_else(|| changed_tool(engine, waiting))
}

/// Why a call whose approval is stored cannot be carried out with the tools of this process.
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

/// Says where a stored batch belongs.
pub(crate) fn other_environment(batch: &Batch) -> String {
    let workspace = match batch.context.workspace.as_str() {
        "" => "in another workspace".to_owned(),
        folder => format!("in the workspace {folder}"),
    };
    format!(
        "the call was asked {workspace}, and this process has another workspace, policy or tools, so the call was left as it is; a daemon of that environment or `toolcrib approve` carries it out"
    )
}

/// Takes over the accepted batches of dead processes that were asked in this environment. Others
/// stay for a process of theirs.
pub(crate) async fn take_abandoned(engine: &EngineInner) -> Result<Vec<AcceptedBatch>, StoreError> {
    let mut taken = Vec::new();
    for batch in engine.calls.abandoned_batches().await? {
        if !is_own(engine, &batch.batch) {
            continue;
        }
        let id = batch.id;
        if batch.batch.calls.is_empty() {
            // It only holds a key of a run, and the next request under the key takes it over. Taken
            // here, it would look as if this process were starting the run.
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
