//! The interface between a daemon and the program around it, which supplies the configuration, and
//! the models and agents that the configuration names.

use std::path::PathBuf;

use toolcrib_agent::library::Agent;
use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_app::runner::{RunnerLimits, StartRequest};
use toolcrib_core::{Blob, BoxFuture, ConversationId, StoredRun, Surroundings};
use toolcrib_ops::OpError;
use toolcrib_ops::runs;
use toolcrib_ops::secrets::SecretConsumer;
use toolcrib_ops::settings::{Configuration, Reloaded, SettingRow};
use toolcrib_sandbox::userland::Userland;

/// A request to start a run.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// The message.
    pub text: String,
    /// Images of the message.
    pub images: Vec<Blob>,
    /// The conversation; `None` starts one.
    pub conversation: Option<ConversationId>,
    /// Name of the agent; `None` selects the configured one.
    pub agent: Option<String>,
    /// Model as `provider/model` or by its configured name; `None` selects the model of the agent,
    /// else the configured one.
    pub model: Option<String>,
    /// A skill that is active from the start.
    pub skill: Option<String>,
    /// Limits of the run.
    pub limits: RunnerLimits,
    /// Owner of the run.
    pub owner: String,
    /// Channel of the run, such as `chat` or `external-agent`.
    pub channel: String,
    /// Information from the client about the person who asks.
    pub surroundings: Surroundings,
    /// Length of the chain of goals and tasks that led to this run.
    pub depth: u32,
}

/// Where the MCP servers of a user are.
#[derive(Debug, Clone)]
pub struct McpServerFiles {
    /// The file of servers.
    pub servers: PathBuf,
    /// The folder of their skills: one folder for each server.
    pub skills: PathBuf,
}

/// Why the program around the daemon failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HostError {
    /// The request is not valid: an unknown agent, model or key. The text states what to do.
    #[error("{0}")]
    Invalid(String),
    /// The requested object does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The object was changed after it was read.
    #[error("{0}")]
    Stale(String),
    /// The host failed for reasons other than the request.
    #[error("{0}")]
    Failed(String),
}

/// The program around the daemon: `toolcrib serve`, or a program that embeds
/// [`Daemon`](crate::Daemon). Methods with a default implementation are optional features.
///
/// The text of a [`HostError`] reaches the client, so it must state what to do and contain no
/// secret.
///
/// ```
/// use std::path::PathBuf;
///
/// use toolcrib_agent::library::Agent;
/// use toolcrib_app::runner::StartRequest;
/// use toolcrib_core::{BoxFuture, StoredRun};
/// use toolcrib_server::{DaemonHost, HostError, Reloaded, RunRequest, SettingRow};
///
/// /// Serves tools only: it has no models, and its configuration is fixed.
/// struct ToolsOnly {
///     folder: PathBuf,
/// }
///
/// fn no_models() -> HostError {
///     HostError::Invalid("this daemon has no models; it only runs calls".to_owned())
/// }
///
/// impl DaemonHost for ToolsOnly {
///     fn prepare_run(&self, _: RunRequest) -> BoxFuture<'_, Result<StartRequest, HostError>> {
///         Box::pin(std::future::ready(Err(no_models())))
///     }
///
///     fn prepare_resume<'a>(
///         &'a self,
///         _: &'a StoredRun,
///     ) -> BoxFuture<'a, Result<StartRequest, HostError>> {
///         Box::pin(std::future::ready(Err(no_models())))
///     }
///
///     fn models(&self) -> Vec<String> {
///         Vec::new()
///     }
///
///     fn test_model<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), HostError>> {
///         Box::pin(std::future::ready(Err(no_models())))
///     }
///
///     fn default_agent(&self) -> Result<Agent, HostError> {
///         Err(no_models())
///     }
///
///     fn settings(&self) -> Result<Vec<SettingRow>, HostError> {
///         Ok(Vec::new())
///     }
///
///     fn set_setting(&self, key: &str, _: Option<&str>) -> Result<(), HostError> {
///         Err(HostError::Invalid(format!("{key} cannot be set: this daemon has no settings")))
///     }
///
///     fn reload(&self) -> BoxFuture<'_, Result<Reloaded, HostError>> {
///         Box::pin(std::future::ready(Ok(Reloaded::default())))
///     }
///
///     fn rules_file(&self) -> PathBuf {
///         self.folder.join("rules.toml")
///     }
///
///     fn agents_folder(&self) -> PathBuf {
///         self.folder.join("agents")
///     }
/// }
///
/// let host = ToolsOnly { folder: PathBuf::from("/etc/toolcrib") };
/// assert!(host.models().is_empty() && host.default_agent().is_err());
/// ```
pub trait DaemonHost: Send + Sync {
    /// Prepares a new run.
    ///
    /// # Errors
    /// [`HostError::Invalid`] for an unknown agent, model or skill.
    fn prepare_run(&self, request: RunRequest) -> BoxFuture<'_, Result<StartRequest, HostError>>;

