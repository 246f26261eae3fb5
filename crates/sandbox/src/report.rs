//! What a backend was found to enforce.

use serde::Serialize;

use crate::Level;

/// What was tried, and how it came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// The backend.
    pub backend: &'static str,
    /// The strongest level that works.
    pub strongest: Level,
    /// What the levels are made of.
    pub features: Vec<Feature>,
    /// What a program in it cannot do, or can, at each level that works.
    pub cases: Vec<Case>,
    /// How limits are kept.
    pub limits: Vec<Feature>,
}

/// One feature of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// What it is.
    pub name: &'static str,
    /// Whether it works.
    pub works: bool,
    /// Its version, or why it does not work and what would help.
    pub detail: String,
}

/// One thing that a sandbox should hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// What the program would do.
    pub what: &'static str,
    /// The levels at which it was tried and could not be done.
    pub held_at: Vec<Level>,
    /// The levels at which it was tried and could be done.
    pub open_at: Vec<Level>,
}

impl Probe {
    /// A probe of something that gives nothing.
    #[must_use]
    pub fn nothing(backend: &'static str, name: &'static str, detail: impl Into<String>) -> Self {
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
