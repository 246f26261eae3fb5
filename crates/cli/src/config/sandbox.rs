//! `[sandbox]`: what programs of tools may touch.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};
use toolcrib_sandbox::{BackendKind, HostRules, Level, Network};

use crate::config::deserialize::MaskedText;

/// Keys whose values are paths.
pub(super) const PATHS: [&str; 4] = ["read", "write", "path", "home"];

/// `[sandbox]`; what is left out has the default of the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SandboxSection {
    /// The weakest level that will do.
    pub(super) level: Option<MinimumLevel>,
    /// What makes the walls.
    pub(crate) backend: Option<BackendKind>,
    /// What programs reach that need the network.
    pub(super) network: Option<NetworkChoice>,
    /// Hosts that they reach through the proxy.
    #[serde(deserialize_with = "hosts")]
    pub(super) allow_hosts: Vec<String>,
    /// MiB of memory of one program and all that it starts.
    pub(super) memory: Option<u64>,
    /// Processes and threads, likewise.
    pub(super) processes: Option<u32>,
    /// MiB by which the disk may fill up, likewise.
    pub(super) disk: Option<u64>,
    /// More files and folders that may be read.
    pub(super) read: Vec<PathBuf>,
    /// More files and folders that may be changed.
    pub(super) write: Vec<PathBuf>,
    /// Folders with programs, before those of the system.
    pub(super) path: Vec<PathBuf>,
    /// Their home folder.
    pub(super) home: Option<PathBuf>,
    /// Variables that they see.
    pub(super) env: BTreeMap<String, MaskedText>,
}

/// A level that keeps our own state out of reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MinimumLevel {
    Reduced,
    Namespace,
    External,
}

impl MinimumLevel {
    /// The level of the sandbox.
    pub(super) fn level(self) -> Level {
        match self {
            Self::Reduced => Level::Reduced,
            Self::Namespace => Level::Namespace,
            Self::External => Level::External,
        }
    }
}

/// How strict a word of `level` or `network` is: 1 is the default, [`USUAL`]. `None` = it is no
/// such word.
pub(super) fn strictness_rank(key: &str, word: &str) -> Option<u8> {
    match (key, word) {
        ("network", "full") => Some(0),
        ("level", "reduced") | ("network", "proxy") => Some(DEFAULT_RANK),
        ("level", "namespace") | ("network", "none") => Some(2),
        ("level", "external") => Some(3),
        _ => None,
    }
}

/// How strict it is where nothing is said.
pub(super) const DEFAULT_RANK: u8 = 1;

/// What programs reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NetworkChoice {
    Full,
    Proxy,
    None,
}

/// Hosts of the list, each of which can be read.
fn hosts<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let hosts = Vec::<String>::deserialize(d)?;
    HostRules::parse(&hosts).map(|_| hosts).map_err(serde::de::Error::custom)
}

impl SandboxSection {
    /// What is wrong with the section as a whole, if anything is.
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

    /// What programs reach.
    pub(super) fn network(&self) -> Network {
        match self.network.unwrap_or(NetworkChoice::Proxy) {
            NetworkChoice::None => Network::None,
            // The entries were read once, so none is lost here.
            NetworkChoice::Proxy => {
                Network::Hosts(HostRules::parse(&self.allow_hosts).unwrap_or_default())
            }
            NetworkChoice::Full => Network::Full,
        }
    }
}
