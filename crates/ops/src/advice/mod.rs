//! Advice for the owner on calls that did not run and on tools that are not offered. The texts name
//! commands and configuration keys, for every surface.

mod exclusion;
mod policy;

pub use exclusion::exclusion_advice;
pub use policy::{RefusedCall, error_advice, outcome_advice, ruling_advice, ruling_line};
