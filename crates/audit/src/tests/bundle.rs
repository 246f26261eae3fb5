//! Bundles of a store in memory, and the verifier's findings for changed bytes.

use std::io::Cursor;
use std::sync::Arc;

use proptest::prelude::*;
use toolcrib_core::AuditStore as _;
use toolcrib_engine::store::MemoryAudit;

use super::fixture::event;
use crate::{AuditKey, BundleContents, BundleEvidence, BundleExport, BundleReport, verify_bundle};

/// A bundle of some records, with the public key that signed them.
fn bundle(folder: &std::path::Path) -> (Vec<u8>, BundleEvidence) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let key = Arc::new(AuditKey::open(folder).unwrap());
        let public = toolcrib_core::AuditSigner::public_key(&*key);
        let audit = MemoryAudit::signed_by(Arc::clone(&key) as _);
        for at in 0..20 {
            audit.append(event(at, "read_file", false)).await.unwrap();
        }
        audit.checkpoint_now().await.unwrap();
        let contents = BundleContents {
            keys: format!("# ours\n{public}\n"),
            rules: vec!["{\"rule\":\"Bash\"}".to_owned(); 2],
            tools: vec!["{\"name\":\"read_file\"}".to_owned()],
            ..BundleContents::default()
        };
        let mut export = BundleExport::new(&audit, key, contents).await.unwrap();
        let mut bytes = Vec::new();
        while let Some(piece) = export.next().await.unwrap() {
            bytes.extend(piece);
        }
        let keys = crate::TrustedKeys::parse(&public).unwrap();
        (bytes, BundleEvidence { keys: Some(keys), anchors: None })
    })
}

fn verify(bytes: &[u8], evidence: &BundleEvidence) -> Option<BundleReport> {
    verify_bundle(Cursor::new(bytes), evidence.clone()).ok()
}

#[test]
fn a_bundle_of_a_store_verifies_and_holds_equal_texts_once() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, evidence) = bundle(folder.path());
    let report = verify(&bytes, &evidence).unwrap();
    assert!(report.is_sound(), "{report:?}");
    // Text, verifier, keys, anchors, one rule, one definition, two parts, sums, signature.
    assert_eq!((report.files, report.chains[0].records, report.keys.len()), (10, 20, 1));
}

#[test]
fn changed_and_cut_bundles_are_never_sound() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, evidence) = bundle(folder.path());
    let is_sound = |bytes: &[u8]| verify(bytes, &evidence).is_some_and(|report| report.is_sound());
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    for at in (0..end).step_by(211) {
        assert!(!is_sound(&bytes[..at]), "cut at {at}");
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        // A byte that is neither content nor header of a file is padding and has no meaning.
        assert!(!is_sound(&changed) || bytes[at] == 0, "byte {at}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let report = verify(&bytes, &BundleEvidence::default());
        prop_assert!(report.is_none_or(|report| !report.is_sound()));
    }
}
