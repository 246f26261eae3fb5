//! `config list` and `config get`.

use serde_json::{Value as Json, json};
use toml::Value;
use toolcrib_core::similar_names::likely_typos;
use toolcrib_ops::settings::SettingRow;

use super::defaults::{self, DefaultValue};
use super::{parse_key, value_display};
use crate::bootstrap;
use crate::clap_args::{ConfigList, WorkspaceArgs};
use crate::config::{self, Config, ConfigValue, Env, KeyPath, Layer, Origin};
use crate::output::{self, Failure};

pub(super) fn list(command: &ConfigList, json: bool) -> Result<u8, Failure> {
    let config = load_config(&command.workspace_args)?;
    let mut rows = explicit_values(&config, &command.workspace_args);
    if command.all {
        rows.extend(defaults_not_set(&rows));
        rows.sort_by(|one, other| one.key.cmp(&other.key));
    }
    print(&rows, &config, command.show_origin, json)
}

pub(super) fn get(text: &str, world: &WorkspaceArgs, json: bool) -> Result<u8, Failure> {
    let key = parse_key(text)?;
    let config = load_config(world)?;
    let mut rows = explicit_values(&config, world);
    let unset: Vec<Row> = defaults_not_set(&rows).collect();
    rows.extend(unset);
    if let Some(row) = rows.iter().find(|row| row.key == key) {
        if json {
            output::print_json(&json!(row.to_reply()), true)?;
        } else if let Some(value) = &row.value {
            output::print_line(&value_display::plain_text(value))?;
        } else {
            return Err(Failure::not_found(format!("{key} is not set: {}", row.words)));
        }
        return Ok(0);
    }
    rows.retain(|row| row.key.is_under(&key));
    let hooks = key.parts() == ["hooks"] && !config.layered.hooks.is_empty();
    if rows.is_empty() && !hooks {
        return Err(unknown_or_unset(&key));
    }
    let whole = if hooks { config } else { Config::default() };
    print(&rows, &whole, false, json)
}

/// Explains why a key has no value.
fn unknown_or_unset(key: &KeyPath) -> Failure {
    let what = match config::parse_value(key, "true") {
        Err(what) if what.starts_with("unknown key") => what,
        _ => "it is not set".to_owned(),
    };
    let names: Vec<String> = defaults::defaults().iter().map(|(key, _)| key.to_string()).collect();
    let near = likely_typos(&key.to_string(), names.iter().map(String::as_str));
    match near.first() {
        Some(near) if !what.contains("did you mean") && *near != key.to_string() => {
            Failure::not_found(format!("{key}: {what}; did you mean {near}?"))
        }
        _ => Failure::not_found(format!("{key}: {what}")),
    }
}

/// Returns every key with its value in force, including defaults, without secrets.
pub(crate) fn effective_values(config: &Config, world: &WorkspaceArgs) -> Vec<SettingRow> {
    let mut rows = explicit_values(config, world);
    rows.extend(defaults_not_set(&rows));
    rows.sort_by(|one, other| one.key.cmp(&other.key));
    rows.iter().map(Row::to_reply).collect()
}

fn load_config(world: &WorkspaceArgs) -> Result<Config, Failure> {
    let mut world = world.clone();
    world.root = bootstrap::root_args(&world);
    if world.root.is_empty() {
        world.root.push(".".into());
    }
    bootstrap::load_config(&world)
}

/// One line of the list.
struct Row {
    key: KeyPath,
    /// The value; `None` if there is none, and the description then states the meaning.
    value: Option<Value>,
    words: &'static str,
    origin: Origin,
}

impl Row {
    fn to_reply(&self) -> SettingRow {
        reply(&self.key, json!(self.value), &self.origin)
    }
}

/// Sections whose changes take effect only after a restart. Trust determines the folders that file
/// tools must not access, which are fixed at the start.
const NEEDS_RESTART: [&str; 3] = ["server", "models", "trusted_workspaces"];

fn reply(key: &KeyPath, value: Json, origin: &Origin) -> SettingRow {
    let section = key.parts().first().copied().unwrap_or_default();
    SettingRow {
        key: key.to_string(),
        secret: value_display::is_secret(key) && !value.is_null(),
        value,
        layer: origin.layer.as_str().to_owned(),
        origin: origin.location.clone(),
        live: !NEEDS_RESTART.contains(&section),
    }
}

/// Returns the values that are set, including those from flags.
fn explicit_values(config: &Config, world: &WorkspaceArgs) -> Vec<Row> {
    let policy = KeyPath(vec!["policy".to_owned()]);
    let row = |(key, held): (&KeyPath, &ConfigValue)| Row {
        key: key.clone(),
        value: Some(value_display::mask_secret(key, &held.value)),
        words: "",
        origin: held.origin.clone(),
    };
    let mut rows: Vec<Row> = config.layered.values.iter().map(row).collect();
    let of_variable = Env::from_process().text("TOOLCRIB_POLICY").ok().flatten();
    let flag = world.policy.filter(|flag| of_variable.as_deref() != Some(flag.as_str()));
    if let Some(flag) = flag.filter(|flag| config.effective_preset(Some(*flag)) == Some(*flag)) {
        rows.retain(|row| row.key != policy);
        rows.push(Row {
            key: policy,
            value: Some(flag.as_str().into()),
            words: "",
            origin: Origin { layer: Layer::Flag, location: "--policy".to_owned() },
        });
        rows.sort_by(|one, other| one.key.cmp(&other.key));
    }
    rows
}

/// Returns the defaults of keys that are not among these.
fn defaults_not_set(rows: &[Row]) -> impl Iterator<Item = Row> + use<> {
    let set: Vec<KeyPath> = rows.iter().map(|row| row.key.clone()).collect();
    defaults::defaults().into_iter().filter(move |(key, _)| !set.contains(key)).map(
        |(key, default)| {
            let (value, words) = match default {
                DefaultValue::Value(value) => (Some(value), ""),
                DefaultValue::Description(words) => (None, words),
            };
            let origin = Origin { layer: Layer::Default, location: String::new() };
            Row { key, value, words, origin }
        },
    )
}

fn print(rows: &[Row], config: &Config, show_origin: bool, json: bool) -> Result<u8, Failure> {
    let hooks = &config.layered.hooks;
    if json {
        let key = KeyPath(vec!["hooks".to_owned()]);
        let hooks = hooks.iter().map(|held| reply(&key, json!(held.value), &held.origin));
        let all: Vec<SettingRow> = rows.iter().map(Row::to_reply).chain(hooks).collect();
        output::print_json(&json!(all), true)?;
        return Ok(0);
    }
    let at = |origin: &Origin| {
        if show_origin {
            format!("  # {}", value_display::origin_text(origin))
        } else {
            String::new()
        }
    };
    let mut text = String::new();
    for row in rows {
        text += &match &row.value {
            Some(value) => {
                format!("{} = {}{}\n", row.key, value_display::toml_line(value), at(&row.origin))
            }
            None => format!("# {} is not set: {}\n", row.key, row.words),
        };
    }
    for held in hooks {
        text += &format!("# hook {}{}\n", value_display::hook_line(held), at(&held.origin));
    }
    if text.is_empty() {
        output::eprint_line(
            "toolcrib: nothing is set; `toolcrib config list --all` shows the defaults",
        );
        return Ok(0);
    }
    output::print_line(&text)?;
    Ok(0)
}
