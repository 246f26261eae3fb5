//! `[shell]`: the system in which commands of the shell tool run, and the lifetime of background
//! programs.

use std::time::Duration;

use serde::Deserialize;
use toolcrib_sandbox::userland::ShellTarget;

use super::deserialize;

/// `[shell]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ShellSection {
    /// The system for commands; by default the Linux userland if it is installed, otherwise a
    /// sandbox with the system of the host.
    pub(crate) target: Option<ShellTarget>,
    /// Time for which a background program runs while the shell of its conversation is unused.
    #[serde(deserialize_with = "deserialize::duration")]
    pub(crate) background_idle: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toolcrib_sandbox::userland::ShellTarget;

    use crate::config::loader::parse;

    #[test]
    fn a_target_is_one_of_three_words() {
        let target = |text: &str| {
            let config = parse(Path::new("config.toml"), text).map_err(|error| error.message)?;
            Ok::<_, String>(config.shell.target)
        };
        assert_eq!(target(""), Ok(None));
        for known in ShellTarget::ALL {
            assert_eq!(target(&format!("[shell]\ntarget = \"{known}\"\n")), Ok(Some(known)));
        }
        let error = target("[shell]\ntarget = \"sandbox\"\n").unwrap_err();
        assert!(error.contains("host-sandbox"), "{error}");
    }

    #[test]
    fn programs_in_the_background_end_after_a_time() {
        let text = "[shell]\nbackground_idle = \"90m\"\n";
        let config = parse(Path::new("config.toml"), text).unwrap();
        assert_eq!(config.shell.background_idle, Some(std::time::Duration::from_secs(5_400)));
    }
}
