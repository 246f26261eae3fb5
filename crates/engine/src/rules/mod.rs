//! Rules that people write: allow, ask and deny for calls, in the syntax they know, with their own examples.
//!
//! Read from text (`target`, `command`, `path`, `host`, `argument`, `scope`), checked (`lint`, `danger_table`), sorted so that a call meets only
//! the rules about it (`index`, `trie`), and asked (`judge`, `judge_line`, `judge_command`).

mod argument;
mod class_table;
mod command;
mod danger;
mod danger_table;
mod found;
mod host;
mod index;
mod judge;
mod judge_command;
mod judge_line;
mod judgement;
mod lint;
mod path;
mod rule;
mod scope;
mod set;
mod target;
mod trie;
mod written;

pub use class_table::{canonical, class_names, operations_of};
pub use judgement::{Asked, Judgement, SegmentJudgement};
pub use lint::{Finding, Severity};
pub use set::RuleSet;
pub use written::{Fault, Layer, RuleText, Written};
