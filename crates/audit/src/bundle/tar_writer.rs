//! Writes the archive piece by piece. Equal contents produce equal bytes: entries have no time, no
//! owner and the same mode.
#![deny(clippy::indexing_slicing)]

use std::io;

use toolcrib_core::{AuditSigner, canonical_json};

use super::layout::{MANIFEST, SIGNATURE, signing_payload};

/// Readable for every user who has the archive.
const MODE: u32 = 0o644;

pub(super) struct TarWriter {
    tar: tar::Builder<Vec<u8>>,
    manifest: String,
}

impl TarWriter {
    pub(super) fn new() -> Self {
        Self { tar: tar::Builder::new(Vec::new()), manifest: String::new() }
    }

    /// Adds a file; returns the bytes of the archive up to its end.
    pub(super) fn add(&mut self, path: &str, content: &[u8]) -> io::Result<Vec<u8>> {
        self.append(path, content)?;
        let sum =
            canonical_json::hex(ring::digest::digest(&ring::digest::SHA256, content).as_ref());
        self.manifest += &format!("{sum}  {path}\n");
        Ok(std::mem::take(self.tar.get_mut()))
    }

    /// Returns the rest of the archive: the list of sums, its signature, and the end.
    pub(super) fn finish(mut self, signer: &dyn AuditSigner) -> io::Result<Vec<u8>> {
        let manifest = std::mem::take(&mut self.manifest);
        let signature = signer.sign(&signing_payload(manifest.as_bytes()));
        self.append(MANIFEST, manifest.as_bytes())?;
        self.append(SIGNATURE, format!("{} {signature}\n", signer.public_key()).as_bytes())?;
        self.tar.into_inner()
    }

    fn append(&mut self, path: &str, content: &[u8]) -> io::Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(MODE);
        header.set_entry_type(tar::EntryType::Regular);
        self.tar.append_data(&mut header, path, content)
    }
}
