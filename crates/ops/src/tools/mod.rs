//! Operations on tools.

mod config;
mod declare;
mod dry_run;
mod dry_run_document;
mod find;
mod list;
mod numbers;
mod row;
mod search;
mod show;
mod why;

pub use config::{
    ConfigChanged, ConfigContext, ConfigRow, ConfigTarget, config, remove_config, set_config,
};
pub use declare::{DeclareRequest, declare};
pub use dry_run::{DryRunReply, DryRunRequest, Prediction, Refusal, dry_run};
pub use dry_run_document::DryRunDocument;
pub use find::find_tool;
pub use list::{ListToolsRequest, list};
pub use numbers::{LastFailure, ToolNumbers, all_numbers, numbers};
pub use row::ToolRow;
pub use search::{FindToolsRequest, FoundTools, search};
pub use show::{ToolDocument, show};
pub use why::{WhyReply, WhyRequest, exclusions, view_of_agent, why};

pub(crate) use why::find_agent;
