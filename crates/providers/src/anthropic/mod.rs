//! Wire format of Anthropic Messages: content blocks in, one user message with every `tool_result`
//! back.

mod declare;
mod parse;
mod reply;
mod stream;
mod usage;

pub(crate) use declare::{MAX_STRICT_TOOLS, read_tool, tool};
pub(crate) use parse::parse;
pub(crate) use reply::reply;
