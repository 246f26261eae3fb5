//! Advice for the owner: what to do about a call that did not run and about a tool that is not
//! offered. The texts name commands and keys of the configuration, for every surface.

mod exclusion;
mod policy;

pub use exclusion::exclusion_advice;
pub use policy::{RefusedCall, error_advice, outcome_advice, ruling_advice, ruling_line};
