//! Gemini `generateContent`: parts in, one user content with every `functionResponse` back.

mod declare;
mod parse;
mod reply;

pub(crate) use declare::{read_tools, tool};
pub(crate) use parse::parse;
pub(crate) use reply::reply;
