//! A folder of tools as a registry source.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::{
    BoxFuture, Effect, Entry, Handler as _, Risk, Source, Tier, ToolError, ToolName, ToolSpec,
    remote_name,
};

use super::definition_error::DefinitionError;
use super::fingerprint::CommandCache;
use super::manifest::Manifest;
use super::parallel::parallel_map;
use super::tool::{ExternalTool, ToolConfig};
use super::tool_folders::{display_name, folders};

/// Configuration values: by tool, by key.
pub type Config = HashMap<String, HashMap<String, String>>;

/// The result of checking one folder.
#[derive(Debug, Clone)]
pub struct ToolCheck {
    /// Name of the folder.
    pub folder: String,
    /// Name of the tool; for a broken one, the name of its entry.
    pub name: ToolName,
    /// The definition, or its error.
    pub spec: Result<Arc<ToolSpec>, DefinitionError>,
}

/// A folder of tools as a registry source.
#[derive(Debug, Clone)]
pub struct ExternalToolSource {
    id: String,
    dir: PathBuf,
    config: Config,
    locale: Option<Arc<str>>,
    is_untrusted: bool,
    commands: CommandCache,
}

/// One folder with its tool.
struct LoadedTool {
    folder: String,
    name: ToolName,
    tool: Result<Arc<ExternalTool>, DefinitionError>,
}

impl ExternalToolSource {
    /// Creates a source of the tools in this folder. A folder that does not exist has none.
    pub fn new(id: impl Into<String>, dir: impl AsRef<Path>) -> Self {
        // Absolute, so that the tools survive a change of the working directory.
        let dir = std::path::absolute(&dir).unwrap_or_else(|_| dir.as_ref().to_owned());
        Self {
            id: id.into(),
            dir,
            config: Config::new(),
            locale: None,
            is_untrusted: false,
            commands: CommandCache::default(),
        }
    }

    /// Sets configuration values. A tool gets only the values of keys that it declares; tools of an
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

    /// Marks the folder as untrusted, such as one in a workspace from elsewhere. Regardless of
    /// their definitions, its tools then have critical risk, side effects, send data out, run
    /// programs and belong to no group. They get no configured values: a tool could otherwise
    /// obtain those of another tool by taking its name.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.is_untrusted = true;
        self
    }

    /// Returns a number that changes when [`Source::load`] may return a different result; see
    /// [`fingerprint()`](super::fingerprint()).
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
        // Valid tools take their names first; entries of broken ones use the remaining names.
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
        let configured = if self.is_untrusted {
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
        // Definitions come from files of users: they must not lower a risk or be innate.
        true
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, ToolError>> {
        let entry = |found: LoadedTool| match found.tool {
            Ok(tool) => Entry::Local(tool),
            Err(fault) => Entry::broken(found.name, fault.to_string()),
        };
        let entries = self.read().into_iter().map(entry).collect();
        Box::pin(std::future::ready(Ok(entries)))
    }
}

/// Sets the worst case for an untrusted program. It also drops the group, which could name a
/// built-in one.
fn assume_worst(spec: &mut ToolSpec) {
    spec.risk = Risk::Critical;
    spec.tier = Tier::Interface;
    spec.effect = spec.effect.max(Effect::SideEffect);
    spec.reach.outbound = true;
    spec.reach.exec = true;
    spec.group = None;
}

/// Checks every folder in `dir`, in loading order. The registry validates the complete parameter
/// schemas when it registers a tool.
#[must_use]
pub fn check_folder(dir: &Path) -> Vec<ToolCheck> {
    let report = |LoadedTool { folder, name, tool }: LoadedTool| {
        let spec = tool.map(|tool| Arc::clone(tool.spec()));
        ToolCheck { folder, name, spec }
    };
    ExternalToolSource::new("folder", dir).read().into_iter().map(report).collect()
}