    /// Prepares to resume a stored run, with the setup of its [`StartRequest`].
    fn prepare_resume<'a>(
        &'a self,
        run: &'a StoredRun,
    ) -> BoxFuture<'a, Result<StartRequest, HostError>>;

    /// Returns the number of the worker that drives a stored run (`CallStore::worker` reports
    /// whether it is alive); `None` if there is none. The daemon adds it to every setup.
    fn worker_of(&self, run: &StoredRun) -> Option<u64> {
        runs::worker_of(run)
    }

    /// Returns the configured models, as a [`RunRequest`] names them, the default first.
    fn models(&self) -> Vec<String>;

    /// Returns the name of the model that replays the tour, if no model is configured.
    fn tour(&self) -> Option<String> {
        None
    }

    /// Returns models that could be configured, each with the reason for the offer: models of
    /// providers whose key is in the environment, and of servers on this machine.
    fn found_models(&self) -> BoxFuture<'_, Result<Vec<(String, String)>, HostError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Sends this model one small request. [`HostError::Failed`] states why it does not answer.
    fn test_model<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<(), HostError>>;

    /// Returns the agent of a [`RunRequest`] that names none.
    fn default_agent(&self) -> Result<Agent, HostError>;

    /// Returns all keys of the configuration with their values.
    fn settings(&self) -> Result<Vec<SettingRow>, HostError>;

    /// Writes a key into the user's configuration file; `None` removes it. If the whole
    /// configuration would not be valid, the file stays unchanged.
    fn set_setting(&self, key: &str, value: Option<&str>) -> Result<(), HostError>;

    /// Creates a backup without keys, and returns its file, which is already unlinked. Blocks on
    /// disk I/O.
    fn backup(&self) -> Result<std::fs::File, HostError> {
        Err(HostError::Invalid("this daemon takes no backups; use `toolcrib backup`".to_owned()))
    }

    /// Reloads the configuration and applies it. An invalid configuration changes nothing; the
    /// error states the position.
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, HostError>>;

    /// Returns the names of secrets in the configuration, each with its consumer.
    fn secret_consumers(&self) -> Vec<(String, SecretConsumer)> {
        Vec::new()
    }

    /// The files of the user's MCP servers; `None` = this program keeps none.
    fn mcp_server_files(&self) -> Option<McpServerFiles> {
        None
    }

    /// Adds to a new MCP server the settings that its program needs to start in the sandbox.
    /// Returns a description of what the program gets, one line per item.
    fn prepare_mcp_server(&self, server: &mut ServerConfig) -> Vec<String> {
        let _ = server;
        Vec::new()
    }

    /// The Linux userland of the person; `None` = there is no place for one.
    fn userland(&self) -> Option<Userland> {
        None
    }

    /// The file that added rules are written to: the user's own.
    fn rules_file(&self) -> PathBuf;

    /// The folder that added agents are written to: the user's own.
    fn agents_folder(&self) -> PathBuf;
}

/// The configuration of a host, in the form that the operations use.
pub(crate) struct HostConfiguration<'a>(pub(crate) &'a dyn DaemonHost);

impl Configuration for HostConfiguration<'_> {
    fn settings(&self) -> Result<Vec<SettingRow>, OpError> {
        Ok(self.0.settings()?)
    }

    fn write(&self, key: &str, value: Option<&str>) -> Result<(), OpError> {
        Ok(self.0.set_setting(key, value)?)
    }

    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, OpError>> {
        Box::pin(async { Ok(self.0.reload().await?) })
    }
}

impl From<HostError> for OpError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Invalid(what) => Self::Invalid(what),
            HostError::NotFound(what) => Self::Absent(what),
            HostError::Stale(what) => Self::Stale(what),
            HostError::Failed(what) => Self::Internal(what),
        }
    }
}
