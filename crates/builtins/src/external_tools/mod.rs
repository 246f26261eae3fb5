//! External tools: tools from a folder, `DIR/NAME/tool.toml` beside a program in any language.
//!
//! The program runs in its own folder. It reads its arguments as JSON on standard input and writes
//! its result to standard output in one of the forms described in `parse_output`; its standard
//! error is shown only when it fails. Its environment is `PATH`, `TOOLCRIB_CONTEXT` and the
//! configured values under their own names, nothing else. It runs in its own process group, within
//! limits, but without isolation: [`LEVEL`] is the sandbox level that an approval request shows.
//!
//! Invariants
//! - A folder with an invalid tool becomes an entry with the reason ([`Entry::broken`]); the other
//!   tools and the source still load.
//! - Properties that a definition leaves out get the strictest value: high risk, side effects,
//!   sends data out, untrusted output.
//! - The program is part of the definition ([`ToolSpec::runs`]): a different program is a different
//!   tool, and a program that changed after loading is not run.
//! - The registry ([`ExternalToolSource`]), the check command ([`check_folder`]) and the example
//!   ([`scaffold()`]) use the same parser, so they cannot disagree.
//!
//! Folders whose names begin with `_` or `.` are skipped, as are plain files: they are for shared
//! code and notes.

mod fingerprint;
mod manifest;
mod parallel;
mod parameters;
mod parse_output;
mod program_digest;
mod resolve_command;
mod scaffold;
mod toml_keys;
mod tool;

pub use fingerprint::fingerprint;
pub use manifest::{MANIFEST, MANIFEST_BYTES};
pub use scaffold::{ScaffoldError, scaffold};
pub use tool::{CONTEXT, LEVEL};

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::{
    BoxFuture, Effect, Entry, Handler as _, Risk, Source, Tier, ToolError, ToolName, ToolSpec,
    remote_name,
};

use fingerprint::CommandCache;
use manifest::Manifest;
use parallel::parallel_map;
use tool::{ExternalTool, ToolConfig};

/// Configuration values: by tool, by key.
pub type Config = HashMap<String, HashMap<String, String>>;

/// Why a folder is not a valid tool: a lowercase fragment for the author of the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DefinitionError(String);

impl DefinitionError {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// Adds the place of the error.
    fn at(self, place: impl std::fmt::Display) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

/// The result of checking one folder.
#[derive(Debug, Clone)]
pub struct ToolCheck {
    /// Name of the folder.
    pub folder: String,
    /// Name of the tool; for a broken one, the name of its entry.
    pub name: ToolName,
    /// The definition, or what is wrong.
    pub spec: Result<Arc<ToolSpec>, DefinitionError>,
}

/// A folder of tools as a registry source.
#[derive(Debug, Clone)]
pub struct ExternalToolSource {
    id: String,
    dir: PathBuf,
    config: Config,
    locale: Option<Arc<str>>,
    of_anybody: bool,
    commands: CommandCache,
}

/// One folder with its tool.
struct LoadedTool {
    folder: String,
    name: ToolName,
    tool: Result<Arc<ExternalTool>, DefinitionError>,
}

impl ExternalToolSource {
    /// The tools in this folder. A folder that does not exist has none.
    pub fn new(id: impl Into<String>, dir: impl AsRef<Path>) -> Self {
        // Absolute, so that the tools survive a change of the working directory.
        let dir = std::path::absolute(&dir).unwrap_or_else(|_| dir.as_ref().to_owned());
        Self {
            id: id.into(),
            dir,
            config: Config::new(),
            locale: None,
            of_anybody: false,
            commands: CommandCache::default(),
        }
    }

    /// Sets configuration values; a tool gets those of the keys that it declares. Tools of an
    /// [untrusted](Self::untrusted) folder get none.
    #[must_use]
    pub fn with_config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the locale in the tools' context, such as `de-AT`.
    #[must_use]
    pub fn with_locale(mut self, locale: impl Into<Arc<str>>) -> Self {
        self.locale = Some(locale.into());
        self
    }

    /// Marks the folder as untrusted, such as one in a workspace from elsewhere. Its tools then
    /// have critical risk, side effects, send data out, run programs and belong to no group,
    /// whatever they declare. They get no configured values: a tool could otherwise obtain those of
    /// another tool by taking its name.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.of_anybody = true;
        self
    }

