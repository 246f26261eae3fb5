//! `audit::verify_export`, `verify_bundle`, `AnchorFile` and `TrustedKeys`: the verifier answers
//! for every export, bundle, anchor file and key file; a chain that it calls sound is chained
//! correctly.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use toolcrib_audit::{
    AnchorFile, BundleEvidence, ChainReport, Evidence, ExportLine, Start, TrustedKeys,
    verify_bundle, verify_export,
};
use toolcrib_core::audit::{chain_hash, genesis};
use toolcrib_core::canonical_json;

/// The public key of the seeds.
const KEY: &str = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c";

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    // Whatever is read is read again from what it says.
    if let Ok(keys) = TrustedKeys::parse(&text) {
        assert!(text.lines().any(|line| keys.contains(line.trim())));
    }
    if let Ok(report) = verify_bundle(Cursor::new(input), BundleEvidence::default()) {
        assert!(!report.is_sound(), "no key of the seeds signed a bundle");
    }
    let anchors = AnchorFile::from_lines(input).expect("a slice can be read");
    let keys = TrustedKeys::parse(KEY).expect("a key");
    for anchors in [None, Some(anchors)] {
        let evidence = Evidence { keys: keys.clone(), anchors, start: Start::Genesis };
        match verify_export(input, &evidence) {
            Ok(reports) => reports.iter().for_each(|report| judge(input, report)),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

fn judge(input: &[u8], report: &ChainReport) {
    for finding in &report.findings {
        assert!(!finding.to_string().is_empty() && finding.chain == report.chain);
    }
    assert!(report.findings.is_sorted_by_key(|finding| finding.seq));
    if report.is_sound() {
        check_chain(input, report);
    }
}

/// Every record has the number after that of the one before, and its hash.
fn check_chain(input: &[u8], report: &ChainReport) {
    let lines = input.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let lines = lines.map(|line| serde_json::from_slice(line).expect("a line of an export"));
    let (mut is_in, mut next, mut previous, mut records) = (false, 1, String::new(), 0);
    for line in lines {
        match line {
            ExportLine::Chain { chain, after, hash } if chain == report.chain => {
                (is_in, next) = (true, after.saturating_add(1));
                previous = if after == 0 { canonical_json::hex(&genesis(chain)) } else { hash };
            }
            ExportLine::Record(row) if is_in => {
                let before = bytes(&previous);
                assert_eq!((row.chain, row.seq), (report.chain, next));
                assert_eq!(row.hash, canonical_json::hex(&chain_hash(&before, &row.text)));
                (previous, next, records) = (row.hash, next.saturating_add(1), records + 1);
            }
            ExportLine::End { .. } => is_in = false,
            _ => {}
        }
    }
    assert_eq!(records, report.records);
}

fn bytes(hex: &str) -> [u8; 32] {
    let digit = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("digits");
    std::array::from_fn(digit)
}
