//! Skills: `NAME/SKILL.md` of the Agent Skills standard (agentskills.io), with Toolcrib's
//! additional fields.
//!
//! A library contains the name and description of a skill. The body is read from disk at each use,
//! so that an edit takes effect immediately.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::location::Location;
use super::suggest::{did_you_mean, likely_typos, quote_name};
use super::{bounded_file, built_in, front_matter, name_rules, skill_folder};

/// File name of a skill.
pub const FILE: &str = "SKILL.md";
/// Longest description, in characters (agentskills.io).
const MAX_DESCRIPTION: usize = 1024;
/// Longest compatibility statement, in characters (agentskills.io).
const MAX_COMPATIBILITY: usize = 500;
/// Version of a skill that does not state one.
const DEFAULT_VERSION: &str = "1";

/// Keys of the standard, then Toolcrib's own.
const KEYS: [&str; 11] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "allowed_tools",
    "version",
    "display_name",
    "tools_required",
    "parameters",
];

/// Tool names in skills of other programs, with Toolcrib's names. A suffix in brackets, as in
/// `Bash(git:*)`, is ignored: the list selects tools, while rules decide about calls.
const FOREIGN_TOOLS: [(&str, &[&str]); 9] = [
    ("Bash", &["execute_shell_command"]),
    ("Read", &["read_file", "list_dir", "file_info"]),
    ("Write", &["write_file"]),
    ("Edit", &["edit_file"]),
    ("MultiEdit", &["edit_file"]),
    ("Glob", &["find_files"]),
    ("LS", &["list_dir"]),
    ("WebFetch", &["fetch_url"]),
    ("WebSearch", &["web_search"]),
];

/// A parameter that a person fills in when a skill is started with `/name`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type, such as `string`; for display.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// Its description.
    #[serde(default)]
    pub description: Option<String>,
    /// Whether the skill requires it.
    #[serde(default)]
    pub required: bool,
}

/// Metadata of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// Its name, the same as its folder's.
    pub name: String,
    /// Display name.
    pub display_name: Option<String>,
    /// Its description: what it does and when to use it, 1 to 1,024 characters.
    pub description: String,
    /// Its version; "1" if it states none.
    pub version: String,
    /// Its license.
    pub license: Option<String>,
    /// Its requirements on the environment.
    pub compatibility: Option<String>,
    /// Other metadata of its author.
    pub metadata: BTreeMap<String, Value>,
    /// The tools that may be used while it is active, as a tool list; empty for no limit.
    pub allowed_tools: Vec<String>,
    /// Tools that it requires.
    pub tools_required: Vec<String>,
    /// Parameters that a person fills in.
    pub parameters: Vec<Parameter>,
    /// Its origin; the file is its `SKILL.md`.
    pub location: Location,
}

/// A skill with its current body.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillBody {
    /// Its metadata, read again.
    pub skill: Skill,
    /// The instructions.
    pub instructions: String,
    /// Its other files, as sorted paths relative to its folder; at most 100.
    pub files: Vec<String>,
}

impl Skill {
    /// Reads the skill again, with its body.
    ///
    /// # Errors
    /// The problem of its file, as a sentence fragment.
    pub fn body(&self) -> Result<SkillBody, String> {
        let Some(path) = self.location.path() else {
            let text = built_in::skill(&self.name).ok_or("is not built in")?;
            return parse(&self.name, text, Location::BuiltIn).map_err(|faults| faults.join("; "));
        };
        let folder = path.parent().ok_or("has no folder")?;
        let mut body = read(folder, &self.location).map_err(|faults| faults.join("; "))?;
        body.files = skill_folder::files(folder);
        Ok(body)
    }

    /// Returns its folder; `None` for a built-in skill.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.location.path().and_then(Path::parent)
    }
}

/// The front matter in its file format.
#[derive(Debug, Deserialize)]
struct RawSkill {
    name: String,
    description: String,
    license: Option<String>,
    compatibility: Option<String>,
    metadata: Option<BTreeMap<String, Value>>,
    #[serde(rename = "allowed-tools", alias = "allowed_tools")]
    allowed_tools: Option<StringOrList>,
    version: Option<String>,
    display_name: Option<String>,
    tools_required: Option<StringOrList>,
    parameters: Option<Vec<Parameter>>,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a list of tools must be names separated by blanks, or a list of names"
)]
enum StringOrList {
    Text(String),
    List(Vec<String>),
}

impl StringOrList {
    /// Returns the names. White space and commas inside brackets belong to the name, as in
    /// `Bash(git add:*)`.
    fn names(self) -> Vec<String> {
        let text = match self {
            Self::List(names) => return names,
            Self::Text(text) => text,
        };
        let mut depth = 0_usize;
        let apart = |c: char| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && (c.is_whitespace() || c == ',')
        };
        text.split(apart).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }
}

