//! Rules that people write: allow, ask and deny for calls, in the syntax they know, with their own examples.

mod judgement;
mod set;
mod written;

pub use judgement::{Asked, Judgement, SegmentJudgement};
pub use set::RuleSet;
pub use written::{Fault, Layer, RuleText, Written};
