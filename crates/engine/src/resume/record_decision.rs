//! Records a decision: once, before the deadline, and with the resulting grant. The invoker does
//! this before it resumes a call; a surface that leaves resuming to another process only records
//! the decision.

use serde_json::Value;
use toolcrib_core::invoker::DecideError;
use toolcrib_core::permission::HOST_ARGUMENTS;
use toolcrib_core::store::PendingApproval;
use toolcrib_core::{
    ApprovalId, ApprovalRequest, ApprovalStore, Clock, Decision, DecisionRecord, Grant, GrantId,
    GrantScope, GrantStore, RawArgs, ReasonKind, SealError, StoreError, canonical_json,
};

use crate::secrets::{Sealing, keeps_mask};

/// Records decisions in these stores.
#[derive(Clone, Copy)]
pub struct Decisions<'a> {
    /// Questions to people.
    pub approvals: &'a dyn ApprovalStore,
    /// Remembered approvals.
    pub grants: &'a dyn GrantStore,
    /// The time.
    pub clock: &'a dyn Clock,
    /// Keeps secrets out of stored data.
    pub sealing: &'a Sealing,
    /// Whether the person who decides may read the secrets of the arguments.
    pub secret_access: SecretAccess,
}

/// Whether the person who edits arguments may read the secrets that are masked in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretAccess {
    /// The person has access to the secrets: the user of this machine, the owner of the daemon. An
    /// edit may keep a mask and change other parts.
    MayRead,
    /// The person sees only the mask. An edit that keeps it and changes other parts is refused,
    /// because a new `url` or `path` could send the secret elsewhere.
    MayNotRead,
}

impl Decisions<'_> {
    /// Stores a decision, by compare-and-set, and the grant that it requests; no call runs. Returns
    /// the stored decision, with the time of this clock: an old date would revive an expired
    /// question.
    ///
    /// # Errors
    /// [`DecideError`]; for an expired question, its expiry is stored as the decision.
    pub async fn record(
        &self,
        id: ApprovalId,
        record: DecisionRecord,
    ) -> Result<DecisionRecord, DecideError> {
        self.store(id, record, false).await
    }

    /// Works like [`record`](Self::record), for a caller that completes a write that survives a
    /// power loss, or calls [`ApprovalStore::sync`], before it answers: see
    /// [`ApprovalStore::decide_ahead`].
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    pub async fn record_ahead(
        &self,
        id: ApprovalId,
        record: DecisionRecord,
    ) -> Result<DecisionRecord, DecideError> {
        self.store(id, record, true).await
    }

    async fn store(
        &self,
        id: ApprovalId,
        record: DecisionRecord,
        ahead: bool,
    ) -> Result<DecisionRecord, DecideError> {
        let (waiting, decided) =
            self.approvals.get(id).await.map_err(store_error)?.ok_or(DecideError::NotFound)?;
        if let Some(first) = decided {
            return Err(DecideError::AlreadyDecided(Box::new(first)));
        }
        let request = &waiting.request;
        if !record.decision.matches_kind(request) {
            return Err(DecideError::WrongKind);
        }
        self.check_masks(&waiting, &record.decision)?;
        let record = self.sealing.seal_decision(record);
        let record = record.map_err(|error| DecideError::Store(error.to_string()))?;
        let record = DecisionRecord { decided_at: self.clock.now_ms(), ..record };
        let is_late = request.is_expired(record.decided_at);
        let record = if is_late { DecisionRecord::expiry(record.decided_at) } else { record };
        let stored = match ahead {
            true => self.approvals.decide_ahead(id, record.clone()),
            false => self.approvals.decide(id, record.clone()),
        };
        let stored = stored.await.map_err(store_error)?;
        crate::failpoint::hit("approve");
        match stored {
            Err(first) => Err(DecideError::AlreadyDecided(Box::new(first))),
            Ok(()) if is_late => Err(DecideError::Expired),
            Ok(()) => {
                self.store_grant(request, &record).await;
                Ok(record)
            }
        }
    }

    fn check_masks(
        &self,
        waiting: &PendingApproval,
        decision: &Decision,
    ) -> Result<(), DecideError> {
        let Decision::Edit { args } = decision else { return Ok(()) };
        if self.secret_access == SecretAccess::MayRead {
            return Ok(());
        }
        let unreadable = |error: SealError| DecideError::Store(error.to_string());
        let written = self.sealing.open_edit(args).map_err(unreadable)?;
        let real = real_args(self.sealing, waiting).map_err(unreadable)?;
        match keeps_mask(&written, &waiting.request.args, &real) {
            true => Err(DecideError::KeepsMask),
            false => Ok(()),
        }
    }

    /// Stores the grant of a decision with a scope. This happens once, when the decision is stored:
    /// a grant that was revoked since must not be restored when the call is resumed. If the grant
    /// cannot be stored, the next call asks again.
    pub(crate) async fn store_grant(&self, request: &ApprovalRequest, record: &DecisionRecord) {
        if let Some(grant) = grant_from_decision(request, record) {
            let _ = self.grants.add(grant).await;
        }
    }
}

