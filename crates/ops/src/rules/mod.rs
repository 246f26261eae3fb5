//! Operations on rules: listing, checking, adding, removing and enforcing them, explaining the
//! decision about one call, replaying past calls with other rules, counting matches of observed
//! rules, and suggesting rules from repeated approvals.

mod add;
mod edit;
mod examples;
mod explain;
mod explain_line;
mod hypothetical_call;
mod import;
mod known_tools;
mod lint;
mod numbered_rule;
mod observed;
mod past_call;
mod replay;
mod request_rules;
mod rule_row;
mod suggest;
mod verdict;

pub use add::{AddRulesRequest, add};
pub use edit::{EditedRules, IsRead, RulesChanged, put_in_force, stale};
pub use examples::{TestReply, test};
pub use explain::{ExplainReply, ExplainRequest, ExplainedSegment, RefusedBeforeRules, explain};
pub use explain_line::{LineAnswer, LineJudge, LineQuestion};
pub use hypothetical_call::AskedCall;
pub use import::{
    ImportRulesReply, ImportRulesRequest, ImportedRule, PlannedImport, RefusedRule, SkippedEntry,
    import, plan_import,
};
pub use known_tools::{is_misspelled_name, known_tools};
pub use lint::{LintReply, RuleFinding, lint};
pub use numbered_rule::{NumberedRule, RuleName, numbered};
pub use observed::{ObservedRule, observed};
pub use replay::{ReplayReply, ReplayRequest, ReplayedCall, RulesChange, replay};
pub use request_rules::{check_count, unwritten};
pub use rule_row::{RuleRow, is_effective, layer_word, list};
pub use suggest::{APPROVALS, DAYS, RuleSuggestion, suggest};
