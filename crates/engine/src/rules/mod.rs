//! Rules that people write: allow, ask and deny for calls, in a familiar syntax, with their own
//! examples.
//!
//! Rules are parsed (`rule`, `target`, `rule_scope` and the `*_pattern` files), checked (`lint`,
//! `dangerous_patterns`), indexed so that a call is compared only with rules about it (`index`,
//! `prefix_trie`), and evaluated (`evaluate`, `evaluate_line`, `evaluate_command`). `floor` defines
//! commands that always ask, `same_command` the tools that are equivalent to commands.

mod argument_pattern;
mod command_pattern;
mod dangerous_patterns;
mod dangerous_programs;
mod denied_paths;
mod evaluate;
mod evaluate_command;
mod evaluate_line;
mod evaluation;
mod floor;
mod host_pattern;
mod index;
mod lint;
mod matches;
mod operation_classes;
mod path_pattern;
mod prefix_trie;
mod rule;
mod rule_scope;
mod rule_set;
mod rule_source;
mod same_command;
mod target;

pub use evaluation::{Evaluation, RuleQuery, SegmentEvaluation};
pub use lint::{Finding, Severity};
pub use operation_classes::{canonical, class_names, operations_of};
pub use rule_set::RuleSet;
pub use rule_source::{Layer, RuleError, RuleSource, RuleText};
/// Maximum bytes of a command line that is compared with rules; a longer one is denied.
pub use toolcrib_shell_parser::MAX_LINE_BYTES as MAX_COMMAND_LINE_BYTES;
