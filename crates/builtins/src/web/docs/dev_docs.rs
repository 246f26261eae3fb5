//! DevDocs: the indexes of documentation that <https://devdocs.io> offers for offline use. A search
//! matches names of functions, types and pages; it needs no key.
#![deny(clippy::indexing_slicing)]

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_core::CallCtx;
use toolcrib_net::HttpClient;

use crate::web::{Cache, Service, ServiceError};

/// How long indexes are reused; they change with each release.
const CACHE_TIME: Duration = Duration::from_secs(24 * 3600);
/// Number of cached indexes.
const KEPT: usize = 6;
/// Largest index, in bytes: that of OpenJDK has about 4 MB.
pub(super) const MAX_INDEX: usize = 16 * 1024 * 1024;

/// The public service, or an instance of the owner.
pub(crate) struct DevDocs {
    site: Service,
    documents: Service,
    manifest: Cache<Arc<Vec<Documentation>>>,
    indexes: Cache<Arc<Vec<Entry>>>,
}

/// A documentation in the list of all documentations.
#[derive(Debug, Deserialize)]
struct Documentation {
    name: String,
    /// Its name in addresses, with the version: `python~3.14`.
    slug: String,
    #[serde(default)]
    release: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Index {
    pub(super) entries: Vec<Entry>,
}

/// A name in an index.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) path: String,
    #[serde(default, rename = "type")]
    pub(super) topic: String,
}

/// A name that matches a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Match {
    pub(crate) title: String,
    /// Address of the page as HTML without scripts.
    pub(crate) url: String,
    /// Chapter of the page.
    pub(crate) topic: String,
    /// Name and release of the documentation.
    pub(crate) documentation: String,
    /// Beginning of the page's text, for installed documentations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

impl DevDocs {
    /// Creates a client. An own instance has the documents below `/docs`, the public service on
    /// another host.
    pub(crate) fn new(client: &HttpClient, configured: Option<&str>) -> Self {
        let documents = configured.map(|base| format!("{}/docs", base.trim_end_matches('/')));
        let site = Service::new(client, configured, "https://devdocs.io");
        let public = "https://documents.devdocs.io";
        let documents = Service::new(client, documents.as_deref(), public);
        Self {
            site: site.with_max_body(MAX_INDEX),
            documents: documents.with_max_body(MAX_INDEX),
            manifest: Cache::new(CACHE_TIME, 1),
            indexes: Cache::new(CACHE_TIME, KEPT),
        }
    }

    /// Returns the host of the documents.
    pub(crate) fn host(&self) -> String {
        self.documents.host()
    }

    /// Returns the names of a documentation that match the words, the best first.
    pub(crate) async fn search(
        &self,
        slug: &str,
        query: &str,
        num: usize,
        ctx: &CallCtx,
    ) -> Result<Vec<Match>, ServiceError> {
        let all = match self.manifest.get("") {
            Some(all) => all,
            None => {
                let all: Vec<Documentation> = self.site.get_json("/docs.json", &[], ctx).await?;
                let all = Arc::new(all);
                self.manifest.put(String::new(), Arc::clone(&all));
                all
            }
        };
        let documentation = newest(&all, slug)
            .ok_or_else(|| ServiceError::new(format!("it has no documentation {slug}")))?;
        let slug = documentation.slug.as_str();
        let entries = match self.indexes.get(slug) {
            Some(entries) => entries,
            None => {
                let path = format!("/{slug}/index.json");
                let index: Index = self.documents.get_json(&path, &[], ctx).await?;
                let entries = Arc::new(index.entries);
                self.indexes.put(slug.to_owned(), Arc::clone(&entries));
                entries
            }
        };
        let release = documentation.release.as_deref().unwrap_or_default();
        let named = format!("{} {release}", documentation.name).trim_end().to_owned();
        let page = |entry: &Entry| {
            let (path, anchor) = entry.path.split_once('#').unwrap_or((&entry.path, ""));
            let mark = if anchor.is_empty() { "" } else { "#" };
            Match {
                title: entry.name.clone(),
                url: format!("{}/{slug}/{path}.html{mark}{anchor}", self.documents.base()),
                topic: entry.topic.clone(),
                documentation: named.clone(),
                text: None,
            }
        };
        Ok(best(&entries, query, num).into_iter().map(page).collect())
    }
}

/// Returns the newest version of the documentation with this name.
fn newest<'a>(all: &'a [Documentation], slug: &str) -> Option<&'a Documentation> {
    all.iter().filter(|one| is_of(&one.slug, slug)).max_by_key(|one| age(&one.slug))
}