/// Reads `SKILL.md` of a folder. `files` stays empty.
///
/// # Errors
/// All problems, as sentence fragments.
pub(super) fn read(folder: &Path, place: &Location) -> Result<SkillBody, Vec<String>> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let text = bounded_file::read(folder, &folder.join(FILE)).map_err(|fault| vec![fault])?;
    parse(&name.unwrap_or_default(), &text, place.clone())
}

/// Parses the text of a `SKILL.md` from a folder of this name.
///
/// # Errors
/// All problems, as sentence fragments.
pub(super) fn parse(folder: &str, text: &str, place: Location) -> Result<SkillBody, Vec<String>> {
    let one = |fault: String| vec![fault];
    let (yaml, body) = front_matter::split(text).map_err(one)?;
    let slips = unknown_keys(yaml).map_err(one)?.into_iter().filter_map(|key| key.slip);
    let mut faults: Vec<String> = slips.collect();
    let raw: RawSkill = match front_matter::yaml(yaml) {
        Ok(raw) => raw,
        Err(fault) => {
            faults.push(fault);
            return Err(faults);
        }
    };
    faults.extend(check_raw(&raw, folder));
    if body.is_empty() {
        faults
            .push("the instructions are missing: the text behind the front matter is empty".into());
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let skill = from_raw(raw, place);
    Ok(SkillBody { skill, instructions: body.to_owned(), files: Vec::new() })
}

fn check_raw(raw: &RawSkill, folder: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if let Err(fault) = name_rules::check(&raw.name) {
        faults.push(fault);
    } else if raw.name != folder {
        let folder = quote_name(folder);
        faults.push(format!("name \"{}\" is not the folder's name, \"{folder}\"", raw.name));
    }
    let length = raw.description.trim().chars().count();
    if length == 0 {
        faults.push("description is empty".to_owned());
    } else if length > MAX_DESCRIPTION {
        let most = "at most 1024 are allowed";
        faults.push(format!("description has {length} characters; {most}"));
    }
    let length = raw.compatibility.as_ref().map_or(0, |text| text.chars().count());
    if length > MAX_COMPATIBILITY {
        faults.push(format!("compatibility has {length} characters; at most 500 are allowed"));
    }
    faults
}

fn from_raw(raw: RawSkill, place: Location) -> Skill {
    let metadata = raw.metadata.unwrap_or_default();
    let stated = metadata.get("version").map(|version| match version {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let version = raw.version.or(stated).filter(|version| !version.trim().is_empty());
    Skill {
        name: raw.name,
        display_name: raw.display_name,
        description: raw.description.trim().to_owned(),
        version: version.unwrap_or_else(|| DEFAULT_VERSION.to_owned()),
        license: raw.license,
        compatibility: raw.compatibility,
        metadata,
        allowed_tools: map_foreign_tools(raw.allowed_tools),
        tools_required: map_foreign_tools(raw.tools_required),
        parameters: raw.parameters.unwrap_or_default(),
        location: place,
    }
}

/// Replaces other programs' tool names by Toolcrib's.
fn map_foreign_tools(words: Option<StringOrList>) -> Vec<String> {
    let mut tools: Vec<String> = Vec::new();
    for written in words.map(StringOrList::names).unwrap_or_default() {
        let name = written.split('(').next().unwrap_or_default().trim();
        let known = FOREIGN_TOOLS.iter().find(|(foreign, _)| *foreign == name);
        let names = match (known, name.strip_prefix("mcp__")) {
            (Some((_, ours)), _) => ours.iter().map(|tool| (*tool).to_owned()).collect(),
            (None, Some(remote)) if remote.contains("__") => vec![remote.to_owned()],
            (None, Some(server)) => vec![format!("server:{server}")],
            (None, None) => vec![name.to_owned()],
        };
        for name in names {
            if !name.is_empty() && !tools.contains(&name) {
                tools.push(name);
            }
        }
    }
    tools
}

/// An unknown key.
pub(super) struct UnknownKey {
    /// The key.
    pub(super) key: String,
    /// The problem, if the key looks like a typing error: a misspelled `allowed-tools` would remove
    /// a limit, so the skill is not loaded. Other unknown keys are extensions of other programs and
    /// harmless.
    pub(super) slip: Option<String>,
}

/// Returns the unknown keys of a front matter.
///
/// # Errors
/// The reason why it is not a YAML mapping, as a sentence fragment.
pub(super) fn unknown_keys(yaml: &str) -> Result<Vec<UnknownKey>, String> {
    let keys: BTreeMap<String, IgnoredAny> = front_matter::yaml(yaml)?;
    let unknown = keys.into_keys().filter(|key| !KEYS.contains(&key.as_str()));
    let described = unknown.map(|key| {
        let near = likely_typos(&key, KEYS.into_iter());
        let slip = (!near.is_empty())
            .then(|| format!("unknown key \"{}\"{}", quote_name(&key), did_you_mean(&near)));
        UnknownKey { key, slip }
    });
    Ok(described.collect())
}

#[cfg(test)]
mod tests;
