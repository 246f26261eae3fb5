//! Wire format of Gemini `generateContent`: answers are parts; one user content returns every
//! `functionResponse`.

mod declare;
mod parse;
mod reply;
mod stream;
mod usage;

pub(crate) use declare::{read_tools, tool};
pub(crate) use parse::{call_key, hosted_key, parse};
pub(crate) use reply::reply;