/// Returns whether a versioned name belongs to this documentation.
pub(super) fn is_of(versioned: &str, slug: &str) -> bool {
    versioned.split('~').next() == Some(slug)
}

/// Returns a key that is larger for newer versions. A name without a version is the current one.
pub(super) fn age(versioned: &str) -> (bool, Vec<u64>) {
    let version = versioned.split_once('~').map_or("", |(_, version)| version);
    let parts = version.split(['.', '_']).map_while(|part| part.parse().ok()).collect();
    (!versioned.contains('~'), parts)
}

/// Returns the entries that match the words best: complete names before prefixes before substrings,
/// short names before long ones.
pub(super) fn best<'a>(entries: &'a [Entry], query: &str, num: usize) -> Vec<&'a Entry> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-' | '#')))
        .filter(|word| !word.is_empty())
        .collect();
    let score = |entry: &Entry| {
        let name = entry.name.to_lowercase();
        let bare = name.trim_end_matches("()");
        let fits = words.iter().filter(|word| name.contains(**word)).count();
        let last = bare.rsplit(['.', ':', '#']).next().unwrap_or(bare);
        let whole = usize::from(bare == query) * 4
            + usize::from(words.contains(&bare)) * 3
            + usize::from(words.contains(&last)) * 2
            + usize::from(words.iter().any(|word| bare.starts_with(word)));
        (fits > 0).then_some(fits * 8 + whole)
    };
    let mut scored: Vec<(usize, &Entry)> =
        entries.iter().filter_map(|entry| Some((score(entry)?, entry))).collect();
    scored.sort_by(|(one, a), (other, b)| {
        other.cmp(one).then(a.name.len().cmp(&b.name.len())).then_with(|| a.name.cmp(&b.name))
    });
    scored.into_iter().take(num).map(|(_, entry)| entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service_server::{Reply, ServiceServer, client};
    use crate::test_support::context;

    const MANIFEST: &str = r#"[
        {"name": "Python", "slug": "python~3.9", "type": "sphinx", "version": "3.9", "release": "3.9.20", "mtime": 1, "db_size": 2},
        {"name": "Python", "slug": "python~3.14", "type": "sphinx", "version": "3.14", "release": "3.14.0", "mtime": 1, "db_size": 2},
        {"name": "Rust", "slug": "rust", "type": "rust", "release": "1.95.0", "mtime": 1, "db_size": 2}]"#;
    const INDEX: &str = r#"{"entries": [
        {"name": "re.split()", "path": "library/re#re.split", "type": "Text Processing"},
        {"name": "str.split()", "path": "library/stdtypes#str.split", "type": "Built-in Types"},
        {"name": "str.rsplit()", "path": "library/stdtypes#str.rsplit", "type": "Built-in Types"},
        {"name": "shlex", "path": "library/shlex", "type": "Program Frameworks"}],
        "types": [{"name": "Built-in Types", "count": 2, "slug": "built-in-types"}]}"#;

    #[tokio::test]
    async fn names_of_the_newest_release_are_found() {
        let server =
            ServiceServer::start(|request| match request.split(' ').nth(1).unwrap_or_default() {
                "/docs.json" => Reply::json(MANIFEST),
                "/docs/python~3.14/index.json" => Reply::json(INDEX),
                _ => Reply::new("404 Not Found", "text/plain", "no"),
            })
            .await;
        let docs = DevDocs::new(&client(), Some(&server.base()));
        let found = docs.search("python", "str.split", 5, &context()).await.unwrap();
        let titles: Vec<&str> = found.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["str.split()"]);
        let first = &found[0];
        let url = format!("{}/docs/python~3.14/library/stdtypes.html#str.split", server.base());
        assert_eq!((&first.url, first.documentation.as_str()), (&url, "Python 3.14.0"));
        let found = docs.search("python", "split a string", 3, &context()).await.unwrap();
        let titles: Vec<&str> = found.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["re.split()", "str.split()", "str.rsplit()"]);
        assert_eq!(server.seen().len(), 2, "the list and the index are fetched once");
        let error = docs.search("rust", "Vec", 3, &context()).await.unwrap_err();
        assert!(error.reason.contains("HTTP 404"), "{error:?}");
        let error = docs.search("cobol", "x", 3, &context()).await.unwrap_err();
        assert_eq!(error.reason, "it has no documentation cobol");
    }
}
