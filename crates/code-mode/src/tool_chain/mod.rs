//! The tool `tool_chain`: Python scripts that call tools.
//!
//! `tool` defines the tool, `execute` runs a script and its calls, `script_limits` excludes the
//! tools that it may not call, `call_log` records its calls, `call_reply` converts outcomes for the
//! script, `suspended` stores a script that waits for a person, `python_stubs` renders tools as
//! Python functions, and `tool_lookup` searches them. `saved_chains` are scripts that are tools,
//! `chain_files` manages their files, `syntax_check` compiles them.

mod call_log;
mod call_reply;
mod chain_files;
mod execute;
mod python_stubs;
mod render_result;
mod saved_chains;
mod script_limits;
mod suspended;
mod syntax_check;
mod tool;
mod tool_lookup;

pub use chain_files::{ChainError, ChainFile, ChainFolder};
pub use saved_chains::SavedChains;
pub use syntax_check::check_syntax;
pub(crate) use tool::ToolChain;
pub use tool_lookup::{KeywordSearch, ToolMatches, ToolSearch};
