//! Documentations of DevDocs that are installed in a folder: `SLUG/index.json` and one HTML file
//! for each page, as in the archives of DevDocs. This module sends no requests.
#![deny(clippy::indexing_slicing)]

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::dev_docs::{Entry, Index, MAX_INDEX, Match, age, best, is_of};
use crate::html_to_markdown::to_markdown;
use crate::web::Cache;

/// How long an index is reused. Folders change when a person installs a release.
const CACHE_TIME: std::time::Duration = std::time::Duration::from_secs(600);
/// Number of cached indexes.
const KEPT: usize = 6;
/// Number of results with the text of their page, the characters of each text, and the bytes of
/// HTML from which the text is converted.
const WITH_TEXT: usize = 3;
const TEXT_CHARS: usize = 1_500;
const TEXT_BYTES: usize = 16 * 1024;
/// Largest page, in bytes: the largest of DevDocs has about 4 MB.
const MAX_PAGE: usize = 8 * 1024 * 1024;

/// The documentations of a folder.
pub(crate) struct InstalledDocs {
    folder: PathBuf,
    indexes: Cache<Arc<Vec<Entry>>>,
}

/// The file `meta.json` next to an index.
#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    name: String,
    #[serde(default)]
    release: Option<String>,
}

impl InstalledDocs {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, indexes: Cache::new(CACHE_TIME, KEPT) }
    }

    /// Returns the names that match the words, the best first; `None` if the documentation is not
    /// installed. Reads files.
    ///
    /// # Errors
    /// A text, if the files cannot be read.
    pub(crate) fn search(
        &self,
        slug: &str,
        query: &str,
        num: usize,
    ) -> Result<Option<Vec<Match>>, String> {
        let Some(installed) = self.newest(slug) else { return Ok(None) };
        let entries = match self.indexes.get(&installed) {
            Some(entries) => entries,
            None => {
                let index: Index = self.json(&installed, "index.json")?;
                let entries = Arc::new(index.entries);
                self.indexes.put(installed.clone(), Arc::clone(&entries));
                entries
            }
        };
        let meta: Meta = self.json(&installed, "meta.json").unwrap_or_default();
        let name = if meta.name.is_empty() { slug } else { &meta.name };
        let release = meta.release.as_deref().unwrap_or_default();
        let documentation = format!("{name} {release}").trim_end().to_owned();
        let found = best(&entries, query, num).into_iter().enumerate().map(|(at, entry)| {
            let (path, anchor) = entry.path.split_once('#').unwrap_or((&entry.path, ""));
            let file = self.page(&installed, path);
            let text = file.as_deref().filter(|_| at < WITH_TEXT);
            Match {
                title: entry.name.clone(),
                url: file.as_ref().map(|file| file.display().to_string()).unwrap_or_default(),
                topic: entry.topic.clone(),
                documentation: documentation.clone(),
                text: text.and_then(|file| excerpt(file, anchor)),
            }
        });
        Ok(Some(found.collect()))
    }

    /// Returns the newest installed version of a documentation.
    fn newest(&self, slug: &str) -> Option<String> {
        let folders = std::fs::read_dir(&self.folder).ok()?.flatten();
        let names = folders.filter_map(|folder| folder.file_name().into_string().ok());
        let installed = names.filter(|name| {
            is_of(name, slug) && self.folder.join(name).join("index.json").is_file()
        });
        installed.max_by_key(|name| age(name))
    }

    fn json<T: for<'de> Deserialize<'de>>(&self, slug: &str, name: &str) -> Result<T, String> {
        let file = self.folder.join(slug).join(name);
        let bytes = read(&file, MAX_INDEX)
            .ok_or_else(|| format!("{} cannot be read or is too large", file.display()))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| format!("{} is not an index of DevDocs: {error}", file.display()))
    }

    /// Returns the file of a page; an index must not point outside of its folder.
    fn page(&self, slug: &str, path: &str) -> Option<PathBuf> {
        let relative = PathBuf::from(format!("{path}.html"));
        let stays = relative.components().all(|part| matches!(part, Component::Normal(_)));
        let file = self.folder.join(slug).join(relative);
        (stays && file.is_file()).then_some(file)
    }
}

fn read(file: &Path, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(most as u64 + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= most).then_some(bytes)
}

/// Returns the text of a page, starting at an anchor.
fn excerpt(file: &Path, anchor: &str) -> Option<String> {
    let bytes = read(file, MAX_PAGE)?;
    let html = String::from_utf8_lossy(&bytes);
    let at = if anchor.is_empty() { None } else { html.find(&format!("id=\"{anchor}\"")) };
    // Start at the tag that has the anchor.
    let start = at.and_then(|at| html.get(..at)?.rfind('<')).unwrap_or(0);
    let part = html.get(start..)?;
    let end = (0..=part.len().min(TEXT_BYTES)).rev().find(|end| part.is_char_boundary(*end))?;
    let text = to_markdown(part.get(..end)?, None);
    let text: String = text.trim().chars().take(TEXT_CHARS).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = r#"{"entries": [
        {"name": "str.split()", "path": "library/stdtypes#str.split", "type": "Built-in Types"},
        {"name": "re.split()", "path": "library/re#re.split", "type": "Text Processing"},
        {"name": "evil.split()", "path": "../../secret", "type": "Evil"}], "types": []}"#;
    const PAGE: &str = "<h1>Built-in Types</h1><p>Much before it.</p><dl><dt id=\"str.split\">str.split(sep=None)</dt><dd>Return a <b>list</b> of the words.</dd></dl>";

    fn installed() -> (tempfile::TempDir, InstalledDocs) {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = folder.path().join("docs").join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        std::fs::write(folder.path().join("secret.html"), "secret").unwrap();
        write("python~3.9/index.json", r#"{"entries": [], "types": []}"#);
        write("python~3.14/index.json", INDEX);
        write("python~3.14/meta.json", r#"{"name": "Python", "release": "3.14.0"}"#);
        write("python~3.14/library/stdtypes.html", PAGE);
        write("rust/index.json", "<html>");
        let docs = InstalledDocs::new(folder.path().join("docs"));
        (folder, docs)
    }

    #[test]
    fn the_newest_installed_release_is_searched_with_the_text_of_its_pages() {
        let (_folder, docs) = installed();
        let found = docs.search("python", "str.split", 5).unwrap().unwrap();
        let first = &found[0];
        assert_eq!((&*first.title, &*first.documentation), ("str.split()", "Python 3.14.0"));
        let text = first.text.as_deref().unwrap();
        assert!(text.contains("list") && !text.contains("before it"), "{text}");
        assert!(first.url.ends_with("python~3.14/library/stdtypes.html"), "{}", first.url);
    }

    #[test]
    fn what_is_not_installed_or_broken_is_told_apart_and_no_index_leads_out_of_its_folder() {
        let (_folder, docs) = installed();
        assert_eq!(docs.search("go", "x", 5), Ok(None));
        let error = docs.search("rust", "Vec", 5).unwrap_err();
        assert!(error.contains("is not an index of DevDocs"), "{error}");
        let found = docs.search("python", "evil.split", 5).unwrap().unwrap();
        let evil = found.iter().find(|one| one.title == "evil.split()").unwrap();
        assert_eq!((evil.url.as_str(), &evil.text), ("", &None));
        let missing = InstalledDocs::new("/nowhere".into());
        assert_eq!(missing.search("python", "x", 5), Ok(None));
    }
}