/// Returns the arguments of a question with unmasked secrets.
pub(super) fn real_args(sealing: &Sealing, waiting: &PendingApproval) -> Result<Value, SealError> {
    let call = waiting.batch.calls.first().map(|call| call.args.clone());
    match call.map(|args| sealing.open_args(args)).transpose()? {
        Some(RawArgs::Value(args)) => Ok(args),
        _ => Ok(waiting.request.args.clone()),
    }
}

/// Returns the grant that results from a decision, for the reasons of the question: for taint only
/// if the decision includes it, for hosts only those named in the question, and never for reasons
/// that always ask. `None` if the decision is about this one call only.
#[must_use]
pub fn grant_from_decision(request: &ApprovalRequest, record: &DecisionRecord) -> Option<Grant> {
    let Decision::Approve { scope, only, taint } = &record.decision else { return None };
    let is_granted = |kind: &ReasonKind| match kind {
        ReasonKind::Taint => *taint,
        kind => !kind.always_asks(),
    };
    let kinds = request.reasons.iter().map(|reason| reason.kind);
    let reasons: Vec<ReasonKind> = kinds.filter(is_granted).collect();
    if *scope == GrantScope::Once || reasons.is_empty() {
        return None;
    }
    let mut args = only.clone();
    if reasons.contains(&ReasonKind::Host) {
        let named = HOST_ARGUMENTS.into_iter().filter_map(|name| {
            let pattern = match request.args.get(name)? {
                Value::String(text) => text.clone(),
                value => canonical_json::to_string(value),
            };
            Some((name.to_owned(), pattern))
        });
        args.extend(named);
    }
    Some(Grant {
        id: GrantId::fresh(),
        owner: request.context.owner.clone(),
        operation: request.operation.clone(),
        args,
        definition_hash: request.definition_hash.clone(),
        reasons,
        risk: request.risk,
        scope: *scope,
        run: request.run,
        conversation: Some(request.context.conversation.clone()),
        created_by: record.decided_by.clone(),
        created_at: record.decided_at,
        expires_at: None,
    })
}

/// Author of the denial when no approver could be asked, as named in records.
pub(crate) const NO_APPROVER: &str = "nobody";

/// Creates a denial by the engine itself, which closes the question.
pub(crate) fn denied_by(by: &str, at: i64) -> DecisionRecord {
    DecisionRecord {
        decision: Decision::Deny { note: None },
        decided_by: by.to_owned(),
        decided_at: at,
    }
}

