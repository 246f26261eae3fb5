//! `config check`.

use std::path::Path;

use serde_json::json;

use super::here;
use crate::cli::World;
use crate::config::{self, Env};
use crate::output::{self, Failure};
use crate::world;

/// One file, as if it were the person's own and the only one.
pub(super) fn file(path: &Path, json: bool) -> Result<u8, Failure> {
    let text = config::read(path).map_err(|error| {
        let code = if error.kind() == std::io::ErrorKind::NotFound { 4 } else { 3 };
        Failure { code, message: format!("{} cannot be read: {error}", path.display()) }
    })?;
    config::parse(path, &text)?;
    report(&[], json)
}

/// All layers, with what only shows when they are used: names of tools, and files of keys.
pub(super) fn all(workspace: Option<&Path>, json: bool) -> Result<u8, Failure> {
    let workspace = here(workspace)?;
    let env = Env::of_process();
    let world = World { root: vec![workspace], ..World::default() };
    let config = world::configured(&world)?;
    let toolcrib = world::block_on(world::look_as_agent(&world, json))?;
    world::check_tools(&toolcrib, &config)?;
    let mut remarks = config::key_remarks(&config, &env)?;
    remarks.extend(world::unknown_tools(&toolcrib, &config).iter().map(ToString::to_string));
    remarks.extend(world::unknown_matchers(&toolcrib, &config).iter().map(ToString::to_string));
    report(&remarks, json)
}

fn report(remarks: &[String], json: bool) -> Result<u8, Failure> {
    if json {
        output::document(&json!({"ok": true, "remarks": remarks}), true)?;
        return Ok(0);
    }
    remarks.iter().for_each(|remark| output::remark(remark, false));
    output::note("toolcrib: the configuration is fine");
    Ok(0)
}
