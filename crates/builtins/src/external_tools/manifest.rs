//! `tool.toml`: reads and checks a manifest and builds the tool definition.
#![deny(clippy::indexing_slicing)]

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use toml::{Table, Value};
use toolcrib_core::defaults::MAX_RETRY_ATTEMPTS;
use toolcrib_core::{
    ConfigKey, Effect, Example, Permission, Reach, Risk, Tier, ToolName, ToolSpec, Trust,
};

use super::parse_output::OutputKind;
use super::toml_keys::{self, TomlKeys, choice, type_error};
use super::{DefinitionError, parameters, resolve_command};

/// File name of the manifest.
pub const MANIFEST: &str = "tool.toml";

/// Largest manifest, in bytes. The largest known tool schemas are far smaller.
pub const MANIFEST_BYTES: u64 = 256 * 1024;

/// Longest description, in characters: every request to a model contains it.
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
    "attempts",
    "permissions",
    "config",
    "version",
    "output",
    "group",
    "examples",
    "needs",
    "lazy_schema",
    "surroundings",
];

/// Information about the person that a tool can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surrounding {
    TimeZone,
    LocalTime,
    Place,
    Device,
}

impl Surrounding {
    const ALL: [Self; 4] = [Self::TimeZone, Self::LocalTime, Self::Place, Self::Device];

    /// Returns the name in definitions, which is also the key in the context of a call.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::TimeZone => "time_zone",
            Self::LocalTime => "local_time",
            Self::Place => "place",
            Self::Device => "device",
        }
    }
}

const RISKS: &[(&str, Risk)] =
    &[("safe", Risk::Safe), ("high", Risk::High), ("critical", Risk::Critical)];

const EFFECTS: &[(&str, Effect)] = &[
    ("pure", Effect::Pure),
    ("read", Effect::Read),
    ("idempotent", Effect::Idempotent),
    ("side_effect", Effect::SideEffect),
    ("destructive", Effect::Destructive),
];

/// Default values of configuration keys, by key.
type Defaults = Vec<(String, String)>;

/// A definition with everything needed to run it.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) spec: ToolSpec,
    /// The program and its arguments; never empty.
    pub(super) command: Vec<String>,
    /// How standard output is interpreted.
    pub(super) kind: OutputKind,
    /// Defaults for configuration keys without a value.
    pub(super) defaults: Defaults,
    /// Requested information about the person.
    pub(super) surroundings: Vec<Surrounding>,
}

impl Manifest {
    /// Reads the manifest of a folder; `short` is the folder's name.
    pub(super) fn read(folder: &Path, short: &str) -> Result<Self, DefinitionError> {
        let text = text_of(&folder.join(MANIFEST))?;
        let table: Table = toml::from_str(&text).map_err(|error| syntax(&text, &error))?;
        Self::from_table(table, folder, short)
    }

    fn from_table(table: Table, folder: &Path, short: &str) -> Result<Self, DefinitionError> {
        let in_file = |fault: DefinitionError| fault.at(MANIFEST);
        let mut keys = TomlKeys::new(table, KEYS).map_err(in_file)?;
        let (spec, kind, defaults) = definition(&mut keys, short).map_err(in_file)?;
        let surroundings = surroundings(&mut keys).map_err(in_file)?;
        let command = resolve_command::resolve(folder, keys.texts("command").map_err(in_file)?)?;
        Ok(Self { spec, command, kind, defaults, surroundings })
    }
}

/// Returns the command of a manifest as far as it can be parsed, without resolving the default
/// command.
pub(super) fn command(folder: &Path) -> Vec<String> {
    let table = text_of(&folder.join(MANIFEST)).ok().and_then(|text| text.parse::<Table>().ok());
    let words = table.as_ref().and_then(|table| table.get("command")).and_then(Value::as_array);
    words.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Reads the file without blocking on a FIFO or device.
fn text_of(path: &Path) -> Result<String, DefinitionError> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => DefinitionError::new(
            "it has no tool.toml; start the name of a folder with _ if it is not a tool",
        ),
        std::io::ErrorKind::InvalidData => DefinitionError::new("tool.toml is not UTF-8 text"),
        _ => DefinitionError::new(format!("tool.toml cannot be read: {error}")),
    };
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file =
        OpenOptions::new().read(true).custom_flags(nonblock).open(path).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err(DefinitionError::new("tool.toml is not a regular file"));
    }
    let mut text = String::new();
    file.take(MANIFEST_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MANIFEST_BYTES {
        return Err(DefinitionError::new(format!(
            "tool.toml has more than {MANIFEST_BYTES} bytes"
        )));
    }
    Ok(text)
}

