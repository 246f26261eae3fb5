//! The environment as a layer: `TOOLCRIB_SECTION__KEY` is the key `section.key`, and the two policy
//! switches have separate names.
#![deny(clippy::indexing_slicing)]

use toml::{Table, Value};
use toolcrib_core::similar_names::likely_typos;

use crate::config::environment::Env;
use crate::config::key_path::KeyPath;
use crate::config::layer::Layer;
use crate::config::layer_source::{Leaf, Source};
use crate::config::plain_message::plain_message;
use crate::config::schema::Config;
use crate::output::Failure;

/// Prefix of all variables.
const PREFIX: &str = "TOOLCRIB_";

/// Keys at the top of the file that have a variable.
const TOP_LEVEL_VARIABLES: [(&str, &str); 2] =
    [("TOOLCRIB_POLICY", "policy"), ("TOOLCRIB_ON_ASK", "on_ask")];

/// Sections whose keys have variables; programs and trust are configured only in files.
const SECTIONS: [&str; 13] = [
    "model",
    "providers",
    "models",
    "limits",
    "tools",
    "agent",
    "permissions",
    "flags",
    "sandbox",
    "shell",
    "server",
    "python",
    "discovery",
];

/// Returns the layer of the environment.
///
/// # Errors
/// A variable without a key, or with a value that its key does not accept. The value is not shown.
pub(super) fn env_layer(env: &Env) -> Result<Source, Failure> {
    let mut names: Vec<&str> =
        env.names().filter(|name| name.starts_with(PREFIX) && name.contains("__")).collect();
    names.sort_unstable();
    let mut leaves = Vec::new();
    for name in names {
        let key = name.get(PREFIX.len()..).unwrap_or_default().to_ascii_lowercase();
        let parts: Vec<&str> = key.split("__").collect();
        if parts.iter().any(|part| part.is_empty()) {
            return Err(invalid_variable(name, "it is not a key; write TOOLCRIB_SECTION__KEY"));
        }
        let section = parts.first().copied().unwrap_or_default();
        if !SECTIONS.contains(&section) {
            let near = likely_typos(section, SECTIONS.into_iter());
            let near = near.first().map(|near| format!(", did you mean `{near}`?"));
            let near = near.unwrap_or_else(|| format!("; there are {}", SECTIONS.join(", ")));
            return Err(invalid_variable(name, &format!("there is no section `{section}`{near}")));
        }
        let key = KeyPath(parts.into_iter().map(str::to_owned).collect());
        leaves.extend(leaf(env, name, key)?);
    }
    for (name, key) in TOP_LEVEL_VARIABLES {
        leaves.extend(leaf(env, name, KeyPath(vec![key.to_owned()]))?);
    }
    Ok(Source::from_leaves(Layer::Environment, leaves))
}

/// Returns one variable; `None` if it is not set.
fn leaf(env: &Env, name: &str, key: KeyPath) -> Result<Option<Leaf>, Failure> {
    let Some(text) = env.text(name)? else { return Ok(None) };
    let value = parse_value(&key, &text).map_err(|what| invalid_variable(name, &what))?;
    Ok(Some(Leaf { key, value, place: name.to_owned() }))
}

fn invalid_variable(name: &str, what: &str) -> Failure {
    Failure::configuration(format!("the variable {name}: {what}"))
}

/// Parses the text of a value for a key: in the format of the file if that is valid, else as the
/// text itself.
///
/// # Errors
/// The reason why neither is valid.
pub(crate) fn parse_value(key: &KeyPath, text: &str) -> Result<Value, String> {
    let written = toml::from_str::<Table>(&format!("v = {text}\n")).ok();
    let written = written.filter(|table| table.len() == 1).and_then(|mut table| table.remove("v"));
    let plain = Value::String(text.to_owned());
    let as_written = written.map(|value| check(key, &value).map(|()| value));
    let refused = match as_written {
        Some(Ok(value)) => return Ok(value),
        Some(Err(what)) => Some(what),
        None => None,
    };
    match check(key, &plain) {
        Ok(()) => Ok(plain),
        // The key accepts no text at all, so the reported reason is that for the value as written.
        Err(what) => Err(refused.filter(|_| what.ends_with("got text")).unwrap_or(what)),
    }
}

/// Keys that are compared with another one, with the widest value of that: 23 is a valid start hour
/// in a file that ends at 24, though not with the default end. The whole file is checked when it is
/// written.
const PAIRS: [(&str, &str, i64); 2] =
    [("heartbeat.active_start", "active_end", 24), ("heartbeat.active_end", "active_start", 0)];

/// Checks that a file could contain this value at this key.
pub(super) fn check(key: &KeyPath, value: &Value) -> Result<(), String> {
    let mut whole = value.clone();
    let (last, sections) = key.0.split_last().ok_or("a key has a name")?;
    if let Some((_, other, widest)) =
        PAIRS.iter().find(|(own, ..)| own.split('.').eq(key.0.iter().map(String::as_str)))
    {
        let pair = [(last.clone(), whole), ((*other).to_owned(), Value::Integer(*widest))];
        whole = Value::Table(pair.into_iter().collect());
    } else {
        whole = Value::Table([(last.clone(), whole)].into_iter().collect());
    }
    for part in sections.iter().rev() {
        whole = Value::Table([(part.clone(), whole)].into_iter().collect());
    }
    let read = serde_path_to_error::deserialize::<_, Config>(whole).map(|_| ());
    read.map_err(|error| plain_message(error.inner().message()))
}
