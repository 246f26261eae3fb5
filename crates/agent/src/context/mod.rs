//! What of a conversation is sent: windows, estimates, trimming, compaction, prices.
//!
//! Pure functions over the stored history, which is never changed here: trimming and compaction decide what a request carries. Every number
//! of tokens that does not come from a provider is an estimate and says so.

mod compaction;
mod estimate;
mod exchange;
mod fit;
#[cfg(test)]
pub(crate) mod on_the_wire;
mod outgoing;
mod pattern;
mod prices;
#[cfg(test)]
mod properties;
mod shorten;
mod transcript;
mod windows;

pub use compaction::{CompactionRules, Plan, Summary, accept, fallback, plan, request};
pub use estimate::{PICTURE, Sizes, declarations, spec, text, tokens, tool};
pub use fit::{Candidate, NoneFits, budget, fits, reserve};
pub use outgoing::{Outgoing, outgoing};
pub use prices::{Money, Price, Prices, Rates};
pub use windows::{TableError, Window, Windows};
