//! The verifier against intact chains and chains that were tampered with.

mod attacks;
mod bundle;
mod calls;
mod decisions;
mod export;
mod fixture;

use proptest::prelude::*;
use toolcrib_core::audit::{Hash, chain_hash, genesis};
use toolcrib_core::canonical_json;

use super::*;
use fixture::{AuditFixture, event};

#[test]
fn a_chain_verifies_and_says_what_is_covered() {
    let check = |records: usize, every: usize, wanted: (u64, u64, u64), remarks: usize| {
        let report = AuditFixture::new(records, every).verify();
        assert!(report.is_sound(), "{report:?}");
        assert_eq!((report.records, report.signed, report.checkpoints), wanted);
        assert_eq!(report.remarks.len(), remarks, "{report:?}");
    };
    check(0, 10, (0, 0, 0), 0);
    check(10, 10, (10, 10, 1), 0);
    check(25, 10, (25, 20, 2), 1);
    check(9, 10, (9, 0, 0), 1);
    let remarks = AuditFixture::new(25, 10).verify().remarks;
    assert_eq!(remarks, [Remark::Unsigned { chain: 1, seq: 21, count: 5 }]);
}

#[test]
fn what_a_crash_leaves_behind_is_no_finding() {
    let mut world = AuditFixture::new(30, 10);
    // A process died after the commit and before the anchor; another one in the middle of an
    // anchor.
    world.anchors.checkpoints.remove(1);
    world.anchors.torn = 1;
    let report = world.verify();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.remarks, [Remark::NotAnchored { chain: 1, seq: 20, count: 1 }]);
    world.anchors.checkpoints.clear();
    assert!(world.verify().is_sound());
    assert_eq!(world.evidence().remark(), Some(Remark::TornAnchors { count: 1 }));
}

#[test]
fn a_checkpoint_that_is_gone_or_forged_is_named() {
    let check = |change: &dyn Fn(&mut AuditFixture), wanted: &[(u64, Tampering)]| {
        let mut world = AuditFixture::new(30, 10);
        change(&mut world);
        let found = world.verify().findings.into_iter().map(|found| (found.seq, found.what));
        assert_eq!(found.collect::<Vec<_>>(), wanted);
    };
    let forged = |kept, why| Tampering::ForgedCheckpoint { kept, why };
    check(&|_| {}, &[]);
    check(&|w| drop(w.checkpoints.remove(1)), &[(20, Tampering::MissingCheckpoint)]);
    check(
        &|w| w.checkpoints[1].at += 1,
        &[
            (20, forged(CheckpointLocation::Records, Forgery::Signature)),
            (20, Tampering::MissingCheckpoint),
        ],
    );
    check(
        &|w| w.anchors.checkpoints[2].signature = "00".repeat(64),
        &[(30, forged(CheckpointLocation::Anchors, Forgery::Signature))],
    );
    check(
        &|w| w.anchors.checkpoints[0].key = "00".repeat(32),
        &[(10, forged(CheckpointLocation::Anchors, Forgery::UnknownKey))],
    );
    check(
        &|w| w.anchors.checkpoints.push(AuditFixture::with_key(2, 12, 4).checkpoints[1].clone()),
        &[(8, forged(CheckpointLocation::Anchors, Forgery::UnknownKey))],
    );
    // Checkpoints of another chain do not apply to this one.
    check(&|w| w.anchors.checkpoints[0].chain = 2, &[]);
}

#[test]
fn keys_of_the_past_are_believed_when_they_are_named() {
    let mut world = AuditFixture::new(30, 10);
    let other = AuditFixture::with_key(2, 30, 10);
    world.checkpoints[0] = other.checkpoints[0].clone();
    world.anchors.checkpoints[0] = other.checkpoints[0].clone();
    assert!(!world.verify().is_sound());
    world.keys =
        TrustedKeys::parse(&format!("{}\n{}", world.public_key(), other.public_key())).unwrap();
    assert!(world.verify().is_sound());
}

