//! Verifies a bundle: its files against the signed list, its records against the checkpoints.
#![deny(clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Read, Seek};

use super::findings::{BundleFinding, BundleReport};
use super::layout::{KEYS, MANIFEST, RECORDS, SIGNATURE, named_digest, signing_payload};
use super::scan::Scan;
use crate::{AnchorFile, Evidence, ExportError, Start, TrustedKeys, verify_export};

/// The keys and anchors against which a bundle is verified.
#[derive(Debug, Clone, Default)]
pub struct BundleEvidence {
    /// Keys from another source. `None` uses those in the bundle, which proves only that the bundle
    /// is consistent.
    pub keys: Option<TrustedKeys>,
    /// Anchors from another source. `None` uses those in the bundle.
    pub anchors: Option<AnchorFile>,
}

/// Verifies a bundle in two passes, without unpacking it.
///
/// # Errors
/// The I/O error, also if the file is not a tar archive.
pub fn verify_bundle(
    mut bundle: impl Read + Seek,
    evidence: BundleEvidence,
) -> io::Result<BundleReport> {
    let mut scan = Scan::read(BufReader::new(&mut bundle))?;
    let own = String::from_utf8_lossy(scan.kept(KEYS)).into_owned();
    let keys = match evidence.keys {
        Some(keys) => keys,
        None => TrustedKeys::parse(&own).unwrap_or_else(|error| {
            scan.findings.push(BundleFinding::Unreadable { why: format!("{KEYS}: {error}") });
            TrustedKeys::default()
        }),
    };
    check_files(&mut scan);
    check_signature(&mut scan, &keys);
    let anchors = evidence.anchors.unwrap_or_else(|| std::mem::take(&mut scan.anchors));
    let evidence = Evidence { keys, anchors: Some(anchors), start: Start::Genesis };
    bundle.rewind()?;
    let mut archive = tar::Archive::new(BufReader::new(bundle));
    let parts = Parts { entries: archive.entries()?, current: None };
    let chains = match verify_export(BufReader::new(parts), &evidence) {
        Ok(chains) => chains,
        // Nothing was recorded yet; missing parts are findings of the list of sums.
        Err(ExportError::Empty) => Vec::new(),
        Err(error) => {
            scan.findings.push(BundleFinding::Unreadable { why: error.to_string() });
            Vec::new()
        }
    };
    let there: BTreeSet<u64> = chains.iter().map(|report| report.chain).collect();
    let anchored = evidence.anchored_chains().into_iter();
    let missing = anchored.filter(|chain| !there.contains(chain));
    scan.findings.extend(missing.map(|chain| BundleFinding::MissingChain { chain }));
    let keys = own.lines().map(str::trim).filter(|key| !key.is_empty() && !key.starts_with('#'));
    Ok(BundleReport {
        files: scan.sums.len() as u64,
        chains,
        findings: scan.findings,
        keys: keys.map(str::to_owned).collect(),
    })
}

/// Compares every file with the list of sums, and digests with file names.
fn check_files(scan: &mut Scan) {
    let manifest = String::from_utf8_lossy(scan.kept(MANIFEST)).into_owned();
    let listed: BTreeMap<&str, &str> = manifest
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(sum, path)| (path, sum))
        .collect();
    for (path, sum) in &scan.sums {
        if named_digest(path).is_some_and(|digest| digest != sum) {
            scan.findings.push(BundleFinding::Digest { path: path.clone() });
        }
        if [MANIFEST, SIGNATURE].contains(&path.as_str()) {
            continue;
        }
        match listed.get(path.as_str()) {
            Some(listed) if *listed == sum => {}
            Some(_) => scan.findings.push(BundleFinding::Altered { path: path.clone() }),
            None => scan.findings.push(BundleFinding::Unlisted { path: path.clone() }),
        }
    }
    for path in listed.keys().filter(|path| !scan.sums.contains_key(**path)) {
        scan.findings.push(BundleFinding::Missing { path: (*path).to_owned() });
    }
}

fn check_signature(scan: &mut Scan, keys: &TrustedKeys) {
    let signed = String::from_utf8_lossy(scan.kept(SIGNATURE)).into_owned();
    let (key, signature) = signed.trim_end().split_once(' ').unwrap_or_default();
    let payload = signing_payload(scan.kept(MANIFEST));
    if let Err(why) = keys.check_signature(key, &payload, signature) {
        scan.findings.push(BundleFinding::Manifest { why });
    }
}

/// The concatenated parts of the export as one text.
struct Parts<'a, R: Read> {
    entries: tar::Entries<'a, R>,
    current: Option<tar::Entry<'a, R>>,
}

impl<R: Read> Read for Parts<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(current) = &mut self.current {
                let read = current.read(into)?;
                if read > 0 || into.is_empty() {
                    return Ok(read);
                }
            }
            let Some(next) = self.entries.next().transpose()? else { return Ok(0) };
            let is_part = next.header().entry_type().is_file()
                && next.path_bytes().starts_with(RECORDS.as_bytes());
            self.current = is_part.then_some(next);
        }
    }
}
