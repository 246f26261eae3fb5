//! `toolcrib util openapi`: prints the OpenAPI document, without a daemon.

use crate::output::{self, Failure};

pub(crate) fn run(json: bool) -> Result<u8, Failure> {
    let operations = toolcrib_server::operations();
    output::print_json(&toolcrib_server::document(&operations, env!("CARGO_PKG_VERSION")), json)?;
    Ok(0)
}
