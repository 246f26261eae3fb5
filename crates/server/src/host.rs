//! What a daemon needs of the program around it: the configuration, and the models and agents that it names.

use serde_json::Value;
use toolcrib_app::agent::library::Agent;
use toolcrib_app::core::{BoxFuture, ConversationId, StoredRun};
use toolcrib_app::runner::{RunnerLimits, Start};

use crate::problem::Problem;

/// A run that somebody asks for.
#[derive(Debug, Clone, Default)]
pub struct RunWish {
    /// What is said.
    pub text: String,
    /// The conversation; `None` begins one.
    pub conversation: Option<ConversationId>,
    /// Name of the agent; `None` = the configured one.
    pub agent: Option<String>,
    /// Model as `provider/model` or by its name; `None` = the agent's, else the configured one.
    pub model: Option<String>,
    /// A skill that is active from the start.
    pub skill: Option<String>,
    /// What it may use.
    pub limits: RunnerLimits,
    /// Whose run it is.
    pub owner: String,
    /// Its channel (DESIGN 9).
    pub channel: String,
}

/// Why the program around the daemon cannot do something.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HostError {
    /// What was asked for makes no sense: an unknown agent, model or key. The words say what to do.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// Somebody changed it meanwhile.
    #[error("{0}")]
    Stale(String),
    /// It failed for reasons that are not the caller's.
    #[error("{0}")]
    Failed(String),
}

impl From<HostError> for Problem {
    fn from(error: HostError) -> Self {
        use crate::problem::Code;
        let code = match &error {
            HostError::Invalid(_) => Code::Invalid,
            HostError::NotFound(_) => Code::NotFound,
            HostError::Stale(_) => Code::Stale,
            HostError::Failed(_) => Code::Internal,
        };
        Self::new(code, error.to_string())
    }
}

/// One key of the configuration.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct SettingRow {
    /// The key, such as `tools.fetch_url.timeout`.
    pub key: String,
    /// Its value in force; secrets are `***`.
    pub value: Value,
    /// The layer it comes from, with file and line where there is one.
    pub origin: String,
    /// Whether a change takes effect without a restart.
    pub live: bool,
}

/// What came of reading the configuration again.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Reloaded {
    /// Settings that changed and take effect only after a restart.
    pub needs_restart: Vec<String>,
    /// What people should know of the configuration.
    pub remarks: Vec<String>,
}

/// The program around the daemon.
pub trait Host: Send + Sync {
    /// What is needed to begin a run.
    fn start(&self, wish: RunWish) -> BoxFuture<'_, Result<Start, HostError>>;

    /// What is needed to go on with a run that is stored, by the setup that its [`Start`] had.
    fn restore<'a>(&'a self, run: &'a StoredRun) -> BoxFuture<'a, Result<Start, HostError>>;

    /// Number of the worker that a stored run was begun under (`CallStore::worker` says whether it is alive); `None` = nobody's.
    fn worker_of(&self, run: &StoredRun) -> Option<u64>;

    /// The configured models, as a [`RunWish`] names them, the default first.
    fn models(&self) -> Vec<String>;

    /// The agent that answers when a wish names none.
    fn default_agent(&self) -> Result<Agent, HostError>;

    /// All keys of the configuration with their values.
    fn settings(&self) -> Result<Vec<SettingRow>, HostError>;

    /// Writes a key into the person's file; `None` takes it away. The file stays as it was when the whole would not hold.
    fn set(&self, key: &str, value: Option<&str>) -> Result<(), HostError>;

    /// Reads the configuration again and puts it into force; a bad one changes nothing and says where.
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, HostError>>;

    /// Secrets that the configuration names, each with who uses it in words, such as `provider openai`.
    fn secret_users(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Where rules are written that are added here: the person's own file.
    fn rules_file(&self) -> std::path::PathBuf;

    /// Where agents are written that are added here: the person's own folder.
    fn agents_folder(&self) -> std::path::PathBuf;
}
