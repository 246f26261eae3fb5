//! Reads what the program of an MCP server wrote to its standard error, and what was noted about
//! the server.

use std::io::ErrorKind;
use std::path::Path;

use toolcrib_app::mcp::client::ServerName;

use crate::error::OpError;

/// The log of a server; `None` if nothing was written. `state` is the folder of the state, `most`
/// the bytes at the end that are wanted, where not all are.
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
