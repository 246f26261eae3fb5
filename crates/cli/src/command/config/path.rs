//! `config path`.

use std::path::Path;

use serde_json::{Value, json};

use super::workspace_folder;
use crate::config::{self, ConfigPaths, Env, Layer};
use crate::output::{self, Failure};

pub(super) fn run(workspace: Option<&Path>, json: bool) -> Result<u8, Failure> {
    let workspace = workspace_folder(workspace)?;
    let env = Env::from_process();
    let places = ConfigPaths::locate(&env, Some(&workspace));
    // Show the path even if the file is broken.
    let trusted =
        config::load(&env, None).is_ok_and(|config| config.is_trusted_workspace(&workspace, &env));
    let project = if trusted { Layer::Project } else { Layer::Untrusted };
    let managed = places.managed.into_iter().map(|path| (Layer::Managed, path));
    let user = places.user.into_iter().map(|path| (Layer::User, path));
    let own = places.project.into_iter().map(|path| (project, path));
    let mut rows = Vec::new();
    let mut text = String::new();
    for (layer, path) in managed.chain(user).chain(own) {
        let exists = path.exists();
        let state = if exists { "" } else { "  (not there)" };
        text += &format!("{:<18} {}{state}\n", layer.as_str(), path.display());
        rows.push(json!({"layer": layer.as_str(), "path": path, "exists": exists}));
    }
    if json {
        output::print_json(&Value::Array(rows), true)?;
    } else {
        output::print_line(&text)?;
    }
    Ok(0)
}