pub(crate) fn store_error(error: StoreError) -> DecideError {
    DecideError::Store(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::{ApprovalReason, UserQuestion};
    use toolcrib_testkit::FakeClock;
    use toolcrib_testkit::conformance::question;

    use crate::store::{MemoryApprovals, MemoryGrants};

    #[derive(Default)]
    struct Scene {
        sealing: Sealing,
        approvals: MemoryApprovals,
        grants: MemoryGrants,
        clock: FakeClock,
    }

    impl Scene {
        async fn asked(&self, change: impl FnOnce(&mut ApprovalRequest)) -> ApprovalId {
            let mut waiting: PendingApproval = question();
            change(&mut waiting.request);
            let id = waiting.request.id;
            self.approvals.ask(waiting).await.unwrap();
            id
        }

        async fn record(
            &self,
            id: ApprovalId,
            decision: Decision,
        ) -> Result<DecisionRecord, DecideError> {
            let Self { approvals, grants, clock, sealing } = self;
            let record = DecisionRecord { decision, decided_by: "ann".into(), decided_at: -1 };
            let secret_access = SecretAccess::MayNotRead;
            Decisions { approvals, grants, clock, sealing, secret_access }.record(id, record).await
        }

        async fn grants(&self) -> Vec<Grant> {
            self.grants.list("ann").await.unwrap()
        }
    }

    #[tokio::test]
    async fn a_decision_is_good_once_in_time_and_of_its_kind() {
        let scene = Scene::default();
        let id = scene.asked(|request| request.expires_at = Some(9_000)).await;
        let answer = Decision::Answer { text: "x".into() };
        assert_eq!(scene.record(id, answer.clone()).await, Err(DecideError::WrongKind));
        scene.clock.advance(8_999);
        let first = scene.record(id, Decision::Skip).await.unwrap();
        assert_eq!((first.decided_at, first.decided_by.as_str()), (8_999, "ann"));
        let again = scene.record(id, Decision::approve()).await;
        assert_eq!(again, Err(DecideError::AlreadyDecided(Box::new(first))));
        let other = ApprovalId::fresh();
        assert_eq!(scene.record(other, Decision::Skip).await, Err(DecideError::NotFound));

        let id = scene.asked(|request| request.expires_at = Some(9_000)).await;
        scene.clock.advance(1);
        assert_eq!(scene.record(id, Decision::approve()).await, Err(DecideError::Expired));
        scene.clock.advance(-5_000);
        let again = scene.record(id, Decision::approve()).await.unwrap_err();
        assert_eq!(again, DecideError::AlreadyDecided(Box::new(DecisionRecord::expiry(9_000))));

        let asks = |request: &mut ApprovalRequest| {
            let (question, none) = ("Which?".to_owned(), String::new());
            request.question = Some(UserQuestion { question, context: none, options: Vec::new() });
        };
        let id = scene.asked(asks).await;
        assert_eq!(scene.record(id, Decision::approve()).await, Err(DecideError::WrongKind));
        assert_eq!(scene.record(id, answer.clone()).await.unwrap().decision, answer);
        assert_eq!(scene.grants().await, []);
    }

    #[tokio::test]
    async fn a_longer_decision_gives_one_grant_and_never_for_taint() {
        let scene = Scene::default();
        let always = Decision::approve_for(GrantScope::Always);
        let id = scene.asked(|_| {}).await;
        scene.record(id, always.clone()).await.unwrap();
        assert!(scene.record(id, always.clone()).await.is_err());
        let grants = scene.grants().await;
        assert_eq!((grants.len(), &grants[0].reasons[..]), (1, &[ReasonKind::Risk][..]));
        let id = scene.asked(|request| request.reasons[0].kind = ReasonKind::Taint).await;
        scene.record(id, always).await.unwrap();
        assert_eq!(scene.grants().await, grants);
    }

    #[tokio::test]
    async fn a_grant_answers_taint_only_when_the_decision_says_so() {
        let check = async |asked: &[ReasonKind], taint: bool, given: Option<&[ReasonKind]>| {
            let scene = Scene::default();
            let kinds = asked.to_vec();
            let id = scene
                .asked(|request| {
                    let reason = request.reasons[0].clone();
                    let of = |kind| ApprovalReason { kind, ..reason.clone() };
                    request.reasons = kinds.into_iter().map(of).collect();
                })
                .await;
            let (scope, only) = (GrantScope::Always, std::collections::BTreeMap::new());
            scene.record(id, Decision::Approve { scope, only, taint }).await.unwrap();
            let grants = scene.grants().await;
            assert_eq!(grants.first().map(|grant| &grant.reasons[..]), given, "{asked:?} {taint}");
        };
        let (risk, taint) = (ReasonKind::Risk, ReasonKind::Taint);
        check(&[taint, risk], false, Some(&[risk])).await;
        check(&[taint, risk], true, Some(&[taint, risk])).await;
        check(&[taint], false, None).await;
        check(&[taint], true, Some(&[taint])).await;
        check(&[risk], true, Some(&[risk])).await;
        check(&[ReasonKind::Floor, risk], true, Some(&[risk])).await;
        check(&[ReasonKind::Floor], true, None).await;
    }
}
