//! Wire format of OpenAI Chat Completions, of compatible servers, and of Ollama's native
//! `/api/chat`.
//!
//! Deviations of real servers that the parser tolerates: ids missing, empty or repeated; every
//! delta under index 0; arguments as an object, `""` or `"null"`; a `finish_reason` that is wrong
//! or absent; no `[DONE]`; names repeated in later deltas; a complete call in one delta; an error
//! object inside the stream; `<tool_call>` text in the content if there are no native calls.

mod call_pieces;
mod declare;
mod parse;
mod reply;
mod stream;
mod usage;

pub(crate) use declare::{description_limit, read_tool, tool};
pub(crate) use parse::{native_message, parse, parse_untagged};
pub(crate) use reply::{native_reply, reply};
pub(crate) use usage::reasoning;
