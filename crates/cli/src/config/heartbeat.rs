//! `[heartbeat]`: whether the heartbeat runs, its interval, and its hours.

use serde::Deserialize;
use toolcrib_assistant::heartbeat::HeartbeatSettings;

/// `[heartbeat]`
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "HeartbeatFields")]
pub(crate) struct HeartbeatSection(HeartbeatSettings);

/// The section as written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct HeartbeatFields {
    enabled: Option<bool>,
    interval: Option<u32>,
    active_start: Option<u8>,
    active_end: Option<u8>,
    model: Option<String>,
    prompt: Option<String>,
}

impl TryFrom<HeartbeatFields> for HeartbeatSection {
    type Error = String;

    fn try_from(written: HeartbeatFields) -> Result<Self, String> {
        let default = HeartbeatSettings::default();
        let settings = HeartbeatSettings {
            enabled: written.enabled.unwrap_or(default.enabled),
            interval_minutes: written.interval.unwrap_or(default.interval_minutes),
            active_start: written.active_start.unwrap_or(default.active_start),
            active_end: written.active_end.unwrap_or(default.active_end),
            model: written.model,
            prompt: written.prompt,
        };
        settings.check()?;
        Ok(Self(settings))
    }
}

impl HeartbeatSection {
    /// Returns the settings.
    pub(super) fn settings(&self) -> HeartbeatSettings {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::loader::parse;

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("interval = 7", "one of 5, 10, 15, 30, 45, 60, 120, 240 minutes"),
            ("active_start = 22\nactive_end = 8", "a later one up to 24"),
            ("active_end = 25", "a later one up to 24"),
            ("every = 5", "known are"),
        ] {
            let text = format!("[heartbeat]\n{text}\n");
            let error = parse(Path::new("/c/config.toml"), &text).unwrap_err().message;
            assert!(error.contains(expected), "{text}: {error}");
        }
        let long = format!("[heartbeat]\nprompt = \"{}\"\n", "x".repeat(4_001));
        assert!(parse(Path::new("/c/config.toml"), &long).is_err());
        let text = "[heartbeat]\nenabled = false\nactive_end = 24\n";
        let settings = parse(Path::new("/c/config.toml"), text).unwrap().heartbeat_settings();
        assert_eq!(
            (settings.enabled, settings.active_end, settings.interval_minutes),
            (false, 24, 30)
        );
    }
}
