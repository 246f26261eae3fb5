//! Tools from a folder: `DIR/NAME/tool.toml` beside a program in any language.
//!
//! The program runs in its own folder. It reads its arguments as JSON on standard input and answers on standard output ([`answer`] has
//! the forms); what it writes to standard error is shown only when it fails. Its environment is `PATH`, `TOOLCRIB_CONTEXT` and the
//! configured values under their own names, nothing else. It runs in a process group of its own, within bounds, and is not isolated:
//! [`LEVEL`] is what the person who approves a call reads.
//!
//! Invariants
//! - A folder that is no good tool is an entry with the reason ([`Entry::broken`]); it fails neither the others nor the source.
//! - What a definition does not say is the strictest: high risk, side effects, sends to the outside, words from outside.
//! - What runs is part of the definition ([`ToolSpec::runs`]): another program is another tool, and one that is changed after it was
//!   loaded is not run.
//! - The same reading serves the registry ([`FolderSource`]), the person who asks what is wrong ([`check`]) and the example
//!   ([`scaffold`]), so they never disagree.
//!
//! Folders whose names begin with `_` or `.` are passed over, and so are plain files: shared code and notes have a place.

mod answer;
mod command;
mod fingerprint;
mod keys;
mod manifest;
mod parameters;
mod runs;
mod scaffold;
mod threads;
mod tool;

pub use fingerprint::fingerprint;
pub use manifest::{MANIFEST, MANIFEST_BYTES};
pub use scaffold::{ScaffoldError, scaffold};
pub use tool::{CONTEXT, LEVEL};

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::{
    BoxFuture, Effect, Entry, Handler as _, Risk, Source, ToolError, ToolName, ToolSpec,
    remote_name,
};

use fingerprint::Commands;
use manifest::Manifest;
use threads::side_by_side;
use tool::{Configured, FolderTool};

/// Configuration values: by tool, by key.
pub type Config = HashMap<String, HashMap<String, String>>;

/// Why a folder is no good tool: a lowercase fragment for the person who writes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(String);

impl Fault {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// The same, saying where.
    fn at(self, place: impl std::fmt::Display) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

/// One folder, as it was read.
#[derive(Debug, Clone)]
pub struct Report {
    /// Name of the folder.
    pub folder: String,
    /// Name of the tool; for a broken one, the name that its row has.
    pub name: ToolName,
    /// The definition, or what is wrong.
    pub spec: Result<Arc<ToolSpec>, Fault>,
}

/// A folder of tools as a source.
#[derive(Debug, Clone)]
pub struct FolderSource {
    id: String,
    dir: PathBuf,
    config: Config,
    locale: Option<Arc<str>>,
    of_anybody: bool,
    commands: Commands,
}

/// One folder with its tool.
struct Found {
    folder: String,
    name: ToolName,
    tool: Result<Arc<FolderTool>, Fault>,
}

impl FolderSource {
    /// The tools in this folder. A folder that does not exist has none.
    pub fn new(id: impl Into<String>, dir: impl AsRef<Path>) -> Self {
        // Tools keep their folder even if this process moves to another.
        let dir = std::path::absolute(&dir).unwrap_or_else(|_| dir.as_ref().to_owned());
        Self {
            id: id.into(),
            dir,
            config: Config::new(),
            locale: None,
            of_anybody: false,
            commands: Commands::default(),
        }
    }

    /// The same with these configuration values; a tool gets those of the keys that it declares. Tools [of
    /// anybody](Self::of_anybody) get none.
    #[must_use]
    pub fn with_config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The same telling tools the person's locale, such as `de-AT`.
    #[must_use]
    pub fn with_locale(mut self, locale: impl Into<Arc<str>>) -> Self {
        self.locale = Some(locale.into());
        self
    }

    /// The same of a folder that anybody may have written, such as one in a workspace that came from elsewhere. Whatever its tools say of
    /// themselves, they are of critical risk, have side effects, send to the outside, run programs, belong to no group and get no
    /// configured value: a name is all that it would take to ask for those of another tool.
    #[must_use]
    pub fn of_anybody(mut self) -> Self {
        self.of_anybody = true;
        self
    }

