//! Releases of the userland: version, mirrors, digests and signing key.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The release of this build, with the digests that Alpine publishes next to the archives, and the
/// mirrors in order.
const PINNED: &str = include_str!("release.json");

/// A release of Alpine Linux.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Name.
    pub name: String,
    /// Version, such as `3.24.2`.
    pub version: String,
    /// Folder of its branch on a mirror, such as `v3.24`.
    pub branch: String,
    /// Mirrors, in the order in which they are tried.
    pub mirrors: Vec<String>,
    /// SHA-256 of the archive of each architecture, in hexadecimal.
    pub sha256: BTreeMap<String, String>,
    /// The signing key; `None` relies on the digest alone.
    pub signer: Option<Signer>,
}

/// An RSA key that signs a release (OpenPGP, RFC 4880).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signer {
    /// Fingerprint, for people.
    pub fingerprint: String,
    /// Creation time in Unix seconds; the fingerprint covers it.
    pub created: u32,
    /// In hexadecimal.
    pub modulus: String,
    /// In hexadecimal.
    pub exponent: String,
}

/// The text is not a release description.
#[derive(Debug, thiserror::Error)]
#[error("it is not a release description: {0}")]
pub struct UnreadableRelease(String);

impl Release {
    /// Creates the release known to this build.
    #[must_use]
    pub fn pinned() -> Self {
        // A test parses it. An empty release reports that there is nothing to install.
        Self::read(PINNED).unwrap_or_else(|_| Self {
            name: String::new(),
            version: String::new(),
            branch: String::new(),
            mirrors: Vec::new(),
            sha256: BTreeMap::new(),
            signer: None,
        })
    }

    /// Parses a description, a JSON object with the fields of this type.
    ///
    /// # Errors
    /// [`UnreadableRelease`] with the problem.
    pub fn read(text: &str) -> Result<Self, UnreadableRelease> {
        let release: Self =
            serde_json::from_str(text).map_err(|error| UnreadableRelease(error.to_string()))?;
        let plain = |text: &String| {
            let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            !text.is_empty() && text.chars().all(known) && !text.starts_with('.')
        };
        let digests = |(arch, digest): (&String, &String)| {
            plain(arch) && digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit())
        };
        let wrong = if !plain(&release.version) || !plain(&release.branch) {
            "its version and branch are letters, digits, `.`, `-` and `_`"
        } else if release.mirrors.is_empty() {
            "it names no mirror"
        } else if !release.sha256.iter().all(digests) {
            "each digest is 64 hexadecimal digits"
        } else {
            return Ok(release);
        };
        Err(UnreadableRelease(wrong.to_owned()))
    }

    /// Returns the digest of the archive for this architecture, if any.
    pub(super) fn digest(&self) -> Option<String> {
        self.sha256.get(arch()).map(|digest| digest.to_ascii_lowercase())
    }

    /// Returns the file name of the archive for this architecture.
    pub(super) fn archive(&self) -> String {
        format!("alpine-minirootfs-{}-{}.tar.gz", self.version, arch())
    }

    /// Returns the URL of the archive on a mirror.
    pub(super) fn url(&self, mirror: &str) -> String {
        let (mirror, branch) = (mirror.trim_end_matches('/'), &self.branch);
        format!("{mirror}/{branch}/releases/{}/{}", arch(), self.archive())
    }
}

/// Returns this machine's architecture in Alpine's spelling.
pub(super) fn arch() -> &'static str {
    std::env::consts::ARCH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_of_this_build_is_whole() {
        let release = Release::read(PINNED).unwrap();
        assert_eq!(release, Release::pinned());
        assert!(release.version.starts_with(release.branch.trim_start_matches('v')));
        assert!(release.sha256.contains_key("x86_64") && release.sha256.contains_key("aarch64"));
        // The primary mirror, then kernel.org, Aachen, Zürich, Waterloo, Tsinghua.
        let hosts = ["dl-cdn.alpinelinux", "kernel.org", "aachen", "ethz", "waterloo", "tsinghua"];
        assert_eq!(release.mirrors.len(), hosts.len());
        for (mirror, host) in release.mirrors.iter().zip(hosts) {
            assert!(mirror.starts_with("https://") && mirror.contains(host), "{mirror}");
        }
    }

    #[test]
    fn what_describes_no_release_is_refused() {
        let whole: serde_json::Value = serde_json::from_str(PINNED).unwrap();
        let check = |field: &str, value: serde_json::Value| {
            let mut text = whole.clone();
            text[field] = value;
            assert!(Release::read(&text.to_string()).is_err(), "{field}");
        };
        check("version", "../../x".into());
        check("version", "".into());
        check("branch", "a/b".into());
        check("mirrors", serde_json::json!([]));
        check("sha256", serde_json::json!({ "x86_64": "abc" }));
        check("other", 1.into());
        assert!(Release::read("").is_err());
    }
}
