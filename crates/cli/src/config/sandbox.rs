//! `[sandbox]`: the access of tools' programs.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};
use toolcrib_sandbox::{BackendKind, HostRules, Level, Network};

use crate::config::deserialize::MaskedText;

/// Keys whose values are paths.
pub(super) const PATHS: [&str; 4] = ["read", "write", "path", "home"];

/// `[sandbox]`; missing keys have the defaults of the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SandboxSection {
    /// The weakest accepted level.
    pub(super) level: Option<MinimumLevel>,
    /// The backend of the sandbox.
    pub(crate) backend: Option<BackendKind>,
    /// The network access of programs that need the network.
    pub(super) network: Option<NetworkChoice>,
    /// Hosts that they may reach through the proxy.
    #[serde(deserialize_with = "hosts")]
    pub(super) allow_hosts: Vec<String>,
    /// Memory limit in MiB of one program with all processes that it starts.
    pub(super) memory: Option<u64>,
    /// Maximum number of processes and threads of these.
    pub(super) processes: Option<u32>,
    /// Maximum growth of disk use by these, in MiB.
    pub(super) disk: Option<u64>,
    /// Additional readable files and folders.
    pub(super) read: Vec<PathBuf>,
    /// Additional writable files and folders.
    pub(super) write: Vec<PathBuf>,
    /// Folders with programs, which precede those of the system.
    pub(super) path: Vec<PathBuf>,
    /// Home folder of programs.
    pub(super) home: Option<PathBuf>,
    /// Variables of programs.
    pub(super) env: BTreeMap<String, MaskedText>,
}

/// A level that keeps Toolcrib's own state out of reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MinimumLevel {
    Reduced,
    Namespace,
    External,
}

impl MinimumLevel {
    /// Returns the level of the sandbox.
    pub(super) fn level(self) -> Level {
        match self {
            Self::Reduced => Level::Reduced,
            Self::Namespace => Level::Namespace,
            Self::External => Level::External,
        }
    }
}

/// Returns the strictness of a word of `level` or `network`; the default has [`DEFAULT_RANK`].
/// Returns `None` for an unknown word.
pub(super) fn strictness_rank(key: &str, word: &str) -> Option<u8> {
    match (key, word) {
        ("network", "full") => Some(0),
        ("level", "reduced") | ("network", "proxy") => Some(DEFAULT_RANK),
        ("level", "namespace") | ("network", "none") => Some(2),
        ("level", "external") => Some(3),
        _ => None,
    }
}

/// Strictness of the default.
pub(super) const DEFAULT_RANK: u8 = 1;

/// The network access of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NetworkChoice {
    Full,
    Proxy,
    None,
}

/// Deserializes a list of hosts, and checks each of them.
fn hosts<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let hosts = Vec::<String>::deserialize(d)?;
    HostRules::parse(&hosts).map(|_| hosts).map_err(serde::de::Error::custom)
}

impl SandboxSection {
    /// Checks the section as a whole.
    pub(super) fn check(&self) -> Result<(), String> {
        let zero = [
            ("memory", self.memory == Some(0)),
            ("processes", self.processes == Some(0)),
            ("disk", self.disk == Some(0)),
        ];
        if let Some((key, _)) = zero.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(format!("`{key}` of 0 would let nothing run"));
        }
        let is_name = |name: &str| {
            let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            name.bytes().all(fits)
                && !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
        };
        if let Some(name) = self.env.keys().find(|name| !is_name(name)) {
            return Err(format!("`{name}` is not the name of a variable: letters, digits and _"));
        }
        if self.env.values().any(|value| value.0.contains('\0')) {
            return Err("no variable can hold a zero byte".to_owned());
        }
        let is_proxied = self.network.is_none_or(|network| network == NetworkChoice::Proxy);
        if !is_proxied && !self.allow_hosts.is_empty() {
            return Err("`allow_hosts` needs `network = \"proxy\"`".to_owned());
        }
        Ok(())
    }

    /// Returns the network access of programs.
    pub(super) fn network(&self) -> Network {
        match self.network.unwrap_or(NetworkChoice::Proxy) {
            NetworkChoice::None => Network::None,
            // The entries were already parsed, so none is lost here.
            NetworkChoice::Proxy => {
                Network::Hosts(HostRules::parse(&self.allow_hosts).unwrap_or_default())
            }
            NetworkChoice::Full => Network::Full,
        }
    }
}