fn syntax(text: &str, error: &toml::de::Error) -> DefinitionError {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| before.matches('\n').count() + 1);
    let place = line.map_or_else(|| MANIFEST.to_owned(), |line| format!("{MANIFEST} line {line}"));
    DefinitionError::new(error.message().replace('\n', " ")).at(place)
}

fn definition(
    keys: &mut TomlKeys,
    short: &str,
) -> Result<(ToolSpec, OutputKind, Defaults), DefinitionError> {
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
    if let Some(attempts) = attempts(keys.take("attempts"))? {
        spec.attempts = attempts;
    }
    spec.permissions = permissions(keys.texts("permissions")?.unwrap_or_default())?;
    spec.group = keys.text("group")?;
    spec.examples = examples(keys)?;
    spec.needs = needs(keys)?;
    spec.lazy_schema = keys.flag("lazy_schema")?.unwrap_or_default();
    if let Some(version) = version(keys)? {
        spec.version = version;
    }
    spec.tier = Tier::FirstParty;
    // The owner trusts the program, but not its output: it may print mail or web pages, which
    // nothing marks as untrusted.
    spec.trust = Trust::External;
    let (config, defaults) = config(keys.take("config"))?;
    spec.config = config;
    Ok((spec, OutputKind::from_manifest(keys.text("output")?)?, defaults))
}

fn name(given: Option<String>, short: &str) -> Result<ToolName, DefinitionError> {
    match given {
        Some(name) => {
            ToolName::local(&name).map_err(|error| DefinitionError::new(error.to_string()))
        }
        None => ToolName::local(short).map_err(|error| {
            DefinitionError::new(format!(
                "without the key \"name\" the folder's name is the tool's, and {error}"
            ))
        }),
    }
}

fn description(keys: &mut TomlKeys) -> Result<String, DefinitionError> {
    let text = keys.text("description")?.unwrap_or_default().trim().to_owned();
    if text.is_empty() {
        return Err(DefinitionError::new("key \"description\" is missing: say what the tool does"));
    }
    let chars = text.chars().count();
    if chars > DESCRIPTION_CHARS {
        return Err(DefinitionError::new(format!(
            "key \"description\" has {chars} characters, more than {DESCRIPTION_CHARS}"
        )));
    }
    Ok(text)
}

/// Reads the reach. Undeclared properties get the stricter value; only a pure tool is assumed to
/// send nothing.
fn reach(keys: &mut TomlKeys, effect: Effect) -> Result<Reach, DefinitionError> {
    const WORDS: &[(&str, Reach)] = &[
        ("outbound", Reach { outbound: true, exec: false, private_read: false }),
        ("exec", Reach { outbound: false, exec: true, private_read: false }),
        ("private_read", Reach { outbound: false, exec: false, private_read: true }),
    ];
    let mut reach = Reach::default();
    match keys.texts("reach")? {
        Some(words) => {
            for text in words {
                let one = choice("reach", &text, WORDS)?;
                reach.outbound |= one.outbound;
                reach.exec |= one.exec;
                reach.private_read |= one.private_read;
            }
        }
        None => reach.outbound = effect != Effect::Pure,
    }
    Ok(reach)
}

/// Parses the declared permissions and adds `exec`: a host that refuses `exec` must not run folder
/// tools.
fn permissions(names: Vec<String>) -> Result<Vec<Permission>, DefinitionError> {
    let mut permissions = vec![Permission::Exec];
    for name in names {
        let permission = match name.as_str() {
            "fs_read" => Permission::FsRead,
            "fs_write" => Permission::FsWrite,
            "network" => Permission::Network,
            "exec" => Permission::Exec,
            "" => return Err(DefinitionError::new("key \"permissions\" has an empty name")),
            _ => Permission::Named(name),
        };
        if !permissions.contains(&permission) {
            permissions.push(permission);
        }
    }
    Ok(permissions)
}

/// Reads the requested information about the person, without duplicates.
fn surroundings(keys: &mut TomlKeys) -> Result<Vec<Surrounding>, DefinitionError> {
    let names = Surrounding::ALL.map(|one| (one.as_str(), one));
    let mut wanted = Vec::new();
    for text in keys.texts("surroundings")?.unwrap_or_default() {
        let one = choice("surroundings", &text, &names)?;
        if !wanted.contains(&one) {
            wanted.push(one);
        }
    }
    Ok(wanted)
}

