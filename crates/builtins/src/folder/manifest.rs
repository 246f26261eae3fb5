//! `tool.toml`: read, checked, and turned into a definition.
#![deny(clippy::indexing_slicing)]

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use toml::{Table, Value};
use toolcrib_core::{
    ConfigKey, Effect, Example, Permission, Reach, Risk, Tier, ToolName, ToolSpec, Trust,
};

use super::answer::Kind;
use super::keys::{self, Keys, wanted, word};
use super::{Fault, command, parameters};

/// Name of the definition's file.
pub const MANIFEST: &str = "tool.toml";

/// Bytes of a definition that are read at all. The largest known tool schemas stay far below.
pub const MANIFEST_BYTES: u64 = 256 * 1024;

/// Longest description, in characters: it is in every request to a model.
const DESCRIPTION_CHARS: usize = 4_000;

const KEYS: &[&str] = &[
    "name",
    "title",
    "description",
    "command",
    "parameters",
    "risk",
    "effect",
    "reach",
    "timeout",
    "permissions",
    "config",
    "version",
    "output",
    "group",
    "examples",
    "lazy_schema",
];

const RISKS: &[(&str, Risk)] =
    &[("safe", Risk::Safe), ("high", Risk::High), ("critical", Risk::Critical)];

const EFFECTS: &[(&str, Effect)] = &[
    ("pure", Effect::Pure),
    ("read", Effect::Read),
    ("idempotent", Effect::Idempotent),
    ("side_effect", Effect::SideEffect),
    ("destructive", Effect::Destructive),
];

/// Values of configuration keys that nobody configured, by key.
type Defaults = Vec<(String, String)>;

/// A definition with what is needed to run it.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) spec: ToolSpec,
    /// The program and its arguments; never empty.
    pub(super) command: Vec<String>,
    /// What its plain text is.
    pub(super) kind: Kind,
    /// What stands in for missing configuration.
    pub(super) defaults: Defaults,
}

impl Manifest {
    /// Reads the definition of a folder; `short` is the folder's own name.
    pub(super) fn read(folder: &Path, short: &str) -> Result<Self, Fault> {
        let text = text_of(&folder.join(MANIFEST))?;
        let table: Table = toml::from_str(&text).map_err(|error| syntax(&text, &error))?;
        Self::from_table(table, folder, short)
    }

    fn from_table(table: Table, folder: &Path, short: &str) -> Result<Self, Fault> {
        let in_file = |fault: Fault| fault.at(MANIFEST);
        let mut keys = Keys::of(table, KEYS).map_err(in_file)?;
        let (spec, kind, defaults) = definition(&mut keys, short).map_err(in_file)?;
        let command = command::of(folder, keys.texts("command").map_err(in_file)?)?;
        Ok(Self { spec, command, kind, defaults })
    }
}

/// The command that a definition names, as far as it can be read; what goes without saying is not looked for.
pub(super) fn command(folder: &Path) -> Vec<String> {
    let table = text_of(&folder.join(MANIFEST)).ok().and_then(|text| text.parse::<Table>().ok());
    let words = table.as_ref().and_then(|table| table.get("command")).and_then(Value::as_array);
    words.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The text of the file; a FIFO or a device is not waited for.
fn text_of(path: &Path) -> Result<String, Fault> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Fault::new(
            "it has no tool.toml; a folder that is no tool has a name that begins with _",
        ),
        std::io::ErrorKind::InvalidData => Fault::new("tool.toml is no UTF-8 text"),
        _ => Fault::new(format!("tool.toml cannot be read: {error}")),
    };
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file =
        OpenOptions::new().read(true).custom_flags(nonblock).open(path).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err(Fault::new("tool.toml is no plain file"));
    }
    let mut text = String::new();
    file.take(MANIFEST_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MANIFEST_BYTES {
        return Err(Fault::new(format!("tool.toml has more than {MANIFEST_BYTES} bytes")));
    }
    Ok(text)
}