#[test]
fn a_chain_that_begins_in_the_middle_verifies() {
    let world = AuditFixture::new(30, 10);
    let check = |start: Start, skip: usize, first_finding: Option<u64>| {
        let mut verifier = ChainVerifier::new(1, start, world.checkpoints());
        world.rows[skip..].iter().for_each(|row| verifier.add(row));
        let report = verifier.finish();
        assert_eq!(report.findings.first().map(|found| found.seq), first_finding, "{report:?}");
    };
    let hash = |seq: usize| hex::array::<32>(&world.rows[seq - 1].hash).unwrap();
    check(Start::Kept, 14, None);
    check(Start::After { seq: 14, hash: hash(14) }, 14, None);
    check(Start::After { seq: 20, hash: hash(20) }, 20, None);
    check(Start::After { seq: 30, hash: hash(30) }, 30, None);
    check(Start::After { seq: 14, hash: hash(13) }, 14, Some(15));
    check(Start::After { seq: 20, hash: hash(13) }, 20, Some(1));
    check(Start::After { seq: 14, hash: hash(14) }, 15, Some(15));
    check(Start::Genesis, 14, Some(1));
}

#[test]
fn many_findings_are_counted_and_the_first_are_listed() {
    let mut world = AuditFixture::new(500, 1_000);
    for row in world.rows.iter_mut().step_by(2) {
        row.text.insert(1, ' ');
    }
    let report = world.verify();
    assert_eq!((report.findings.len(), report.further), (100, 150));
    assert_eq!(report.findings[99].seq, 199);
}

#[test]
fn findings_have_a_form_for_machines_and_one_for_people() {
    let finding = Finding { chain: 1, seq: 7, what: Tampering::Gap { to: 9 } };
    assert_eq!(
        serde_json::to_value(&finding).unwrap(),
        serde_json::json!({"chain": 1, "seq": 7, "finding": "gap", "to": 9})
    );
    assert_eq!(finding.to_string(), "gap: the records 7 to 9 are missing");
    for what in [
        Tampering::Altered,
        Tampering::Gap { to: 7 },
        Tampering::Inserted,
        Tampering::Moved { says: 3 },
        Tampering::TailCut { checkpoint: 9 },
        Tampering::Rewritten { checkpoint: 9 },
        Tampering::ForgedCheckpoint { kept: CheckpointLocation::Records, why: Forgery::Signature },
        Tampering::MissingCheckpoint,
    ] {
        let finding = Finding { chain: 1, seq: 7, what };
        let value = serde_json::to_value(&finding).unwrap();
        assert_eq!(value["finding"], finding.what.name());
        assert!(finding.to_string().contains('7'), "{finding}");
    }
}

/// Checks the hash chain according to its definition.
fn is_chained(rows: &[toolcrib_core::AuditRow]) -> bool {
    let mut previous: Hash = genesis(1);
    (1..).zip(rows).all(|(seq, row)| {
        previous = chain_hash(&previous, &row.text);
        row.seq == seq && row.hash == canonical_json::hex(&previous)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_events_verify_and_any_changed_character_is_found(
        words in prop::collection::vec(("\\PC{0,12}", any::<i64>(), any::<bool>()), 1..20),
        place in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        put in any::<char>(),
        in_hash in any::<bool>(),
    ) {
        let events = words.iter().map(|(word, time, has_call)| event(*time, word, *has_call));
        let mut world = AuditFixture::of(1, events, 5);
        prop_assert!(world.verify().is_sound());
        let row = place.get(&world.rows).seq;
        let changed = &mut world.rows[usize::try_from(row).unwrap() - 1];
        let text = if in_hash { &mut changed.hash } else { &mut changed.text };
        let mut letters: Vec<char> = text.chars().collect();
        let at = at.index(letters.len());
        prop_assume!(letters[at] != put);
        letters[at] = put;
        *text = letters.into_iter().collect();
        let report = world.verify();
        prop_assert!(!report.is_sound());
        prop_assert_eq!(report.findings[0].seq, row);
    }

    #[test]
    fn rows_in_any_order_with_any_left_out_are_sound_only_if_chained(
        order in prop::collection::vec(0..12usize, 0..16),
    ) {
        let mut world = AuditFixture::new(12, 100);
        let rows = world.rows.clone();
        world.rows = order.iter().map(|at| rows[*at].clone()).collect();
        prop_assert_eq!(world.verify().is_sound(), is_chained(&world.rows));
        // The same, renumbered by position.
        for (seq, row) in (1..).zip(&mut world.rows) {
            row.seq = seq;
        }
        prop_assert_eq!(world.verify().is_sound(), is_chained(&world.rows));
    }
}
