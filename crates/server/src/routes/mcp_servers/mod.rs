//! MCP servers of the user's file `mcp.toml`: their state, their differences from the reviewed
//! definitions, and changes of the file.

mod details;
mod edit;
mod import;
mod list;
mod login;

pub(super) use list::routes;
