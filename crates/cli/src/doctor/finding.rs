//! The result of one check.

use serde::Serialize;

/// State of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FindingState {
    /// No problem.
    Ok,
    /// It works, but has a problem.
    Warn,
    /// It does not work.
    Fail,
    /// The problem was repaired.
    Fixed,
}

impl FindingState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Fixed => "fixed",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// Subject of the check.
    pub(crate) name: &'static str,
    /// State of a finding.
    pub(crate) state: FindingState,
    /// Description of the state.
    pub(crate) message: String,
    /// Remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
    /// Whether it makes the configuration unusable (exit code 3).
    #[serde(skip)]
    pub(crate) of_configuration: bool,
}

impl Finding {
    fn new(name: &'static str, state: FindingState, message: impl Into<String>) -> Self {
        Self { name, state, message: message.into(), fix: None, of_configuration: false }
    }

    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, FindingState::Ok, message)
    }

    pub(super) fn warn(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, FindingState::Warn, message)
    }

    pub(super) fn fail(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, FindingState::Fail, message)
    }

    pub(super) fn fixed(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, FindingState::Fixed, message)
    }

    /// Adds the remedy.
    pub(super) fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Marks the configuration as unusable.
    pub(super) fn into_configuration_fault(mut self) -> Self {
        self.of_configuration = true;
        self
    }
}
