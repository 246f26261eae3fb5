//! `[apps]`: how often paired apps are checked.

use std::time::Duration;

use serde::Deserialize;

use super::deserialize;

/// Default interval of the health checks.
const HEALTH: Duration = Duration::from_secs(30);
/// Shortest interval.
const LEAST: Duration = Duration::from_secs(1);

/// `[apps]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AppsSection {
    /// Interval of the health checks.
    #[serde(deserialize_with = "deserialize::duration")]
    health_interval: Option<Duration>,
}

impl AppsSection {
    /// Returns the interval of the health checks, at least one second.
    pub(crate) fn health_interval(self) -> Duration {
        self.health_interval.unwrap_or(HEALTH).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use crate::config::loader::parse;

    #[test]
    fn the_interval_has_a_default_and_a_minimum() {
        for (text, seconds) in [
            ("", 30),
            ("[apps]\nhealth_interval = \"5m\"\n", 300),
            ("[apps]\nhealth_interval = \"0s\"\n", 1),
        ] {
            let found = parse(Path::new("config.toml"), text)
                .map(|config| config.apps.health_interval())
                .map_err(|error| error.message);
            match found {
                Ok(found) => assert_eq!(found, Duration::from_secs(seconds), "{text}"),
                // A duration of nothing may be refused where durations are read.
                Err(error) => assert!(text.contains("0s"), "{error}"),
            }
        }
    }
}
