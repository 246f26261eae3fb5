//! Operations on tools.

mod config;
mod declare;
mod dry_run;
mod find;
mod why;

pub use config::{
    ConfigChanged, ConfigContext, ConfigRow, ConfigTarget, config, remove_config, set_config,
};
pub use declare::{DeclareRequest, declare};
pub use dry_run::{DryRunReply, DryRunRequest, Prediction, Refusal, dry_run};
pub use find::find_tool;
pub use why::{WhyReply, WhyRequest, exclusions, view_of_agent, why};

pub(crate) use why::find_agent;
