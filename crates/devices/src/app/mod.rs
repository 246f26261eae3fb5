//! Interface apps: paired programs with their own tools.

mod answer;
mod apps;
mod attach;
mod capability;
mod exchange;
mod health;
mod inbound;
mod model;
mod pair;
mod signals;
mod signals_tool;
mod source;
mod tool;

pub use apps::{Apps, AppsParts};
pub use capability::{Capability, default_risk};
pub use health::{AppHealth, TestedApp};
pub(crate) use model::check_name;
pub use model::{App, AppStatus, source_id};
pub use signals::{NewSignal, Signal, SignalOutcome};
pub use signals_tool::SIGNALS_TOOL;
pub use source::AppSource;
