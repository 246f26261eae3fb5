//! Wire format of OpenAI Responses: answers are output items; results are returned as output items.
//!
//! Run here: `function_call`, `custom_tool_call` and the provider-defined `shell_call`,
//! `local_shell_call`, `apply_patch_call` and `computer_call`. The provider runs every other
//! `*_call`, which is only recorded.

mod declare;
mod parse;
mod reply;
mod stream;
mod usage;

pub(crate) use declare::{read_tool, tool};
pub(crate) use parse::{call_kind, is_hosted, message_text, parse};
pub(crate) use reply::reply;
pub(crate) use usage::reasoning_text;
