//! The results of verifying a bundle.

use std::fmt;

use serde::Serialize;

use crate::{ChainReport, Forgery};

/// Tampering with a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum BundleFinding {
    /// The file does not match its SHA-256 in the list of sums.
    Altered {
        /// Its path in the bundle.
        path: String,
    },
    /// A file in the list of sums is missing.
    Missing {
        /// Its path in the bundle.
        path: String,
    },
    /// The file is not in the list of sums, occurs twice, or is not a regular file.
    Unlisted {
        /// Its path in the bundle.
        path: String,
    },
    /// No trusted key signed the list of sums.
    Manifest {
        /// The reason why the signature is not accepted.
        why: Forgery,
    },
    /// The name of a rule file or tool definition is not the SHA-256 of its text.
    Digest {
        /// Its path in the bundle.
        path: String,
    },
    /// A trusted anchor names a chain that is not in the bundle.
    MissingChain {
        /// The chain.
        chain: u64,
    },
    /// The records or keys are malformed, so that they could not be verified as a whole.
    Unreadable {
        /// The problem.
        why: String,
    },
}

impl fmt::Display for BundleFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Altered { path } => {
                write!(f, "altered: {path} is not the file that SHA256SUMS lists")
            }
            Self::Missing { path } => {
                write!(f, "missing: {path} is in SHA256SUMS and not in the bundle")
            }
            Self::Unlisted { path } => write!(
                f,
                "unlisted: {path} is not in SHA256SUMS, is there twice, or is not a regular file"
            ),
            Self::Manifest { why: Forgery::UnknownKey } => {
                write!(f, "manifest: SHA256SUMS is not signed by a trusted key")
            }
            Self::Manifest { why: Forgery::Signature } => {
                write!(f, "manifest: the signature of SHA256SUMS is wrong")
            }
            Self::Digest { path } => {
                write!(f, "digest: {path} is not named by the SHA-256 of its text")
            }
            Self::MissingChain { chain } => {
                write!(f, "missing_chain: chain {chain} is anchored and not in the bundle")
            }
            Self::Unreadable { why } => write!(f, "unreadable: {why}"),
        }
    }
}

/// The result of verifying a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BundleReport {
    /// Number of files in the bundle, including the list of sums and its signature.
    pub files: u64,
    /// The reports on the chains.
    pub chains: Vec<ChainReport>,
    /// Tampering with the bundle itself.
    pub findings: Vec<BundleFinding>,
    /// The public keys that are in the bundle, in hexadecimal digits.
    pub keys: Vec<String>,
}

impl BundleReport {
    /// Returns whether there are no findings.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.chains.iter().all(ChainReport::is_sound)
    }
}
