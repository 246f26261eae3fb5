//! Records of questions, grants and switches from before they had a hash of the whole row.

use std::sync::Arc;

use toolcrib_core::{
    AuditEvent, AuditKind, AuditStore as _, Context, Grant, GrantId, GrantScope, GrantStore as _,
    ReasonKind, Risk, Switch, SwitchState, SwitchStore as _,
};

use crate::{DecisionStores, DecisionTampering, Subject, verify_decisions};
use toolcrib_engine::store::{MemoryApprovals, MemoryAudit, MemoryGrants, MemorySwitches};

#[derive(Default)]
struct World {
    audit: MemoryAudit,
    approvals: MemoryApprovals,
    grants: MemoryGrants,
    switches: MemorySwitches,
}

impl World {
    async fn findings(&self) -> Vec<(Subject, DecisionTampering)> {
        let stores = DecisionStores {
            approvals: &self.approvals,
            grants: &self.grants,
            switches: &self.switches,
        };
        let report = verify_decisions(&self.audit, stores, &[""]).await.unwrap();
        report.findings.into_iter().map(|found| (found.subject, found.what)).collect()
    }

    async fn record(&self, event: AuditEvent, has_body_hash: bool) {
        let body_hash = event.body_hash.clone().filter(|_| has_body_hash);
        self.audit.append(AuditEvent { body_hash, ..event }).await.unwrap();
    }
}

fn grant() -> Grant {
    Grant {
        id: GrantId::fresh(),
        owner: String::new(),
        operation: "git.push".into(),
        args: [("branch".to_owned(), "feature/*".to_owned())].into(),
        definition_hash: "d1".into(),
        reasons: vec![ReasonKind::Risk],
        risk: Risk::High,
        scope: GrantScope::Always,
        run: None,
        conversation: None,
        created_by: "ben".into(),
        created_at: 1_000,
        expires_at: None,
    }
}

fn switch(state: SwitchState) -> Switch {
    Switch { owner: String::new(), name: "tool:git".into(), state, by: "ben".into(), at: 5 }
}

#[tokio::test]
async fn records_without_a_hash_of_the_row_are_compared_by_what_they_say() {
    let check = async |change: fn(&mut Grant), has_body_hash: bool, is_found: bool| {
        let world = World::default();
        let mut given = grant();
        world.record(AuditEvent::granted(&given), has_body_hash).await;
        change(&mut given);
        world.grants.add(given).await.unwrap();
        let wanted = is_found.then_some((Subject::Grant, DecisionTampering::Altered));
        assert_eq!(world.findings().await, Vec::from_iter(wanted));
    };
    for has_body_hash in [false, true] {
        check(|_| (), has_body_hash, false).await;
        check(|grant| grant.risk = Risk::Critical, has_body_hash, true).await;
        // Only the hash covers these.
        check(|grant| grant.args.clear(), has_body_hash, has_body_hash).await;
    }
}

#[tokio::test]
async fn what_was_taken_back_must_not_be_there() {
    let world = World::default();
    let given = grant();
    world.record(AuditEvent::granted(&given), true).await;
    world.record(AuditEvent::revoked(&given, "ben", 2_000), true).await;
    world
        .record(AuditEvent::switched(&switch(SwitchState::Off), Some(SwitchState::Off)), true)
        .await;
    world.record(AuditEvent::switched(&switch(SwitchState::On), None), true).await;
    assert_eq!(world.findings().await, []);
    world.grants.add(given).await.unwrap();
    world.switches.set_switch(switch(SwitchState::Off)).await.unwrap();
    let returned = [Subject::Grant, Subject::Switch].map(|of| (of, DecisionTampering::Returned));
    assert_eq!(world.findings().await, returned);
}

#[tokio::test]
async fn records_of_other_things_are_not_its_concern() {
    let world = World::default();
    let other = AuditEvent::new(AuditKind::Settled, 1, Arc::new(Context::default()));
    world.record(other, false).await;
    assert_eq!(world.findings().await, []);
    world.switches.set_switch(switch(SwitchState::On)).await.unwrap();
    assert_eq!(world.findings().await, [(Subject::Switch, DecisionTampering::Unrecorded)]);
}

#[tokio::test]
async fn switches_from_before_there_was_ask_have_their_records() {
    // As it was hashed at that time: `enabled` in place of the state.
    let before = |enabled: bool| {
        let row = serde_json::json!({
            "owner": "", "name": "tool:git", "enabled": enabled, "by": "ben", "at": 5,
        });
        toolcrib_core::canonical_json::sha256(&row)
    };
    for (state, enabled) in [(SwitchState::Off, false), (SwitchState::On, true)] {
        let world = World::default();
        let event = AuditEvent::switched(&switch(state), Some(state));
        assert_eq!(event.body_hash.as_deref(), Some(&*before(enabled)));
        world.record(event, true).await;
        world.switches.set_switch(switch(state)).await.unwrap();
        assert_eq!(world.findings().await, []);
        world.switches.set_switch(switch(SwitchState::Ask)).await.unwrap();
        assert_eq!(world.findings().await, [(Subject::Switch, DecisionTampering::Altered)]);
    }
    let world = World::default();
    let asks = switch(SwitchState::Ask);
    world.record(AuditEvent::switched(&asks, Some(asks.state)), true).await;
    world.switches.set_switch(asks).await.unwrap();
    assert_eq!(world.findings().await, []);
}
