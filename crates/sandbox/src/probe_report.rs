//! Probe report: the restrictions that a backend can enforce on this host.

use serde::Serialize;

use crate::Level;

/// The results of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// Name of the backend.
    pub backend: &'static str,
    /// The strongest working level.
    pub strongest: Level,
    /// The host features that levels depend on.
    pub features: Vec<Feature>,
    /// For each attack, at which of the working levels it is prevented.
    pub cases: Vec<Case>,
    /// How limits are enforced.
    pub limits: Vec<Feature>,
}

/// One feature of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// Name.
    pub name: &'static str,
    /// Whether it works.
    pub works: bool,
    /// Its version, or why it does not work and how to fix it.
    pub detail: String,
}

/// One action that a sandbox should prevent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Case {
    /// Name.
    pub name: &'static str,
    /// Description of the action.
    pub what: &'static str,
    /// The levels that prevented it.
    pub held_at: Vec<Level>,
    /// The levels that did not prevent it.
    pub open_at: Vec<Level>,
}

impl Probe {
    /// Creates the report of a backend that does not work.
    #[must_use]
    pub fn unavailable(
        backend: &'static str,
        name: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        let feature = Feature { name, works: false, detail: detail.into() };
        Self {
            backend,
            strongest: Level::None,
            features: vec![feature],
            cases: Vec::new(),
            limits: Vec::new(),
        }
    }
}
