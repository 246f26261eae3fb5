//! `[sandbox]`: what programs of tools may touch.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};
use toolcrib_app::bench::ProgramPolicy;
use toolcrib_app::sandbox::{BackendKind, HostRules, Level, Network, Resources};

use crate::config::Config;
use crate::config::deserialize::MaskedText;
use crate::config::environment::Env;

const MEBIBYTE: u64 = 1 << 20;

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
    fn level(self) -> Level {
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
            return Err(format!("`{name}` is no name of a variable: letters, digits and _"));
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

    fn network(&self) -> Network {
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

impl Config {
    /// What programs of tools may touch beside the workspace. `home` is their home folder unless
    /// the file names one.
    pub(crate) fn to_confines(&self, home: Option<PathBuf>, env: &Env) -> ProgramPolicy {
        let section = &self.sandbox;
        let paths =
            |paths: &[PathBuf]| paths.iter().map(|path| self.resolve_path(path, env)).collect();
        let usual = Resources::default();
        let bytes =
            |mebibytes: Option<u64>| mebibytes.map(|mebibytes| mebibytes.saturating_mul(MEBIBYTE));
        ProgramPolicy {
            home: section.home.as_ref().map(|home| self.resolve_path(home, env)).or(home),
            readable: paths(&section.read),
            writable: paths(&section.write),
            path: paths(&section.path),
            env: section.env.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect(),
            network: section.network(),
            resources: Resources {
                memory: bytes(section.memory).or(usual.memory),
                processes: section.processes.or(usual.processes),
                disk: bytes(section.disk).or(usual.disk),
                ..usual
            },
            minimum: section.level.map_or(Level::Reduced, MinimumLevel::level),
            ..ProgramPolicy::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::loader::parse;

    fn confines(text: &str) -> Result<ProgramPolicy, String> {
        let config = parse(Path::new("/own/config.toml"), text).map_err(|error| error.message)?;
        let env: Env = [("HOME".into(), "/people/ann".into())].into_iter().collect();
        Ok(config.to_confines(Some("/data/home".into()), &env))
    }

    #[test]
    fn what_is_said_comes_to_confines() {
        let usual = confines("").unwrap();
        assert!(usual.is_closed());
        assert_eq!(usual.minimum, Level::Reduced);
        assert_eq!(usual.resources, Resources::default());
        assert_eq!(usual.home, Some("/data/home".into()));
        let text = "[sandbox]\nlevel = \"namespace\"\nallow_hosts = [\"example.com\"]\nmemory = 64\nread = [\"~/data\", \"/x\"]\nwrite = [\"out\"]\nenv = { A = \"1\" }\n";
        let said = confines(text).unwrap();
        assert!(!said.is_closed());
        assert_eq!(said.minimum, Level::Namespace);
        assert_eq!(said.resources.memory, Some(64 * MEBIBYTE));
        assert_eq!(said.readable, [PathBuf::from("/people/ann/data"), "/x".into()]);
        assert_eq!(said.writable, [PathBuf::from("/own/out")]);
        assert_eq!(said.env, [("A".to_owned(), "1".to_owned())]);
        assert_eq!(confines("[sandbox]\nnetwork = \"full\"").unwrap().network, Network::Full);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (line, words) in [
            ("level = \"none\"", "unknown word `none`"),
            ("memory = 0", "`memory` of 0"),
            ("allow_hosts = [\"https://example.com\"]", "cannot read the host"),
            ("network = \"none\"\nallow_hosts = [\"example.com\"]", "needs `network"),
            ("env = { \"A-B\" = \"1\" }", "no name of a variable"),
            ("levle = \"reduced\"", "did you mean `level`"),
        ] {
            let error = confines(&format!("[sandbox]\n{line}\n")).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn the_walls_are_made_by_whom_the_file_names() {
        let maker = |text: &str| {
            let config = parse(Path::new("c.toml"), text).map_err(|error| error.message)?;
            Ok::<_, String>(config.sandbox.backend)
        };
        assert_eq!(maker(""), Ok(None));
        for (word, known) in [
            ("own", BackendKind::Own),
            ("bubblewrap", BackendKind::Bubblewrap),
            ("gvisor", BackendKind::Gvisor),
        ] {
            assert_eq!(maker(&format!("[sandbox]\nbackend = \"{word}\"\n")), Ok(Some(known)));
        }
        assert!(maker("[sandbox]\nbackend = \"docker\"\n").unwrap_err().contains("gvisor"));
    }
}