fn syntax(text: &str, error: &toml::de::Error) -> Fault {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| before.matches('\n').count() + 1);
    let place = line.map_or_else(|| MANIFEST.to_owned(), |line| format!("{MANIFEST} line {line}"));
    Fault::new(error.message().replace('\n', " ")).at(place)
}

fn definition(keys: &mut Keys, short: &str) -> Result<(ToolSpec, Kind, Defaults), Fault> {
    let name = name(keys.text("name")?, short)?;
    let description = description(keys)?;
    let schema = parameters::schema(keys.take("parameters"))
        .map_err(|fault| fault.at("key \"parameters\""))?;
    let mut spec = ToolSpec::new(name, description, schema);
    if let Some(title) = keys.text("title")? {
        spec.title = title;
    }
    spec.risk = keys.word("risk", RISKS)?.unwrap_or_default();
    spec.effect = keys.word("effect", EFFECTS)?.unwrap_or_default();
    spec.reach = reach(keys, spec.effect)?;
    if let Some(timeout) = keys.duration("timeout")? {
        spec.timeout = timeout;
    }
    spec.permissions = permissions(keys.texts("permissions")?.unwrap_or_default())?;
    spec.group = keys.text("group")?;
    spec.examples = examples(keys)?;
    spec.lazy_schema = keys.flag("lazy_schema")?.unwrap_or_default();
    if let Some(version) = version(keys)? {
        spec.version = version;
    }
    // It is offered where the registry puts all tools whose definition is not ours.
    spec.tier = Tier::Interface;
    // Its program is the person's own, its words are not: it may print a mail or a page, and nothing tells which.
    spec.trust = Trust::External;
    let (config, defaults) = config(keys.take("config"))?;
    spec.config = config;
    Ok((spec, Kind::of(keys.text("output")?)?, defaults))
}

fn name(given: Option<String>, short: &str) -> Result<ToolName, Fault> {
    match given {
        Some(name) => ToolName::local(&name).map_err(|error| Fault::new(error.to_string())),
        None => ToolName::local(short).map_err(|error| {
            Fault::new(format!(
                "without the key \"name\" the folder's name is the tool's, and {error}"
            ))
        }),
    }
}

fn description(keys: &mut Keys) -> Result<String, Fault> {
    let text = keys.text("description")?.unwrap_or_default().trim().to_owned();
    if text.is_empty() {
        return Err(Fault::new("key \"description\" is missing: say what the tool does"));
    }
    let chars = text.chars().count();
    if chars > DESCRIPTION_CHARS {
        return Err(Fault::new(format!(
            "key \"description\" has {chars} characters, more than {DESCRIPTION_CHARS}"
        )));
    }
    Ok(text)
}

/// What nobody declared is assumed, as far as it asks for more care: only a tool that computes sends nothing by itself.
fn reach(keys: &mut Keys, effect: Effect) -> Result<Reach, Fault> {
    const WORDS: &[(&str, Reach)] = &[
        ("outbound", Reach { outbound: true, exec: false, private_read: false }),
        ("exec", Reach { outbound: false, exec: true, private_read: false }),
        ("private_read", Reach { outbound: false, exec: false, private_read: true }),
    ];
    let mut reach = Reach::default();
    match keys.texts("reach")? {
        Some(words) => {
            for text in words {
                let one = word("reach", &text, WORDS)?;
                reach.outbound |= one.outbound;
                reach.exec |= one.exec;
                reach.private_read |= one.private_read;
            }
        }
        None => reach.outbound = effect != Effect::Pure,
    }
    Ok(reach)
}

/// What is declared, and always the right to run programs: a host that refuses it runs no program of a folder.
fn permissions(names: Vec<String>) -> Result<Vec<Permission>, Fault> {
    let mut permissions = vec![Permission::Exec];
    for name in names {
        let permission = match name.as_str() {
            "fs_read" => Permission::FsRead,
            "fs_write" => Permission::FsWrite,
            "network" => Permission::Network,
            "exec" => Permission::Exec,
            "" => return Err(Fault::new("key \"permissions\" has an empty name")),
            _ => Permission::Named(name),
        };
        if !permissions.contains(&permission) {
            permissions.push(permission);
        }
    }
    Ok(permissions)
}

