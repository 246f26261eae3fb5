//! Exports: complete ones verify, and tampering with one is found.

use super::fixture::{AuditFixture, CHAIN};
use crate::{ChainReport, Evidence, ExportError, ExportLine, Tampering, hex, verify_export};
use toolcrib_core::audit::genesis;

/// An export of the records after number `after`.
fn lines(world: &AuditFixture, after: usize) -> Vec<String> {
    let hash = match after.checked_sub(1) {
        None => genesis(CHAIN),
        Some(at) => hex::array(&world.rows[at].hash).unwrap(),
    };
    let mut lines = vec![ExportLine::chain(CHAIN, after as u64, &hash)];
    lines.extend(world.checkpoints.iter().cloned().map(ExportLine::Checkpoint));
    lines.extend(world.rows[after..].iter().cloned().map(ExportLine::Record));
    lines.push(ExportLine::End { chain: CHAIN, seq: world.rows.len() as u64 });
    lines.iter().map(ExportLine::text).collect()
}

fn read(lines: &[String], evidence: &Evidence) -> Result<Vec<ChainReport>, ExportError> {
    verify_export(lines.join("\n").as_bytes(), evidence)
}

#[test]
fn an_export_verifies_without_its_database() {
    let world = AuditFixture::new(30, 10);
    for after in [0, 1, 10, 29, 30] {
        for anchors in [None, Some(world.anchors.clone())] {
            let evidence = Evidence { anchors, ..world.evidence() };
            let reports = read(&lines(&world, after), &evidence).unwrap();
            assert_eq!(reports.len(), 1);
            let records = (30 - after) as u64;
            assert!(reports[0].is_sound() && reports[0].records == records, "{reports:?}");
            assert_eq!((reports[0].last, reports[0].signed), (30, 30));
        }
    }
}

#[test]
fn what_is_done_to_an_export_is_found() {
    let world = AuditFixture::new(30, 10);
    let check = |change: &dyn Fn(&mut Vec<String>), wanted: (u64, Tampering)| {
        let mut lines = lines(&world, 0);
        change(&mut lines);
        let first = read(&lines, &world.evidence()).unwrap()[0].findings[0].clone();
        assert_eq!((first.seq, first.what), wanted);
    };
    // The header and three checkpoints precede the first record.
    check(&|l| l[4 + 6] = l[4 + 6].replace("tool_", "fool_"), (7, Tampering::Altered));
    check(&|l| drop(l.remove(4 + 6)), (7, Tampering::Gap { to: 7 }));
    check(&|l| l.swap(4 + 6, 4 + 7), (7, Tampering::Moved { says: 8 }));
    check(&|l| l.swap(4 + 6, 4 + 20), (7, Tampering::Moved { says: 21 }));
    check(&|l| drop(l.drain(4 + 25..4 + 30)), (26, Tampering::TailCut { checkpoint: 30 }));
    check(&|l| drop(l.remove(2)), (20, Tampering::MissingCheckpoint));
}

#[test]
fn what_is_no_whole_export_is_refused_with_its_line() {
    let world = AuditFixture::new(3, 2);
    let check = |change: &dyn Fn(&mut Vec<String>), wanted: &str| {
        let mut lines = lines(&world, 0);
        change(&mut lines);
        let error = read(&lines, &world.evidence()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    };
    check(&|l| l.clear(), "empty");
    check(&|l| drop(l.pop()), "truncated after line 5");
    check(&|l| l[2].truncate(20), "line 3");
    check(&|l| l[2] = "{}".into(), "line 3");
    check(&|l| l[2] = r#"{"type":"other"}"#.into(), "line 3");
    check(&|l| drop(l.remove(0)), "line 1");
    check(&|l| l.swap(1, 2), "line 3");
    check(&|l| l.extend(lines(&world, 0)), "line 7");
    check(&|l| l.insert(1, l[0].clone()), "line 2");
    check(&|l| l[5] = l[5].replace("\"chain\":1", "\"chain\":2"), "line 6");
}
