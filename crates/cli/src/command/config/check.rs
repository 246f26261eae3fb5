//! `config check`.

use std::path::Path;

use serde_json::json;

use super::workspace_folder;
use crate::bootstrap;
use crate::clap_args::WorkspaceArgs;
use crate::config::{self, Env};
use crate::output::{self, Failure};

/// Checks one file, as if it were the person's only configuration file.
pub(super) fn check_file(path: &Path, json: bool) -> Result<u8, Failure> {
    let text = config::read_file(path).map_err(|error| {
        let code = if error.kind() == std::io::ErrorKind::NotFound { 4 } else { 3 };
        Failure { code, message: format!("{} cannot be read: {error}", path.display()) }
    })?;
    config::parse(path, &text)?;
    report(&[], json)
}

/// Checks all layers, including faults that only show in use: names of tools, and files of keys.
pub(super) fn check_all(workspace: Option<&Path>, json: bool) -> Result<u8, Failure> {
    let workspace = workspace_folder(workspace)?;
    let env = Env::from_process();
    let world = WorkspaceArgs { root: vec![workspace], ..WorkspaceArgs::default() };
    let config = bootstrap::load_config(&world)?;
    let toolcrib = bootstrap::block_on(bootstrap::inspect_as_agent(&world, json))?;
    bootstrap::check_tools(&toolcrib, &config)?;
    let mut remarks = config::key_warnings(&config, &env)?;
    remarks.extend(bootstrap::unknown_tools(&toolcrib, &config).iter().map(ToString::to_string));
    remarks.extend(bootstrap::unknown_matchers(&toolcrib, &config).iter().map(ToString::to_string));
    report(&remarks, json)
}

fn report(remarks: &[String], json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!({"ok": true, "remarks": remarks}), true)?;
        return Ok(0);
    }
    remarks.iter().for_each(|remark| output::warn(remark, false));
    output::eprint_line("toolcrib: the configuration is valid");
    Ok(0)
}