    /// A number that changes when [`Source::load`] may give something else, see [`fingerprint`].
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.commands.fingerprint(&self.dir)
    }

    /// Every folder in the order of their names, with what it gives. The first folder that declares a name has it.
    fn read(&self) -> Vec<Found> {
        let folders = match folders(&self.dir) {
            Ok(folders) => folders,
            Err(fault) => {
                let folder = display_name(&self.dir);
                let name = remote_name(&self.id, &folder);
                return vec![Found { folder, name, tool: Err(fault) }];
            }
        };
        let mut owners: BTreeMap<ToolName, String> = BTreeMap::new();
        let mut tools = Vec::new();
        let read = |path: &PathBuf| {
            let folder = display_name(path);
            let tool = self.tool(path, &folder);
            (folder, tool)
        };
        for (folder, tool) in side_by_side(&folders, read) {
            let tool = tool.and_then(|tool| {
                let name = tool.spec().name.clone();
                if let Some(other) = owners.get(&name) {
                    return Err(Fault::new(format!(
                        "folder {other:?} already has the tool {name}"
                    )));
                }
                owners.insert(name, folder.clone());
                Ok(Arc::new(tool))
            });
            tools.push((folder, tool));
        }
        // The good ones have their names by now; the rows of the others get what is left.
        let named = |(folder, tool): (String, Result<Arc<FolderTool>, Fault>)| {
            let own = match &tool {
                Ok(tool) => Some(tool.spec().name.clone()),
                Err(_) => ToolName::local(&folder).ok().filter(|name| !owners.contains_key(name)),
            };
            let name = own.unwrap_or_else(|| remote_name(&self.id, &folder));
            Found { folder, name, tool }
        };
        tools.into_iter().map(named).collect()
    }

    fn tool(&self, folder: &Path, short: &str) -> Result<FolderTool, Fault> {
        let mut manifest = Manifest::read(folder, short)?;
        let configured = if self.of_anybody {
            distrust(&mut manifest.spec);
            Configured::Withheld
        } else {
            Configured::Of(self.config.get(manifest.spec.name.as_str()))
        };
        FolderTool::new(manifest, folder, configured, self.locale.clone())
    }
}

impl Source for FolderSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn is_remote(&self) -> bool {
        // Its definitions are somebody's file, not our code: they never lower a risk and are never innate.
        true
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, ToolError>> {
        let entry = |found: Found| match found.tool {
            Ok(tool) => Entry::Local(tool),
            Err(fault) => Entry::broken(found.name, fault.0),
        };
        let entries = self.read().into_iter().map(entry).collect();
        Box::pin(std::future::ready(Ok(entries)))
    }
}

/// The worst is assumed of a program that nobody vouches for. Its group is its own claim too: it would join those of ours by it.
fn distrust(spec: &mut ToolSpec) {
    spec.risk = Risk::Critical;
    spec.effect = spec.effect.max(Effect::SideEffect);
    spec.reach.outbound = true;
    spec.reach.exec = true;
    spec.group = None;
}

/// What every folder in `dir` gives, in the order in which it is loaded. Whether a parameter schema is valid throughout is checked
/// where the tool is registered.
#[must_use]
pub fn check(dir: &Path) -> Vec<Report> {
    let report = |Found { folder, name, tool }: Found| {
        let spec = tool.map(|tool| Arc::clone(tool.spec()));
        Report { folder, name, spec }
    };
    FolderSource::new("folder", dir).read().into_iter().map(report).collect()
}

/// The folders that should be tools, sorted by name.
fn folders(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let unreadable =
        |error: std::io::Error| Fault::new(format!("the folder of tools cannot be read: {error}"));
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        // A link to a folder is a tool too.
        if !is_passed_over(&entry.file_name()) && entry.path().is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    Ok(folders)
}

fn is_passed_over(name: &std::ffi::OsStr) -> bool {
    matches!(name.as_encoded_bytes().first(), Some(b'_' | b'.'))
}

fn display_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
