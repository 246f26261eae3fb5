//! The first pass over a bundle: computes the SHA-256 of each file and stores the few files that
//! are needed as a whole.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};

use ring::digest::{Context, SHA256};
use toolcrib_core::canonical_json;

use super::findings::BundleFinding;
use super::layout::{ANCHORS, KEYS, MANIFEST, SIGNATURE};
use crate::AnchorFile;

/// Largest file that is stored: a list of a million files has about 100 MB.
const KEPT_BYTES: u64 = 256 * 1024 * 1024;

/// The result of the first pass.
#[derive(Default)]
pub(super) struct Scan {
    /// SHA-256 of each file by its path.
    pub(super) sums: BTreeMap<String, String>,
    pub(super) anchors: AnchorFile,
    pub(super) findings: Vec<BundleFinding>,
    kept: BTreeMap<String, Vec<u8>>,
}

impl Scan {
    /// Reads the archive to its end.
    pub(super) fn read(archive: impl Read) -> io::Result<Self> {
        let mut scan = Self::default();
        for entry in tar::Archive::new(archive).entries()? {
            let entry = entry?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if !entry.header().entry_type().is_file() || scan.sums.contains_key(&path) {
                scan.findings.push(BundleFinding::Unlisted { path });
                continue;
            }
            let sum = scan.file(&path, entry)?;
            scan.sums.insert(path, sum);
        }
        Ok(scan)
    }

    /// Reads one file and returns its SHA-256.
    fn file(&mut self, path: &str, content: impl Read) -> io::Result<String> {
        let mut content = Hashing { inner: content, hash: Context::new(&SHA256) };
        if path == ANCHORS {
            self.anchors = AnchorFile::from_lines(BufReader::new(&mut content))?;
        } else if [KEYS, MANIFEST, SIGNATURE].contains(&path) {
            let mut kept = Vec::new();
            content.by_ref().take(KEPT_BYTES).read_to_end(&mut kept)?;
            self.kept.insert(path.to_owned(), kept);
        }
        io::copy(&mut content, &mut io::sink())?;
        Ok(canonical_json::hex(content.hash.finish().as_ref()))
    }

    /// Returns the bytes of a stored file; empty if there is none.
    pub(super) fn kept(&self, path: &str) -> &[u8] {
        self.kept.get(path).map_or(&[], Vec::as_slice)
    }
}

struct Hashing<R> {
    inner: R,
    hash: Context,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.hash.update(into.get(..read).unwrap_or_default());
        Ok(read)
    }
}
