//! MCP servers of the person's file `mcp.toml`: how they stand, what differs from what was
//! reviewed, and changes of the file.

mod details;
mod edit;
mod import;
mod list;
mod login;

pub(super) use list::routes;
