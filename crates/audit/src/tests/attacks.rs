//! Six kinds of tampering at many places: each is found and named.

use super::fixture::AuditFixture;
use crate::{Finding, Tampering};
use toolcrib_core::AuditRow;

const RECORDS: usize = 40;
const ROUNDS: u64 = 200;

/// Tampers this often, at places that a seed chooses, and checks the first finding.
fn check(
    name: &str,
    tamper: impl Fn(&mut AuditFixture, &mut fastrand::Rng) -> u64,
    right: impl Fn(&Finding, u64) -> bool,
) {
    let untouched = AuditFixture::new(RECORDS, 20);
    assert!(untouched.verify().is_sound(), "false alarm");
    for round in 0..ROUNDS {
        let mut dice = fastrand::Rng::with_seed(round);
        let mut world = untouched.clone();
        let place = tamper(&mut world, &mut dice);
        let report = world.verify();
        let first = report.findings.first();
        assert!(
            first.is_some_and(|first| right(first, place)),
            "{name} {round} at {place}: {report:#?}"
        );
    }
}

/// Returns a position, from 0.
fn index(dice: &mut fastrand::Rng, records: usize) -> (usize, u64) {
    let at = dice.usize(0..records);
    (at, at as u64 + 1)
}

fn edit(row: &mut AuditRow, dice: &mut fastrand::Rng) {
    match dice.u8(0..4) {
        0 => row.text = row.text.replace("tool_", "fool_"),
        1 => row.text.push(' '),
        2 => row.hash = "0123456789abcdef".repeat(4),
        _ => {
            let at = dice.usize(0..row.text.len());
            let old = row.text.remove(at);
            row.text.insert(at, if old == '1' { '2' } else { '1' });
        }
    }
}

#[test]
fn edited() {
    let tamper = |world: &mut AuditFixture, dice: &mut fastrand::Rng| {
        let (at, place) = index(dice, RECORDS);
        edit(&mut world.rows[at], dice);
        place
    };
    check("edited", tamper, |first, place| first.what == Tampering::Altered && first.seq == place);
}

#[test]
fn deleted() {
    let tamper = |world: &mut AuditFixture, dice: &mut fastrand::Rng| {
        let (at, place) = index(dice, RECORDS - 3);
        world.rows.drain(at..at + dice.usize(1..3));
        place
    };
    check("deleted", tamper, |first, place| {
        matches!(first.what, Tampering::Gap { to } if to <= place + 1) && first.seq == place
    });
}

#[test]
fn deleted_and_renumbered() {
    let tamper = |world: &mut AuditFixture, dice: &mut fastrand::Rng| {
        let (at, place) = index(dice, RECORDS - 2);
        world.rows.remove(at);
        world.rows[at..].iter_mut().for_each(|row| row.seq -= 1);
        place
    };
    check("renumbered", tamper, |first, place| {
        first.what == Tampering::Moved { says: place + 1 } && first.seq == place
    });
}

#[test]
fn inserted() {
    let tamper = |world: &mut AuditFixture, dice: &mut fastrand::Rng| {
        let (at, place) = index(dice, RECORDS);
        let mut forged = world.rows[dice.usize(0..RECORDS)].clone();
        let is_neighbour = forged.seq == place || forged.seq + 1 == place;
        match dice.u8(0..3) {
            // A record with the expected number that follows the record before.
            0 => {
                forged.text = world.rows[at].text.replace("tool_", "fool_");
                world.rows.insert(at, forged);
                let rest = world.rows.split_off(at + 1);
                world.rehash_from(at);
                world.rows.extend(rest);
            }
            // A copy of another record; an adjacent copy would be the same record twice.
            1 if !is_neighbour => world.rows.insert(at, forged),
            // A record that matches nothing.
            _ => {
                forged.text = world.rows[at].text.replace("tool_", "fool_");
                world.rows.insert(at, forged);
            }
        }
        for (seq, row) in (1..).zip(&mut world.rows) {
            row.seq = seq;
        }
        place
    };
    check("inserted", tamper, |first, place| {
        matches!(first.what, Tampering::Inserted | Tampering::Moved { .. }) && first.seq == place
    });
}

#[test]
fn reordered() {
    let tamper = |world: &mut AuditFixture, dice: &mut fastrand::Rng| {
        let (a, _) = index(dice, RECORDS);
        let (mut b, _) = index(dice, RECORDS);
        if a == b {
            b = (a + 1) % RECORDS;
        }
        world.rows.swap(a, b);
        // In a database rows are ordered by number; in a file they can be anywhere.
        if dice.bool() {
            for (seq, row) in (1..).zip(&mut world.rows) {
                row.seq = seq;
            }
        }
        a.min(b) as u64 + 1
    };
    check("reordered", tamper, |first, place| {
        matches!(first.what, Tampering::Moved { says } if says > place) && first.seq == place
    });
}

#[test]
fn tail_cut() {
    let tamper = |world: &mut AuditFixture, dice: &mut fastrand::Rng| {
        let (at, place) = index(dice, RECORDS);
        world.rows.truncate(at);
        // An attacker who removes the newest records also removes the checkpoints beside them.
        if dice.bool() {
            world.checkpoints.retain(|checkpoint| checkpoint.seq < place);
        }
        place
    };
    check("tail cut", tamper, |first, place| {
        first.what == Tampering::TailCut { checkpoint: RECORDS as u64 } && first.seq == place
    });
}

#[test]
fn rewritten_without_the_key() {
    let tamper = |world: &mut AuditFixture, dice: &mut fastrand::Rng| {
        let (at, place) = index(dice, RECORDS);
        match dice.u8(0..3) {
            0 => world.rows[at].text = world.rows[at].text.replace("tool_", "fool_"),
            // Removed, and all later records renumbered: one record less remains to be signed at
            // the end.
            1 if place <= 20 => {
                world.rows.remove(at);
                for (seq, row) in (1..).zip(&mut world.rows).skip(at) {
                    row.text = row
                        .text
                        .replace(&format!("\"seq\":{}", row.seq), &format!("\"seq\":{seq}"));
                    row.seq = seq;
                }
            }
            _ => {
                let (a, b) = (at.min(RECORDS - 2), at.min(RECORDS - 2) + 1);
                let text = world.rows[a]
                    .text
                    .replace(&format!("\"seq\":{}", a + 1), &format!("\"seq\":{}", b + 1));
                world.rows[a].text = world.rows[b]
                    .text
                    .replace(&format!("\"seq\":{}", b + 1), &format!("\"seq\":{}", a + 1));
                world.rows[b].text = text;
            }
        }
        world.rehash_from(at.min(RECORDS - 2).min(world.rows.len()));
        match dice.u8(0..3) {
            0 => {}
            1 => world.checkpoints.retain(|checkpoint| checkpoint.seq < place),
            // Signed again with the attacker's key.
            _ => {
                let mut other = AuditFixture::with_key(9, 0, 1);
                other.rows.clone_from(&world.rows);
                for checkpoint in world.checkpoints.iter_mut().filter(|c| c.seq >= place) {
                    *checkpoint = other.sign(checkpoint.seq.min(other.rows.len() as u64));
                }
            }
        }
        place
    };
    check("rewritten", tamper, |first, place| match first.what {
        Tampering::Rewritten { checkpoint } => first.seq <= place && place <= checkpoint,
        _ => false,
    });
}