fn version(keys: &mut Keys) -> Result<Option<String>, Fault> {
    match keys.take("version") {
        None => Ok(None),
        Some(Value::String(version)) => Ok(Some(version)),
        Some(Value::Integer(version)) => Ok(Some(version.to_string())),
        Some(other) => Err(wanted("version", "a text such as \"1.2\"", &other)),
    }
}

fn examples(keys: &mut Keys) -> Result<Vec<Example>, Fault> {
    let Some(value) = keys.take("examples") else { return Ok(Vec::new()) };
    let form = "an array of { need = \"what a person asks\", args = { } }";
    let Value::Array(items) = value else { return Err(wanted("examples", form, &value)) };
    let example = |item: Value| {
        let Value::Table(table) = item else { return Err(wanted("examples", form, &item)) };
        let mut keys = Keys::of(table, &["need", "args"])?;
        let need = keys.text("need")?.unwrap_or_default();
        let args = keys::json(keys.take("args").unwrap_or(Value::Table(Table::new())))?;
        Ok(Example { need, args })
    };
    items.into_iter().map(|item| example(item).map_err(|f| f.at("key \"examples\""))).collect()
}

/// The keys and the values that stand in for missing ones: `KEY = "what it is"`, `KEY = { description, secret, required, default }` or
/// only their names. A key is required unless it says otherwise or has a default.
fn config(value: Option<Value>) -> Result<(Vec<ConfigKey>, Defaults), Fault> {
    let table = match value {
        None => Table::new(),
        Some(Value::Table(table)) => table,
        Some(Value::Array(names)) => names
            .into_iter()
            .map(|name| match name {
                Value::String(name) => Ok((name, Value::String(String::new()))),
                other => Err(wanted("config", "a table, or an array of names", &other)),
            })
            .collect::<Result<_, _>>()?,
        Some(other) => return Err(wanted("config", "a table, or an array of names", &other)),
    };
    let mut defaults = Defaults::new();
    let mut all = Vec::new();
    for (key, value) in table {
        let (described, default) =
            config_key(&key, value).map_err(|fault| fault.at(format!("key \"config.{key}\"")))?;
        all.push(described);
        defaults.extend(default.map(|default| (key, default)));
    }
    Ok((all, defaults))
}

fn config_key(key: &str, value: Value) -> Result<(ConfigKey, Option<String>), Fault> {
    check_variable(key)?;
    let plain = |description: String| ConfigKey {
        key: key.to_owned(),
        description,
        secret: false,
        required: true,
    };
    let table = match value {
        Value::String(description) => return Ok((plain(description), None)),
        Value::Table(table) => table,
        other => return Err(wanted(key, "a text or a table", &other)),
    };
    let mut keys = Keys::of(table, &["description", "secret", "required", "default"])?;
    let mut described = plain(keys.text("description")?.unwrap_or_default());
    described.secret = keys.flag("secret")?.unwrap_or(false);
    let required = keys.flag("required")?;
    let default = match keys.take("default") {
        None => None,
        Some(Value::String(text)) => Some(text),
        Some(plain @ (Value::Integer(_) | Value::Float(_) | Value::Boolean(_))) => {
            Some(plain.to_string())
        }
        Some(other) => return Err(wanted("default", "a text, a number or a flag", &other)),
    };
    described.required = required.unwrap_or(true) && default.is_none();
    Ok((described, default))
}

/// A configured value becomes a variable of its own name, so the name must be one, and not one that the program gets anyway.
fn check_variable(key: &str) -> Result<(), Fault> {
    let mut chars = key.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !starts || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Fault::new(
            "it must be the name of a variable: letters, digits and underscores",
        ));
    }
    if key == "PATH" || key.starts_with("TOOLCRIB_") {
        return Err(Fault::new("this name is taken"));
    }
    Ok(())
}
