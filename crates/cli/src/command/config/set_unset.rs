//! `config set` and `config unset`.

use std::path::{Path, PathBuf};

use serde_json::json;
use toolcrib_core::BoxFuture;
use toolcrib_ops::OpError;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::settings::{self, ChangeSettingRequest, Configuration, Reloaded, SettingRow};

use super::{parse_key, value_display, workspace_folder};
use crate::bootstrap;
use crate::clap_args::{ConfigSet, ConfigUnset};
use crate::config::{self, ConfigEditor, Env, KeyPath};
use crate::output::{self, Failure};

pub(super) fn set(command: &ConfigSet, json: bool) -> Result<u8, Failure> {
    let key = parse_key(&command.key)?;
    let target = ConfigFile::resolve(command.project, command.workspace.as_deref())?;
    reject_managed_key(&key)?;
    let text = match command.value.as_str() {
        "-" => value_from_stdin()?,
        _ if value_display::is_secret(&key) => {
            return Err(Failure::usage(format!(
                "{key} is a secret, and every program of this machine can read arguments; pass `-`, and the value on standard input"
            )));
        }
        text => text.to_owned(),
    };
    change(&target, &key, Some(text.clone()))?;
    if json {
        let value = config::parse_value(&key, &text).ok();
        let value = value.map(|value| value_display::mask_secret(&key, &value));
        let path = &target.path;
        output::print_json(&json!({"key": key.to_string(), "value": value, "path": path}), true)?;
    }
    target.warn_if_overridden(&key, json)?;
    Ok(0)
}

pub(super) fn unset(command: &ConfigUnset, json: bool) -> Result<u8, Failure> {
    let key = parse_key(&command.key)?;
    let target = ConfigFile::resolve(command.project, command.workspace.as_deref())?;
    change(&target, &key, None)?;
    if json {
        output::print_json(&json!({"key": key.to_string(), "path": target.path}), true)?;
    }
    Ok(0)
}

fn change(target: &ConfigFile, key: &KeyPath, value: Option<String>) -> Result<(), Failure> {
    let request = ChangeSettingRequest { key: key.to_string(), value };
    let changed = settings::change(target, &Recorder::None, request);
    bootstrap::block_on(async { Ok(changed.await.map(drop)?) })
}

/// Sets a key in the person's own file, or removes it.
///
/// # Errors
/// An invalid value, or a key that another command manages; the file stays unchanged.
pub(crate) fn write_user_value(
    key: &KeyPath,
    value: Option<&str>,
    workspace: Option<&Path>,
) -> Result<(), Failure> {
    ConfigFile::resolve(false, workspace)?.write_value(key, value)
}

/// Refuses keys that other commands manage.
fn reject_managed_key(key: &KeyPath) -> Result<(), Failure> {
    match key.parts().first() {
        Some(&"trusted_workspaces") => {
            Err(Failure::usage("use `toolcrib trust`, which shows what a workspace contains"))
        }
        Some(&"hooks") => {
            Err(Failure::usage("hooks are programs: write them into the file (docs/hooks.md)"))
        }
        _ => Ok(()),
    }
}

/// Reads the value from standard input, without the line break at its end.
fn value_from_stdin() -> Result<String, Failure> {
    let text = String::from_utf8(output::read_stdin()?)
        .map_err(|_| Failure::usage("the value on standard input is not UTF-8 text"))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

/// The file to change.
struct ConfigFile {
    path: PathBuf,
    workspace: PathBuf,
    project: bool,
}

impl ConfigFile {
    fn resolve(project: bool, workspace: Option<&Path>) -> Result<Self, Failure> {
        let workspace = workspace_folder(workspace)?;
        let path = if project {
            config::project_file(&workspace)
        } else {
            config::ConfigPaths::user_file(&Env::from_process())?
        };
        Ok(Self { path, workspace, project })
    }

    /// Sets or removes a key.
    fn write_value(&self, key: &KeyPath, value: Option<&str>) -> Result<(), Failure> {
        reject_managed_key(key)?;
        let mut edit = ConfigEditor::open(&self.path)?;
        match value {
            Some(text) => {
                let value = config::parse_value(key, text)
                    .map_err(|what| Failure::usage(format!("{key}: {what}")))?;
                edit.set(key, &value)?;
            }
            None if edit.unset(key) => {}
            None => return Err(self.not_set(key)),
        }
        self.store(edit)
    }

    fn not_set(&self, key: &KeyPath) -> Failure {
        let elsewhere = config::load(&Env::from_process(), Some(&self.workspace))
            .ok()
            .and_then(|config| Some(config.origin(key)?.location.clone()))
            .map(|place| format!("; it is set at {place}"));
        Failure::not_found(format!(
            "{key} is not set in {}{}",
            self.path.display(),
            elsewhere.unwrap_or_default()
        ))
    }

    /// Writes the file, if it is valid by itself and, for a workspace's file, contains no forbidden
    /// setting.
    fn store(&self, edit: ConfigEditor) -> Result<(), Failure> {
        edit.store(|path, text| {
            if self.project {
                let own = config::load(&Env::from_process(), None)?;
                config::parse_project(path, text, &own)
            } else {
                config::parse(path, text).map(|_| ())
            }
        })
    }

    /// Warns if the written value is not in force.
    fn warn_if_overridden(&self, key: &KeyPath, json: bool) -> Result<(), Failure> {
        let config = config::load(&Env::from_process(), Some(&self.workspace))?;
        let Some(origin) = config.origin(key) else {
            let what = format!(
                "{key} is set, but takes effect only when the workspace is trusted: toolcrib trust"
            );
            output::warn(&what, json);
            return Ok(());
        };
        let own = format!("{}:", self.path.display());
        if !origin.location.starts_with(&own) {
            let what = format!(
                "{key} is set, but {} takes precedence",
                value_display::origin_text(origin)
            );
            output::warn(&what, json);
        }
        Ok(())
    }
}

/// A command only changes a file; its process applies no value.
impl Configuration for ConfigFile {
    fn settings(&self) -> Result<Vec<SettingRow>, OpError> {
        Ok(Vec::new())
    }

    fn write(&self, key: &str, value: Option<&str>) -> Result<(), OpError> {
        let key = KeyPath::parse(key).map_err(OpError::Invalid)?;
        Ok(self.write_value(&key, value)?)
    }

    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, OpError>> {
        Box::pin(async { Ok(Reloaded::default()) })
    }
}