    /// A number that changes when [`Source::load`] may return something else, see
    /// [`fingerprint()`].
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.commands.fingerprint(&self.dir)
    }

    /// Reads every folder in name order. If two folders declare the same tool name, the first one
    /// gets it.
    fn read(&self) -> Vec<LoadedTool> {
        let folders = match folders(&self.dir) {
            Ok(folders) => folders,
            Err(fault) => {
                let folder = display_name(&self.dir);
                let name = remote_name(&self.id, &folder);
                return vec![LoadedTool { folder, name, tool: Err(fault) }];
            }
        };
        let mut owners: BTreeMap<ToolName, String> = BTreeMap::new();
        let mut tools = Vec::new();
        let read = |path: &PathBuf| {
            let folder = display_name(path);
            let tool = self.tool(path, &folder);
            (folder, tool)
        };
        for (folder, tool) in parallel_map(&folders, read) {
            let tool = tool.and_then(|tool| {
                let name = tool.spec().name.clone();
                if let Some(other) = owners.get(&name) {
                    return Err(DefinitionError::new(format!(
                        "folder {other:?} already has the tool {name}"
                    )));
                }
                owners.insert(name, folder.clone());
                Ok(Arc::new(tool))
            });
            tools.push((folder, tool));
        }
        // Valid tools take their names first; entries of broken ones use the names that are left.
        let named = |(folder, tool): (String, Result<Arc<ExternalTool>, DefinitionError>)| {
            let own = match &tool {
                Ok(tool) => Some(tool.spec().name.clone()),
                Err(_) => ToolName::local(&folder).ok().filter(|name| !owners.contains_key(name)),
            };
            let name = own.unwrap_or_else(|| remote_name(&self.id, &folder));
            LoadedTool { folder, name, tool }
        };
        tools.into_iter().map(named).collect()
    }

    fn tool(&self, folder: &Path, short: &str) -> Result<ExternalTool, DefinitionError> {
        let mut manifest = Manifest::read(folder, short)?;
        let configured = if self.of_anybody {
            assume_worst(&mut manifest.spec);
            ToolConfig::Withheld
        } else {
            ToolConfig::Of(self.config.get(manifest.spec.name.as_str()))
        };
        ExternalTool::new(manifest, folder, configured, self.locale.clone())
    }
}

impl Source for ExternalToolSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn is_remote(&self) -> bool {
        // Definitions come from files, not from our code: they must not lower a risk or be innate.
        true
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, ToolError>> {
        let entry = |found: LoadedTool| match found.tool {
            Ok(tool) => Entry::Local(tool),
            Err(fault) => Entry::broken(found.name, fault.0),
        };
        let entries = self.read().into_iter().map(entry).collect();
        Box::pin(std::future::ready(Ok(entries)))
    }
}

/// Sets the worst case for an untrusted program. The group is dropped too, since it could claim a
/// built-in one.
fn assume_worst(spec: &mut ToolSpec) {
    spec.risk = Risk::Critical;
    spec.tier = Tier::Interface;
    spec.effect = spec.effect.max(Effect::SideEffect);
    spec.reach.outbound = true;
    spec.reach.exec = true;
    spec.group = None;
}

/// Checks every folder in `dir`, in loading order. The registry validates parameter schemas in full
/// when it registers the tool.
#[must_use]
pub fn check_folder(dir: &Path) -> Vec<ToolCheck> {
    let report = |LoadedTool { folder, name, tool }: LoadedTool| {
        let spec = tool.map(|tool| Arc::clone(tool.spec()));
        ToolCheck { folder, name, spec }
    };
    ExternalToolSource::new("folder", dir).read().into_iter().map(report).collect()
}

/// The folders that should contain tools, sorted by name.
fn folders(dir: &Path) -> Result<Vec<PathBuf>, DefinitionError> {
    let unreadable = |error: std::io::Error| {
        DefinitionError::new(format!("the folder of tools cannot be read: {error}"))
    };
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        // A symlink to a folder counts as a folder.
        if !is_skipped(&entry.file_name()) && entry.path().is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    Ok(folders)
}

fn is_skipped(name: &std::ffi::OsStr) -> bool {
    matches!(name.as_encoded_bytes().first(), Some(b'_' | b'.'))
}

fn display_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
