//! `config list` and `config get`.

use serde_json::{Value as Json, json};
use toml::Value;
use toolcrib_app::core::near::slips;

use super::defaults::{self, Default};
use super::{key, shown};
use crate::cli::{ConfigList, World};
use crate::config::{self, Config, Env, Held, Key, Layer, Origin};
use crate::output::{self, Failure};
use crate::world;

pub(super) fn list(command: &ConfigList, json: bool) -> Result<u8, Failure> {
    let config = configured(&command.world)?;
    let mut rows = effective(&config, &command.world);
    if command.all {
        rows.extend(defaults_beside(&rows));
        rows.sort_by(|one, other| one.key.cmp(&other.key));
    }
    print(&rows, &config, command.show_origin, json)
}

pub(super) fn get(text: &str, world: &World, json: bool) -> Result<u8, Failure> {
    let key = key(text)?;
    let config = configured(world)?;
    let mut rows = effective(&config, world);
    let unset: Vec<Row> = defaults_beside(&rows).collect();
    rows.extend(unset);
    if let Some(row) = rows.iter().find(|row| row.key == key) {
        if json {
            output::document(&row.machine(), true)?;
        } else if let Some(value) = &row.value {
            output::data(&shown::plain(value))?;
        } else {
            return Err(Failure::not_found(format!("{key} is not set: {}", row.words)));
        }
        return Ok(0);
    }
    rows.retain(|row| row.key.is_in(&key));
    let hooks = key.parts() == ["hooks"] && !config.layered.hooks.is_empty();
    if rows.is_empty() && !hooks {
        return Err(missing(&key));
    }
    let whole = if hooks { config } else { Config::default() };
    print(&rows, &whole, false, json)
}

/// Why there is nothing at a key.
fn missing(key: &Key) -> Failure {
    let what = match config::fitting(key, "true") {
        Err(what) if what.starts_with("unknown key") => what,
        _ => "it is not set".to_owned(),
    };
    let names: Vec<String> = defaults::all().iter().map(|(key, _)| key.to_string()).collect();
    let near = slips(&key.to_string(), names.iter().map(String::as_str));
    match near.first() {
        Some(near) if !what.contains("did you mean") && *near != key.to_string() => {
            Failure::not_found(format!("{key}: {what}; did you mean {near}?"))
        }
        _ => Failure::not_found(format!("{key}: {what}")),
    }
}

/// Every key that has a value, defaults among them, as people may see it, with where it comes from.
pub(crate) fn all(config: &Config, world: &World) -> Vec<(Key, Json, String)> {
    let mut rows = effective(config, world);
    rows.extend(defaults_beside(&rows));
    rows.sort_by(|one, other| one.key.cmp(&other.key));
    let shown = |row: Row| {
        let value = row.value.as_ref().map_or(Json::Null, |value| json!(value));
        (row.key, value, shown::origin(&row.origin))
    };
    rows.into_iter().map(shown).collect()
}

fn configured(world: &World) -> Result<Config, Failure> {
    let mut world = world.clone();
    world.root = world::named_roots(&world);
    if world.root.is_empty() {
        world.root.push(".".into());
    }
    world::configured(&world)
}

/// One line of the list.
struct Row {
    key: Key,
    /// What it is set to; `None` = nothing, and the words say what that means.
    value: Option<Value>,
    words: &'static str,
    origin: Origin,
}

impl Row {
    fn machine(&self) -> Json {
        match &self.value {
            Some(value) => shown::row(&self.key, value, &self.origin),
            None => json!({
                "key": self.key.to_string(),
                "value": null,
                "secret": false,
                "layer": self.origin.layer.as_str(),
                "origin": "",
            }),
        }
    }
}

/// What is set, flags included.
fn effective(config: &Config, world: &World) -> Vec<Row> {
    let policy = Key(vec!["policy".to_owned()]);
    let row = |(key, held): (&Key, &Held)| Row {
        key: key.clone(),
        value: Some(shown::masked(key, &held.value)),
        words: "",
        origin: held.origin.clone(),
    };
    let mut rows: Vec<Row> = config.layered.held.iter().map(row).collect();
    let of_variable = Env::of_process().text("TOOLCRIB_POLICY").ok().flatten();
    let flag = world.policy.filter(|flag| of_variable.as_deref() != Some(flag.as_str()));
    if let Some(flag) = flag.filter(|flag| config.preset(Some(*flag)) == Some(*flag)) {
        rows.retain(|row| row.key != policy);
        rows.push(Row {
            key: policy,
            value: Some(flag.as_str().into()),
            words: "",
            origin: Origin { layer: Layer::Flag, place: "--policy".to_owned() },
        });
        rows.sort_by(|one, other| one.key.cmp(&other.key));
    }
    rows
}

/// The defaults of what is not among these.
fn defaults_beside(rows: &[Row]) -> impl Iterator<Item = Row> + use<> {
    let set: Vec<Key> = rows.iter().map(|row| row.key.clone()).collect();
    defaults::all().into_iter().filter(move |(key, _)| !set.contains(key)).map(|(key, default)| {
        let (value, words) = match default {
            Default::Value(value) => (Some(value), ""),
            Default::Words(words) => (None, words),
        };
        let origin = Origin { layer: Layer::Default, place: String::new() };
        Row { key, value, words, origin }
    })
}

fn print(rows: &[Row], config: &Config, show_origin: bool, json: bool) -> Result<u8, Failure> {
    let hooks = &config.layered.hooks;
    if json {
        let hooks = hooks.iter().map(|held| {
            json!({
                "key": "hooks",
                "value": held.value,
                "secret": false,
                "layer": held.origin.layer.as_str(),
                "origin": held.origin.place,
            })
        });
        let all: Vec<Json> = rows.iter().map(Row::machine).chain(hooks).collect();
        output::document(&Json::Array(all), true)?;
        return Ok(0);
    }
    let at = |origin: &Origin| {
        if show_origin { format!("  # {}", shown::origin(origin)) } else { String::new() }
    };
    let mut text = String::new();
    for row in rows {
        text += &match &row.value {
            Some(value) => format!("{} = {}{}\n", row.key, shown::line(value), at(&row.origin)),
            None => format!("# {} is not set: {}\n", row.key, row.words),
        };
    }
    for held in hooks {
        text += &format!("# hook {}{}\n", shown::hook_line(held), at(&held.origin));
    }
    if text.is_empty() {
        output::note("toolcrib: nothing is set; `toolcrib config list --all` shows the defaults");
        return Ok(0);
    }
    output::data(&text)?;
    Ok(0)
}
