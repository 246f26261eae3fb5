//! Scripts that call tools: the tool `tool_chain`.
//!
//! `tool` is its definition, `drive` runs a script and its calls, `policy` says what it may not call, `book` keeps what it called, `told` turns
//! outcomes into what the script gets, `kept` puts a script aside that waits for a person, `stub` shows tools as Python and `search` finds them.
//! `saved` are scripts that are tools of their own, `folder` has their files, `check` looks at their syntax.

mod answer;
mod book;
mod check;
mod drive;
mod folder;
mod kept;
mod policy;
mod saved;
mod search;
mod stub;
mod told;
mod tool;

pub use check::check;
pub use folder::{ChainError, ChainFolder, KeptChain};
pub use saved::SavedChains;
pub use search::{ByWords, Found, ToolSearch};
pub(crate) use tool::ToolChain;
