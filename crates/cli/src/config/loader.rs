//! Finds and reads the files, and reports faults in words for people. A report never contains a
//! value of a file, which may be a key.
#![deny(clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use crate::config::environment::Env;
use crate::config::file_paths::folder_of;
use crate::config::layer::Layer;
use crate::config::layer_source::{Source, line_location};
use crate::config::layered_config::LayeredConfig;
use crate::config::plain_message::plain_message;
use crate::config::{Config, env_layer, project_trust};
use crate::output::Failure;

/// Maximum size of a file in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The file of the operator of the machine.
const MANAGED: &str = "/etc/toolcrib/config.toml";

/// Reads the configuration of all layers. A missing file counts as empty, unless a variable names
/// it. Without a workspace, there is no project layer.
///
/// # Errors
/// Exit code 3, with file and line; no value is used in that case.
pub(crate) fn load(env: &Env, workspace: Option<&Path>) -> Result<Config, Failure> {
    let places = ConfigPaths::locate(env, workspace);
    let is_named = env.path("TOOLCRIB_CONFIG").is_some();
    let load_user = |path: &PathBuf| load_layer(Layer::User, path, is_named);
    let source = places.user.as_ref().map(load_user).transpose()?.flatten();
    merge(env, workspace, &places, source.as_ref())
}

/// Reads the configuration as if the person's file had this text, without a project layer.
///
/// # Errors
/// The errors of [`load`].
pub(crate) fn load_draft(env: &Env, path: &Path, text: &str) -> Result<Config, Failure> {
    let source = parse_source(Layer::User, path, text)?;
    merge(env, None, &ConfigPaths::locate(env, None), Some(&source))
}

/// Merges the layers.
fn merge(
    env: &Env,
    workspace: Option<&Path>,
    places: &ConfigPaths,
    user_source: Option<&Source>,
) -> Result<Config, Failure> {
    let mut layered = LayeredConfig::default();
    let managed = places.managed(env)?;
    managed.iter().for_each(|source| layered.apply(source));
    if let Some(source) = user_source {
        layered.apply(source);
    }
    let user = places.user.clone().unwrap_or_default();
    let mut remarks = Vec::new();
    if let (Some(path), Some(workspace)) = (&places.project, workspace)
        && let Some(source) = load_layer(Layer::Project, path, false)?
    {
        // The layers below the workspace determine whether it is trusted.
        let own = layered.clone().finish(user.clone())?;
        let source = source.resolve_paths(folder_of(path), env);
        if own.is_trusted_workspace(workspace, env) {
            project_trust::check_trusted(&source, &own)?;
            layered.apply(&source);
        } else {
            remarks.extend(project_trust::apply_untrusted(source, &mut layered, workspace));
        }
    }
    layered.apply(&env_layer::env_layer(env)?);
    managed.iter().for_each(|source| layered.pin(source));
    let mut config = layered.finish(user)?;
    config.remarks = remarks;
    Ok(config)
}

/// The paths of the files, whether they exist or not.
#[derive(Debug)]
pub(crate) struct ConfigPaths {
    /// Files of the operator of the machine, the one with the highest precedence first.
    pub(crate) managed: Vec<PathBuf>,
    /// The person's own file: `TOOLCRIB_CONFIG`, else in `TOOLCRIB_HOME`, else in the configuration
    /// folder of the XDG convention.
    pub(crate) user: Option<PathBuf>,
    /// The file of the workspace.
    pub(crate) project: Option<PathBuf>,
}

impl ConfigPaths {
    pub(crate) fn locate(env: &Env, workspace: Option<&Path>) -> Self {
        let managed =
            [PathBuf::from(MANAGED)].into_iter().chain(env.path("TOOLCRIB_MANAGED_CONFIG"));
        let user = env.path("TOOLCRIB_CONFIG").or_else(|| default_path(env));
        let project = workspace.map(project_file);
        // The workspace may be the folder of the person's own file.
        let same = |path: &PathBuf| {
            let own = user.as_ref().and_then(|own| own.canonicalize().ok());
            own.is_some_and(|own| path.canonicalize().is_ok_and(|path| path == own))
        };
        let project = project.filter(|path| !same(path));
        Self { managed: managed.collect(), user, project }
    }

