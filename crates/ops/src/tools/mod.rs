//! Operations on tools.

mod declare;
mod dry_run;
mod find;
mod why;

pub use declare::{DeclareRequest, declare};
pub use dry_run::{DryRunReply, DryRunRequest, Prediction, Refusal, dry_run};
pub use find::find_tool;
pub use why::{WhyReply, WhyRequest, exclusions, view_of_agent, why};

pub(crate) use why::find_agent;
