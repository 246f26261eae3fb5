//! Settings of the heartbeat: times, prompt and model.

/// Intervals that can be configured, in minutes.
pub const INTERVALS: [u32; 8] = [5, 10, 15, 30, 45, 60, 120, 240];
/// Maximum characters of an own prompt.
pub const MAX_PROMPT_CHARS: usize = 4_000;

/// The owner's settings of the heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatSettings {
    /// Whether it runs.
    pub enabled: bool,
    /// Minutes between two heartbeats, one of [`INTERVALS`].
    pub interval_minutes: u32,
    /// First local hour in which it runs, 0 to 23.
    pub active_start: u8,
    /// Local hour at which it ends, 1 to 24; 24 is the end of the day.
    pub active_end: u8,
    /// The model; `None` for the model of the agent.
    pub model: Option<String>,
    /// A prompt instead of [`super::DEFAULT_PROMPT`].
    pub prompt: Option<String>,
}

impl Default for HeartbeatSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            interval_minutes: 30,
            active_start: 8,
            active_end: 22,
            model: None,
            prompt: None,
        }
    }
}

impl HeartbeatSettings {
    /// Checks the values.
    ///
    /// # Errors
    /// The invalid value, for people.
    pub fn check(&self) -> Result<(), String> {
        if !INTERVALS.contains(&self.interval_minutes) {
            let all = INTERVALS.map(|minutes| minutes.to_string()).join(", ");
            return Err(format!("`interval` is one of {all} minutes"));
        }
        if self.active_start > 23 || self.active_end > 24 || self.active_start >= self.active_end {
            return Err(
                "`active_start` is an hour from 0 to 23, and `active_end` a later one up to 24"
                    .to_owned(),
            );
        }
        let length = self.prompt.as_ref().map_or(0, |prompt| prompt.chars().count());
        if length > MAX_PROMPT_CHARS {
            return Err(format!("`prompt` has at most {MAX_PROMPT_CHARS} characters"));
        }
        Ok(())
    }
}
