//! The results of verifying a bundle.

use std::fmt;

use serde::Serialize;

use crate::{ChainReport, Forgery};

/// Something was done to a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum BundleFinding {
    /// The file is not the one that the list of sums names.
    Altered {
        /// Its path in the bundle.
        path: String,
    },
    /// The list of sums names a file that is gone.
    Missing {
        /// Its path in the bundle.
        path: String,
    },
    /// The file is not in the list of sums, is there twice, or is not a regular file.
    Unlisted {
        /// Its path in the bundle.
        path: String,
    },
    /// No trusted key signed the list of sums.
    Manifest {
        /// Why the signature is not believed.
        why: Forgery,
    },
    /// A rule file or tool definition is not named by the SHA-256 of its text.
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
        /// What is wrong.
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

/// What was found in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BundleReport {
    /// Files in the bundle, the list of sums and its signature included.
    pub files: u64,
    /// The chains.
    pub chains: Vec<ChainReport>,
    /// What was done to the bundle itself.
    pub findings: Vec<BundleFinding>,
    /// The public keys that are in the bundle, in hexadecimal digits.
    pub keys: Vec<String>,
}

impl BundleReport {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.chains.iter().all(ChainReport::is_sound)
    }
}
