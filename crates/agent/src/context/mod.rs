//! Request context: windows, token estimates, trimming, compaction, prices.
//!
//! Pure functions over the stored history, which they never change: trimming and compaction
//! determine the content of a request. Every token count that does not come from a provider is
//! marked as an estimate.

mod compaction;
mod context_windows;
mod exchanges;
mod model_pattern;
mod prices;
#[cfg(test)]
mod property_tests;
mod summary_prompt;
mod token_estimate;
mod transcript;
mod trim_history;
mod truncate;
mod window_fit;
#[cfg(test)]
pub(crate) mod wire_check;

pub use compaction::{
    CompactionPlan, CompactionRules, Summary, accept_summary, plan_compaction, plan_without_summary,
};
pub use context_windows::{ContextWindow, ContextWindows, TableError};
pub use prices::{Money, Price, Prices, Rates};
pub use summary_prompt::summary_request;
pub use token_estimate::{
    IMAGE_TOKENS, MessageSizes, estimate_declarations, estimate_message, estimate_spec,
    estimate_text, estimate_tool,
};
pub use trim_history::{OutgoingHistory, trim_history};
pub use window_fit::{Candidate, NoneFits, fits, input_budget, output_reserve};