    /// Returns the path of the person's own file for writing.
    ///
    /// # Errors
    /// Exit code 3 if there is no home folder.
    pub(crate) fn user_file(env: &Env) -> Result<PathBuf, Failure> {
        Self::locate(env, None).user.ok_or_else(|| {
            Failure::configuration("there is no home folder; set TOOLCRIB_HOME to a folder")
        })
    }

    fn managed(&self, env: &Env) -> Result<Vec<Source>, Failure> {
        let mut sources = Vec::new();
        for path in &self.managed {
            let is_named = env.path("TOOLCRIB_MANAGED_CONFIG").is_some_and(|named| named == *path);
            if let Some(source) = load_layer(Layer::Managed, path, is_named)? {
                sources.push(source.resolve_paths(folder_of(path), env));
            }
        }
        Ok(sources)
    }
}

/// Returns the path of a workspace's file.
pub(crate) fn project_file(workspace: &Path) -> PathBuf {
    workspace.join(crate::folders::PROJECT_FOLDER).join("config.toml")
}

/// Returns the default path of the person's file: in `$TOOLCRIB_HOME`, else in the configuration
/// folder of the XDG convention.
fn default_path(env: &Env) -> Option<PathBuf> {
    if let Some(home) = env.path("TOOLCRIB_HOME") {
        return Some(home.join("config.toml"));
    }
    let strategy = etcetera::base_strategy::choose_base_strategy().ok()?;
    Some(strategy.config_dir().join("toolcrib").join("config.toml"))
}

/// Reads one file; returns `None` if it does not exist, which is an error for an explicitly named
/// file.
pub(super) fn load_layer(
    layer: Layer,
    path: &Path,
    named: bool,
) -> Result<Option<Source>, Failure> {
    match read_file(path) {
        Ok(text) => parse_source(layer, path, &text).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !named => Ok(None),
        // A path below a file counts as missing.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory && !named => Ok(None),
        Err(error) => {
            let what = format!("the configuration {} cannot be read: {error}", path.display());
            Err(Failure::configuration(what))
        }
    }
}

/// Reads the text of a person's file; refuses anything other than a regular file within the size
/// limit.
pub(crate) fn read_file(path: &Path) -> io::Result<String> {
    // Checked before opening: opening a pipe would block.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = File::open(path)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// Parses the text of a file, in which every single key and value must be valid.
fn parse_source(layer: Layer, path: &Path, text: &str) -> Result<Source, Failure> {
    let wrong = |error: &toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let place = line_location(path, text, start);
        Failure::configuration(format!("{place}: {}", plain_message(error.message())))
    };
    let parsed = toml::Deserializer::parse(text).map_err(|error| wrong(&error))?;
    serde_path_to_error::deserialize::<_, Config>(parsed).map_err(|error| {
        let Failure { code, message } = wrong(error.inner());
        Failure { code, message: in_key(message, &error.path().to_string()) }
    })?;
    Source::from_text(layer, path, text).map_err(|error| wrong(&error))
}

/// Adds the key to the message about a value of the wrong type: the line may contain several. Other
/// messages name the fault themselves.
fn in_key(message: String, key: &str) -> String {
    match message.split_once(": expected ") {
        Some((place, what)) => format!("{place}: `{key}`: expected {what}"),
        None => message,
    }
}

/// Parses the text of a person's file as the only layer.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Config, Failure> {
    let mut layered = LayeredConfig::default();
    layered.apply(&parse_source(Layer::User, path, text)?);
    layered.finish(path.to_owned())
}

/// Parses the values and hooks of one file as the only layer.
pub(crate) fn parse_layer(path: &Path, text: &str) -> Result<LayeredConfig, Failure> {
    let mut layered = LayeredConfig::default();
    layered.apply(&parse_source(Layer::Project, path, text)?);
    Ok(layered)
}

/// Checks every single key and value of a file.
pub(super) fn parse_alone(path: &Path, text: &str) -> Result<(), Failure> {
    parse_source(Layer::User, path, text).map(|_| ())
}

/// Checks the text of a workspace's file, as a trusted one, together with the person's
/// configuration.
pub(crate) fn parse_project(path: &Path, text: &str, own: &Config) -> Result<(), Failure> {
    project_trust::check_trusted(&parse_source(Layer::Project, path, text)?, own)
}
