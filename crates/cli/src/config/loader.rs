//! The files, found and read, and what is wrong with them in words for people. No value of a file
//! is ever in them: it may be a key.
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

/// Largest file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The file of the operator of the machine.
const MANAGED: &str = "/etc/toolcrib/config.toml";

/// Reads the configuration of all layers. A file that is not there is an empty one, unless a
/// variable names it. Without a workspace there is no project.
///
/// # Errors
/// Exit code 3, with file and line; nothing is used then.
pub(crate) fn load(env: &Env, workspace: Option<&Path>) -> Result<Config, Failure> {
    let places = ConfigPaths::locate(env, workspace);
    let is_named = env.path("TOOLCRIB_CONFIG").is_some();
    let load_user = |path: &PathBuf| load_layer(Layer::User, path, is_named);
    let source = places.user.as_ref().map(load_user).transpose()?.flatten();
    merge(env, workspace, &places, source.as_ref())
}

/// Reads the configuration as it will be with this text in the person's file, without a project.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_draft(env: &Env, path: &Path, text: &str) -> Result<Config, Failure> {
    let source = parse_source(Layer::User, path, text)?;
    merge(env, None, &ConfigPaths::locate(env, None), Some(&source))
}

/// Puts the layers over each other.
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
        // Whether it is trusted is for the layers below it to say.
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

/// Where the files are looked for, whether they are there or not.
#[derive(Debug)]
pub(crate) struct ConfigPaths {
    /// Of the operator of the machine, the weightiest first.
    pub(crate) managed: Vec<PathBuf>,
    /// The person's own: `TOOLCRIB_CONFIG`, else in `TOOLCRIB_HOME`, else in the configuration
    /// folder of the XDG convention.
    pub(crate) user: Option<PathBuf>,
    /// Of the workspace.
    pub(crate) project: Option<PathBuf>,
}

impl ConfigPaths {
    pub(crate) fn locate(env: &Env, workspace: Option<&Path>) -> Self {
        let managed =
            [PathBuf::from(MANAGED)].into_iter().chain(env.path("TOOLCRIB_MANAGED_CONFIG"));
        let user = env.path("TOOLCRIB_CONFIG").or_else(|| default_path(env));
        let project = workspace.map(project_file);
        // A workspace may be the folder that the person's own file is in.
        let same = |path: &PathBuf| {
            let own = user.as_ref().and_then(|own| own.canonicalize().ok());
            own.is_some_and(|own| path.canonicalize().is_ok_and(|path| path == own))
        };
        let project = project.filter(|path| !same(path));
        Self { managed: managed.collect(), user, project }
    }

    /// The person's own file, to be written.
    ///
    /// # Errors
    /// Exit code 3 where there is no home folder.
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

/// The file of a workspace.
pub(crate) fn project_file(workspace: &Path) -> PathBuf {
    workspace.join(crate::folders::PROJECT_FOLDER).join("config.toml")
}

/// Where the person's file is looked for: `$TOOLCRIB_HOME`, else the configuration folder of the
/// XDG convention.
fn default_path(env: &Env) -> Option<PathBuf> {
    if let Some(home) = env.path("TOOLCRIB_HOME") {
        return Some(home.join("config.toml"));
    }
    let strategy = etcetera::base_strategy::choose_base_strategy().ok()?;
    Some(strategy.config_dir().join("toolcrib").join("config.toml"))
}

/// Reads one file; `None` = it is not there, which is an error for one that was named.
pub(super) fn load_layer(
    layer: Layer,
    path: &Path,
    named: bool,
) -> Result<Option<Source>, Failure> {
    match read_file(path) {
        Ok(text) => parse_source(layer, path, &text).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !named => Ok(None),
        // A path through a file is one that is not there.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory && !named => Ok(None),
        Err(error) => {
            let what = format!("the configuration {} cannot be read: {error}", path.display());
            Err(Failure::configuration(what))
        }
    }
}

/// The text of a file of a person; anything but a plain file of a sensible size is refused.
pub(crate) fn read_file(path: &Path) -> io::Result<String> {
    // Looked at before it is opened: a pipe would be waited for.
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

/// Reads the text of a file, of which every key and value has to be right by itself.
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

/// The message of a value of the wrong type, with its key: the line may hold several. Other
/// messages name what is wrong themselves.
fn in_key(message: String, key: &str) -> String {
    match message.split_once(": expected ") {
        Some((place, what)) => format!("{place}: `{key}`: expected {what}"),
        None => message,
    }
}

/// Reads the text of a person's file as if there were no other.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Config, Failure> {
    let mut layered = LayeredConfig::default();
    layered.apply(&parse_source(Layer::User, path, text)?);
    layered.finish(path.to_owned())
}

/// The values and hooks of one file, with nothing under or over them.
pub(crate) fn parse_layer(path: &Path, text: &str) -> Result<LayeredConfig, Failure> {
    let mut layered = LayeredConfig::default();
    layered.apply(&parse_source(Layer::Project, path, text)?);
    Ok(layered)
}

/// Whether every key and value of a file is right by itself.
pub(super) fn parse_alone(path: &Path, text: &str) -> Result<(), Failure> {
    parse_source(Layer::User, path, text).map(|_| ())
}

/// Reads the text of a workspace's file, as one that is trusted, over what the person has.
pub(crate) fn parse_project(path: &Path, text: &str, own: &Config) -> Result<(), Failure> {
    project_trust::check_trusted(&parse_source(Layer::Project, path, text)?, own)
}
