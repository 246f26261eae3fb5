//! What a daemon needs from the program around it: the configuration, and the models and agents
//! that the configuration names.

use std::path::PathBuf;

use toolcrib_agent::library::Agent;
use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_app::runner::{RunnerLimits, StartRequest};
use toolcrib_core::{Blob, BoxFuture, ConversationId, StoredRun, Surroundings};
use toolcrib_ops::OpError;
use toolcrib_ops::secrets::SecretConsumer;
use toolcrib_ops::settings::{Configuration, Reloaded, SettingRow};
use toolcrib_sandbox::userland::Userland;

/// A request to start a run.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// The message.
    pub text: String,
    /// Images beside it.
    pub images: Vec<Blob>,
    /// The conversation; `None` starts one.
    pub conversation: Option<ConversationId>,
    /// Name of the agent; `None` = the configured one.
    pub agent: Option<String>,
    /// Model as `provider/model` or by its name; `None` = that of the agent, else the configured
    /// one.
    pub model: Option<String>,
    /// A skill that is active from the start.
    pub skill: Option<String>,
    /// Its limits.
    pub limits: RunnerLimits,
    /// Its owner.
    pub owner: String,
    /// Its channel, such as `chat` or `external-agent`.
    pub channel: String,
    /// What the client says about the person who asks.
    pub surroundings: Surroundings,
    /// How many goals and tasks started one another until this run.
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
    /// The request is not valid: an unknown agent, model or key. The text says what to do.
    #[error("{0}")]
    Invalid(String),
    /// It does not exist.
    #[error("{0}")]
    NotFound(String),
    /// It was changed since it was read.
    #[error("{0}")]
    Stale(String),
    /// It failed for reasons other than the request.
    #[error("{0}")]
    Failed(String),
}

/// The program around the daemon: `toolcrib serve`, or a program that embeds
/// [`Daemon`](crate::Daemon). The methods with a default are for hosts that have more to offer.
///
/// The text of a [`HostError`] reaches the client, so it says what to do and contains no secret.
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
///     fn worker_of(&self, _: &StoredRun) -> Option<u64> {
///         None
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
    fn prepare_run(&self, request: RunRequest) -> BoxFuture<'_, Result<StartRequest, HostError>>;

    /// Prepares a stored run to be resumed, by the setup of its [`StartRequest`].
    fn prepare_resume<'a>(
        &'a self,
        run: &'a StoredRun,
    ) -> BoxFuture<'a, Result<StartRequest, HostError>>;

    /// The worker that drives a stored run (`CallStore::worker` reports whether it is alive);
    /// `None` = there is none.
    fn worker_of(&self, run: &StoredRun) -> Option<u64>;

    /// The configured models, as a [`RunRequest`] names them, the default first.
    fn models(&self) -> Vec<String>;

    /// The name of the model that replays the tour, where no model is configured.
    fn tour(&self) -> Option<String> {
        None
    }

    /// Models that could be configured: of providers whose key the environment holds, and of
    /// servers on this machine. Each with why it is offered.
    fn found_models(&self) -> BoxFuture<'_, Result<Vec<(String, String)>, HostError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Sends this model one small request. [`HostError::Failed`] says why it does not answer.
    fn test_model<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<(), HostError>>;

    /// The agent of a [`RunRequest`] that names none.
    fn default_agent(&self) -> Result<Agent, HostError>;

    /// All keys of the configuration with their values.
    fn settings(&self) -> Result<Vec<SettingRow>, HostError>;

    /// Writes a key into the user's file; `None` removes it. If the whole configuration would not
    /// be valid, the file stays unchanged.
    fn set_setting(&self, key: &str, value: Option<&str>) -> Result<(), HostError>;

    /// Takes a backup without keys, and returns its file, which has no name any more. Blocks while
    /// the disk works.
    fn backup(&self) -> Result<std::fs::File, HostError> {
        Err(HostError::Invalid("this daemon takes no backups; use `toolcrib backup`".to_owned()))
    }

    /// Reloads the configuration and applies it. An invalid one changes nothing; the error says
    /// where.
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, HostError>>;

    /// Names of secrets in the configuration, each with what uses it.
    fn secret_consumers(&self) -> Vec<(String, SecretConsumer)> {
        Vec::new()
    }

    /// The files of the user's MCP servers; `None` = this program keeps none.
    fn mcp_server_files(&self) -> Option<McpServerFiles> {
        None
    }

    /// Puts into a new MCP server what its program needs to start in the sandbox. Returns what the
    /// program gets, one line each.
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

/// The configuration of a host, as the operations see it.
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
