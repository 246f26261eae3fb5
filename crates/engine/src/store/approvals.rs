//! Questions to people, in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::store::{ApprovalWithDecision, PendingApproval};
use toolcrib_core::{
    ApprovalId, ApprovalRequest, ApprovalStore, BoxFuture, CallId, DecisionRecord, StoreError,
};

/// Maximum number of decided questions that are remembered, so that a second decision still gets
/// the first one.
const KEPT: usize = 10_000;

type Rows = BTreeMap<ApprovalId, ApprovalWithDecision>;

/// An [`ApprovalStore`] that lives as long as the process. Ids are ordered by time, so the map is
/// too.
#[derive(Default)]
pub struct MemoryApprovals {
    rows: Mutex<Rows>,
}

impl MemoryApprovals {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ApprovalStore for MemoryApprovals {
    fn ask(&self, waiting: PendingApproval) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut rows = self.lock();
        let id = waiting.request.id;
        let approves = waiting.request.gated_call();
        let is_asked = |(other, _): &ApprovalWithDecision| other.request.gated_call() == approves;
        if rows.contains_key(&id) || (approves.is_some() && rows.values().any(is_asked)) {
            return Box::pin(ready(Err(StoreError::Conflict(id.to_string()))));
        }
        if rows.len() >= KEPT
            && let Some(oldest) = rows.iter().find(|(_, (_, d))| d.is_some()).map(|(id, _)| *id)
        {
            rows.remove(&oldest);
        }
        rows.insert(id, (waiting, None));
        Box::pin(ready(Ok(())))
    }

    fn get(
        &self,
        id: ApprovalId,
    ) -> BoxFuture<'_, Result<Option<ApprovalWithDecision>, StoreError>> {
        Box::pin(ready(Ok(self.lock().get(&id).cloned())))
    }

    fn for_call(
        &self,
        call: CallId,
    ) -> BoxFuture<'_, Result<Option<ApprovalWithDecision>, StoreError>> {
        let rows = self.lock();
        let found = rows.values().rev().find(|(waiting, _)| waiting.request.call == call);
        Box::pin(ready(Ok(found.cloned())))
    }

    fn decide(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>> {
        let result = match self.lock().get_mut(&id) {
            None => Err(StoreError::Missing(id.to_string())),
            Some((_, Some(first))) => Ok(Err(first.clone())),
            Some((_, slot)) => {
                *slot = Some(decision);
                Ok(Ok(()))
            }
        };
        Box::pin(ready(result))
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<ApprovalRequest>, StoreError>> {
        let rows = self.lock();
        let pending =
            rows.values().filter(|(_, d)| d.is_none()).map(|(w, _)| w.request.clone()).collect();
        Box::pin(ready(Ok(pending)))
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ApprovalWithDecision>, StoreError>> {
        let rows = self.lock();
        let of_owner =
            rows.values().rev().filter(|(waiting, _)| waiting.request.context.owner == owner);
        let found = of_owner.take(limit).cloned().collect();
        Box::pin(ready(Ok(found)))
    }

    fn list_before<'a>(
        &'a self,
        owner: &'a str,
        before: ApprovalId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ApprovalWithDecision>, StoreError>> {
        let rows = self.lock();
        let older = rows.range(..before).rev().map(|(_, question)| question);
        let of_owner = older.filter(|(waiting, _)| waiting.request.context.owner == owner);
        let found = of_owner.take(limit).cloned().collect();
        Box::pin(ready(Ok(found)))
    }
}
