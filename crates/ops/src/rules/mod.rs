//! Operations on rules that look at calls: the verdict on one call, what other rules would have
//! decided about past calls, how often observed rules would have
//! spoken, and rules that follow from repeated approvals.

mod import;
mod observed;
mod past_call;
mod replay;
mod suggest;
mod verdict;

pub use import::{
    ImportRulesReply, ImportRulesRequest, ImportedRule, RefusedRule, SkippedEntry, import,
};
pub use observed::{ObservedRule, observed};
pub use replay::{ReplayReply, ReplayRequest, ReplayedCall, replay};
pub use suggest::{APPROVALS, DAYS, RuleSuggestion, suggest};
pub use verdict::{CallVerdict, DefaultVerdict, SegmentVerdict};