/// Reads the maximum attempts of a call that changes nothing, including the first.
fn attempts(value: Option<Value>) -> Result<Option<u32>, DefinitionError> {
    let Some(value) = value else { return Ok(None) };
    let form = format!("a whole number from 1 to {MAX_RETRY_ATTEMPTS}");
    let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
    match number.filter(|number| (1..=MAX_RETRY_ATTEMPTS).contains(number)) {
        Some(number) => Ok(Some(number)),
        None => Err(type_error("attempts", &form, &value)),
    }
}

fn version(keys: &mut TomlKeys) -> Result<Option<String>, DefinitionError> {
    match keys.take("version") {
        None => Ok(None),
        Some(Value::String(version)) => Ok(Some(version)),
        Some(Value::Integer(version)) => Ok(Some(version.to_string())),
        Some(other) => Err(type_error("version", "a text such as \"1.2\"", &other)),
    }
}

fn examples(keys: &mut TomlKeys) -> Result<Vec<Example>, DefinitionError> {
    let Some(value) = keys.take("examples") else { return Ok(Vec::new()) };
    let form = "an array of { need = \"what a person asks\", args = { } }";
    let Value::Array(items) = value else { return Err(type_error("examples", form, &value)) };
    let example = |item: Value| {
        let Value::Table(table) = item else { return Err(type_error("examples", form, &item)) };
        let mut keys = TomlKeys::new(table, &["need", "args"])?;
        let need = keys.text("need")?.unwrap_or_default();
        let args = toml_keys::json(keys.take("args").unwrap_or(Value::Table(Table::new())))?;
        Ok(Example { need, args })
    };
    items.into_iter().map(|item| example(item).map_err(|f| f.at("key \"examples\""))).collect()
}

/// Reads texts that people type when they need the tool; only the tool search uses them.
fn needs(keys: &mut TomlKeys) -> Result<Vec<String>, DefinitionError> {
    let Some(value) = keys.take("needs") else { return Ok(Vec::new()) };
    let form = "an array of texts such as [\"is it raining\"]";
    let Value::Array(items) = value else { return Err(type_error("needs", form, &value)) };
    let text = |item| match item {
        Value::String(text) => Ok(text),
        other => Err(type_error("needs", form, &other)),
    };
    items.into_iter().map(text).collect()
}

/// Reads configuration keys and their defaults: `KEY = "description"`, `KEY = { description,
/// secret, required, default }`, or an array of names. A key is required unless it sets `required =
/// false` or has a default.
fn config(value: Option<Value>) -> Result<(Vec<ConfigKey>, Defaults), DefinitionError> {
    let table = match value {
        None => Table::new(),
        Some(Value::Table(table)) => table,
        Some(Value::Array(names)) => names
            .into_iter()
            .map(|name| match name {
                Value::String(name) => Ok((name, Value::String(String::new()))),
                other => Err(type_error("config", "a table, or an array of names", &other)),
            })
            .collect::<Result<_, _>>()?,
        Some(other) => return Err(type_error("config", "a table, or an array of names", &other)),
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

fn config_key(key: &str, value: Value) -> Result<(ConfigKey, Option<String>), DefinitionError> {
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
        other => return Err(type_error(key, "a text or a table", &other)),
    };
    let mut keys = TomlKeys::new(table, &["description", "secret", "required", "default"])?;
    let mut described = plain(keys.text("description")?.unwrap_or_default());
    described.secret = keys.flag("secret")?.unwrap_or(false);
    let required = keys.flag("required")?;
    let default = match keys.take("default") {
        None => None,
        Some(Value::String(text)) => Some(text),
        Some(plain @ (Value::Integer(_) | Value::Float(_) | Value::Boolean(_))) => {
            Some(plain.to_string())
        }
        Some(other) => return Err(type_error("default", "a text, a number or a flag", &other)),
    };
    described.required = required.unwrap_or(true) && default.is_none();
    Ok((described, default))
}

/// Checks that a key can be an environment variable. A configured value becomes the variable of
/// this name, so the key must be valid and must not replace a variable that the program gets
/// anyway.
fn check_variable(key: &str) -> Result<(), DefinitionError> {
    let mut chars = key.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !starts || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(DefinitionError::new(
            "it must be the name of a variable: letters, digits and underscores",
        ));
    }
    if key == "PATH" || key.starts_with("TOOLCRIB_") {
        return Err(DefinitionError::new("this name is taken"));
    }
    Ok(())
}
