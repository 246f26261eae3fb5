//! Wire format of Gemini `generateContent`: parts in, one user content with every
//! `functionResponse` back.

mod declare;
mod parse;
mod reply;
mod stream;
mod usage;

pub(crate) use declare::{read_tools, tool};
pub(crate) use parse::{call_key, hosted_key, parse};
pub(crate) use reply::reply;
