//! Wire format of Anthropic Messages: answers are content blocks; one user message returns every
//! `tool_result`.

mod declare;
mod parse;
mod reply;
mod stream;
mod usage;

pub(crate) use declare::{MAX_STRICT_TOOLS, read_tool, tool};
pub(crate) use parse::parse;
pub(crate) use reply::reply;
