//! `toolcrib mcp logs`.

use toolcrib_ops::mcp_servers;

use super::find_server::own_name;
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

pub(super) fn run(name: &str) -> Result<u8, Failure> {
    let name = own_name(name)?;
    match mcp_servers::logs(&bootstrap::state_folder()?, &name, None)? {
        Some(text) => output::print_line(&terminal::escape_controls(&text))?,
        None => output::eprint_line(&format!("toolcrib: {name} has written nothing")),
    }
    Ok(0)
}
