//! Reads the standard error of an MCP server's program, and notes about the server.

use std::io::ErrorKind;
use std::path::Path;

use toolcrib_app::mcp::client::ServerName;

use crate::error::OpError;

/// Returns the log of a server; `None` if it is empty. `state` is the state folder; `most` limits
/// the result to this many bytes at the end.
///
/// # Errors
/// [`OpError::Unavailable`] if the file cannot be read.
pub fn logs(
    state: &Path,
    name: &ServerName,
    most: Option<usize>,
) -> Result<Option<String>, OpError> {
    let path = state.join("mcp").join(format!("{name}.log"));
    match std::fs::read(&path) {
        Ok(bytes) => {
            let start = most.map_or(0, |most| bytes.len().saturating_sub(most));
            let end = bytes.get(start..).unwrap_or_default();
            Ok(Some(String::from_utf8_lossy(end).into_owned()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(OpError::Unavailable(format!("{} cannot be read: {error}", path.display())))
        }
    }
}
