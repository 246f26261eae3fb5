//! The built page, inside the binary. Its sources are in `ui/`; `cargo xtask page` builds them into
//! `dist/`, which is part of the repository, so that a build needs no Node.js.
//!
//! Files are kept as brotli only: every browser accepts it, and other clients get the bytes
//! decompressed.

use std::io::Read as _;

/// A file of the page.
#[derive(Debug)]
pub struct PageFile {
    /// Path below the root, such as `index.html` or `assets/index-DdX.js`.
    pub path: &'static str,
    /// Media type.
    pub media_type: &'static str,
    /// `ETag` of the content, with quotes.
    pub etag: &'static str,
    /// Length of the content in bytes.
    pub bytes: usize,
    /// The content, compressed.
    pub brotli: &'static [u8],
}

impl PageFile {
    /// The content.
    ///
    /// # Errors
    /// Never for a file of [`files`]; the decompressor's error otherwise.
    pub fn decompress(&self) -> std::io::Result<Vec<u8>> {
        let mut content = Vec::with_capacity(self.bytes);
        brotli_decompressor::Decompressor::new(self.brotli, 4_096).read_to_end(&mut content)?;
        Ok(content)
    }
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// All files, in the order of their paths.
#[must_use]
pub fn files() -> &'static [PageFile] {
    FILES
}

/// The file with this path.
#[must_use]
pub fn find(path: &str) -> Option<&'static PageFile> {
    FILES.iter().find(|file| file.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_what_the_bundle_has() {
        let dist = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("dist");
        assert!(find("index.html").is_some());
        for file in files() {
            let content = std::fs::read(dist.join(file.path)).unwrap();
            assert_eq!((file.decompress().unwrap(), file.bytes), (content.clone(), content.len()));
        }
    }

    /// The content security policy allows no inline script and no inline style.
    #[test]
    fn the_document_has_no_inline_code() {
        let html = find("index.html").unwrap().decompress().unwrap();
        let html = String::from_utf8(html).unwrap();
        for inline in ["<style", " style=", " onload=", "javascript:", "<script>"] {
            assert!(!html.contains(inline), "{inline}");
        }
    }
}
