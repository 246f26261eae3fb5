//! Converts `[sandbox]` to the policy of programs.

use std::path::PathBuf;

use toolcrib_builtins::program_runner::ProgramPolicy;
use toolcrib_sandbox::{Level, Resources};

use crate::config::Config;
use crate::config::environment::Env;
use crate::config::sandbox::MinimumLevel;

const MEBIBYTE: u64 = 1 << 20;

impl Config {
    /// Returns the access of tools' programs besides the workspace. `home` is their home folder,
    /// unless the file names one.
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

    use toolcrib_sandbox::{BackendKind, Network};

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
            ("env = { \"A-B\" = \"1\" }", "not the name of a variable"),
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
