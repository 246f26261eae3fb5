//! A fault in a file of the library.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_agent::library::Problem;

/// A fault in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileProblem {
    /// The file.
    pub path: String,
    /// The fault, and how to correct it.
    pub message: String,
}

impl From<&Problem> for FileProblem {
    fn from(problem: &Problem) -> Self {
        Self { path: problem.path.display().to_string(), message: problem.message.clone() }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
