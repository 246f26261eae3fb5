//! The binary around the daemon: supplies configuration, models and agents to the server.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use toolcrib_agent::library::{Agent, parse_slash_command};
use toolcrib_app::Toolcrib;
use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_app::runner::{Runner, RunnerLimits, StartRequest};
use toolcrib_core::{Blob, BoxFuture, Context, ConversationId, StoredRun};
use toolcrib_ops::secrets::SecretConsumer;
use toolcrib_providers::conversation::UserMessage;
use toolcrib_sandbox::userland::Userland;
use toolcrib_server::{DaemonHost, HostError, McpServerFiles, Reloaded, RunRequest, SettingRow};

use super::config_watcher::{self, ConfigPath};
use super::serve;
use crate::clap_args::ModelArgs;
use crate::command::config as settings;
use crate::command::init::{candidates, trial};
use crate::command::mcp::prepare_program;
use crate::config::{self, Config, Env, KeyPath};
use crate::output::Failure;
use crate::session::{AgentAndModels, ModelConnections, RunEnvironment, RunSetup, choose_models};
use crate::{backup, bootstrap, rule_layers};

/// The run that a daemon without models can replay.
const TOUR: &str = include_str!("../../../../docs/tour.yaml");

/// The binary around the daemon.
pub(crate) struct CliHost {
    toolcrib: Toolcrib,
    runner: Runner,
    /// The environment in which it was started.
    setup: RunSetup,
    now: RwLock<Arc<ReloadableState>>,
    stores: toolcrib_app::Stores,
    /// Serializes reloads: of two, the later one must win.
    reading: tokio::sync::Mutex<()>,
}

/// The state that a reload replaces.
struct ReloadableState {
    config: Config,
    connections: ModelConnections,
}

/// The failure of a command is also the reason why a request fails.
impl From<Failure> for HostError {
    fn from(failure: Failure) -> Self {
        match failure.code {
            2 | 3 => Self::Invalid(failure.message),
            4 => Self::NotFound(failure.message),
            _ => Self::Failed(failure.message),
        }
    }
}

impl CliHost {
    /// Creates the host of a daemon in this environment.
    pub(crate) fn new(ground: RunEnvironment, config: Config) -> Self {
        let RunEnvironment { toolcrib, runner, stores, setup, .. } = ground;
        let connections = ModelConnections::new(&stores);
        let now = RwLock::new(Arc::new(ReloadableState { config, connections }));
        Self { toolcrib, runner, setup, now, stores, reading: tokio::sync::Mutex::default() }
    }

    fn current(&self) -> Arc<ReloadableState> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Builds all parts of a run from these parameters.
    async fn build_start(
        &self,
        brain: &ModelArgs,
        said: RunParams,
    ) -> Result<StartRequest, Failure> {
        let now = self.current();
        let ground = (&self.toolcrib, &self.runner);
        let preset = now.config.effective_preset(self.setup.workspace_args().policy);
        let cast =
            AgentAndModels::resolve(brain, ground, &now.config, &now.connections, preset, None)
                .await?;
        let AgentAndModels { agent, models, stream, limits, warnings } = cast;
        for warning in warnings {
            tracing::warn!(agent = agent.name, "{warning}");
        }
        let mut setup = self.setup.with_model_args(brain);
        setup.agent.clone_from(&agent.name);
        let RunParams { text, images, conversation, skill, context } = said;
        let skill = skill.or_else(|| {
            parse_slash_command(&text, &self.runner.library()).map(|(skill, _)| skill.name.clone())
        });
        let workspace = self.setup.workspace().map(|path| path.display().to_string());
        let workspace = workspace.unwrap_or_default();
        Ok(StartRequest {
            message: UserMessage { text, images, ..UserMessage::default() },
            agent,
            models,
            conversation: conversation.unwrap_or_else(ConversationId::fresh),
            context: Context { workspace, ..context },
            limits,
            skill,
            stream,
            setup: setup.to_value(),
            untrusted: None,
        })
    }

    /// Returns the options of a request, completed by those with which the daemon was started.
    fn model_args(&self, wish: &RunRequest) -> Result<ModelArgs, Failure> {
        let mut setup = self.setup.clone();
        if let Some(model) = &wish.model {
            self.is_configured(model)?;
            setup.use_model(model);
        }
        let base = setup.model_args();
        let RunnerLimits { rounds, calls, tokens, time, cost } = wish.limits;
        Ok(ModelArgs {
            agent: wish.agent.clone().or(base.agent),
            max_rounds: rounds.or(base.max_rounds),
            max_calls: calls.or(base.max_calls),
            max_tokens: tokens.or(base.max_tokens),
            max_time: time.or(base.max_time),
            max_cost: cost.map(|money| money.0).or(base.max_cost),
            ..base
        })
    }

    /// Checks that a model is configured: a script is a file of this machine, and clients must not
    /// choose files.
    fn is_configured(&self, model: &str) -> Result<(), Failure> {
        let is_file = model.trim_start().starts_with("scripted:");
        let is_known = || self.models().into_iter().chain(self.tour()).any(|known| known == model);
        if is_file && !is_known() {
            let what =
                format!("{model} is not configured here; a request names models of providers");
            return Err(Failure::usage(what));
        }
        Ok(())
    }

    /// Returns the paths of the current configuration.
    pub(super) fn config_paths(&self) -> Vec<ConfigPath> {
        config_watcher::config_paths(&self.setup.workspace_args(), &self.current().config)
    }

    /// Reloads and applies everything.
    pub(crate) async fn reload_config(&self) -> Result<Reloaded, Failure> {
        let _alone = self.reading.lock().await;
        let before = self.current();
        let config = config::load(&Env::from_process(), self.setup.workspace().as_deref())?;
        let policy = serve::daemon_tool_settings(&self.setup.workspace_args(), &config)?;
        bootstrap::check_tool_names(&self.toolcrib, &config, &policy.rules)?;
        // Register the keys before any of it is applied, so that no output shows them.
        let keys = config::known_keys(&config, &Env::from_process());
        let secrets = &self.toolcrib.engine().sealing().secrets;
        secrets.add(keys.iter().map(String::as_str));
        let waiting = self.toolcrib.reconfigure(policy).await?;
        let mut needs_restart: Vec<String> = waiting.into_iter().map(str::to_owned).collect();
        needs_restart.extend(restart_sections(&before.config, &config).map(str::to_owned));
        let mut remarks = config.remarks.clone();
        remarks.extend(
            bootstrap::unknown_tools(&self.toolcrib, &config).iter().map(ToString::to_string),
        );
        let connections = ModelConnections::new(&self.stores);
        let now = Arc::new(ReloadableState { config, connections });
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = now;
        remarks.extend(self.runner.reload().iter().map(ToString::to_string));
        Ok(Reloaded { needs_restart, remarks })
    }
}

/// Returns the changed sections that only the next start reads.
fn restart_sections(before: &Config, now: &Config) -> impl Iterator<Item = &'static str> {
    let changed =
        [("models", before.models != now.models), ("server", before.server != now.server)];
    changed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name)
}

/// The parameters of one run, besides its models.
struct RunParams {
    text: String,
    images: Vec<Blob>,
    conversation: Option<ConversationId>,
    skill: Option<String>,
    /// Owner and origin of the run.
    context: Context,
}

impl DaemonHost for CliHost {
    fn prepare_run(&self, wish: RunRequest) -> BoxFuture<'_, Result<StartRequest, HostError>> {
        Box::pin(async move {
            let brain = self.model_args(&wish)?;
            let RunRequest {
                text, images, conversation, skill, owner, channel, surroundings, ..
            } = wish;
            let context = Context { owner, channel, surroundings, ..Context::default() };
            let said = RunParams { text, images, conversation, skill, context };
            Ok(self.build_start(&brain, said).await?)
        })
    }

    fn prepare_resume<'a>(
        &'a self,
        run: &'a StoredRun,
    ) -> BoxFuture<'a, Result<StartRequest, HostError>> {
        Box::pin(async move {
            let kept = RunSetup::from_value(&stored_setup(run))?;
            if !kept.same_tool_environment(&self.setup) {
                return Err(HostError::Invalid(format!(
                    "the run {} was started in another context than this daemon's; `toolcrib resume {}` resumes it there",
                    run.id, run.id
                )));
            }
            let said = RunParams {
                text: String::new(),
                images: Vec::new(),
                conversation: Some(run.conversation),
                skill: None,
                context: Context {
                    owner: run.context.owner.clone(),
                    channel: run.context.channel.clone(),
                    surroundings: run.context.surroundings.clone(),
                    ..Context::default()
                },
            };
            Ok(self.build_start(&kept.model_args(), said).await?)
        })
    }

    fn models(&self) -> Vec<String> {
        let now = self.current();
        let base = self.setup.model_args();
        let mut models: Vec<String> = base.model.into_iter().collect();
        models.extend(now.config.model.default.clone());
        models.extend(now.config.model.fallback.clone());
        let of_providers = now.config.providers.iter().filter_map(|(id, section)| {
            section.model.as_ref().map(|model| format!("{}/{model}", id.0))
        });
        models.extend(of_providers);
        let mut seen = std::collections::HashSet::new();
        models.retain(|model| seen.insert(model.clone()));
        models
    }

    fn tour(&self) -> Option<String> {
        if !self.models().is_empty() {
            return None;
        }
        let path = bootstrap::state_folder().ok()?.join("tour.yaml");
        if std::fs::read_to_string(&path).ok().as_deref() != Some(TOUR) {
            let written = std::fs::write(&path, TOUR);
            written.map_err(|error| tracing::warn!("{}: {error}", path.display())).ok()?;
        }
        Some(format!("scripted:{}", path.display()))
    }

    fn found_models(&self) -> BoxFuture<'_, Result<Vec<(String, String)>, HostError>> {
        Box::pin(async move {
            let config = &self.current().config;
            let found = candidates::find_all(config, &Env::from_process()).await?;
            Ok(found.into_iter().map(|one| (one.name(), one.origin)).collect())
        })
    }

    fn test_model<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<(), HostError>> {
        Box::pin(async move {
            let request = RunRequest { model: Some(model.to_owned()), ..RunRequest::default() };
            let brain = self.model_args(&request)?;
            let agent = self.default_agent()?;
            let now = self.current();
            let chain = choose_models(&brain, &agent, &now.config, &Env::from_process())?;
            Ok(trial::ask(chain).await?)
        })
    }

    fn mcp_server_files(&self) -> Option<McpServerFiles> {
        let skills = bootstrap::server_skills(&bootstrap::config_folder()?);
        Some(McpServerFiles { servers: bootstrap::mcp_file()?.path, skills })
    }

    fn prepare_mcp_server(&self, server: &mut ServerConfig) -> Vec<String> {
        prepare_program::prepare(server, self.setup.workspace().as_deref());
        prepare_program::needs_text(server)
    }

    fn default_agent(&self) -> Result<Agent, HostError> {
        let base = self.setup.model_args();
        let now = self.current();
        Ok(crate::session::find_agent(&self.runner, base.agent.as_deref(), &now.config)?)
    }

    fn settings(&self) -> Result<Vec<SettingRow>, HostError> {
        let now = self.current();
        Ok(settings::effective_values(&now.config, &self.setup.workspace_args()))
    }

    fn set_setting(&self, key: &str, value: Option<&str>) -> Result<(), HostError> {
        let key = KeyPath::parse(key).map_err(HostError::Invalid)?;
        Ok(settings::write_user_value(&key, value, self.setup.workspace().as_deref())?)
    }

    fn backup(&self) -> Result<File, HostError> {
        let failed = |error: std::io::Error| {
            HostError::Failed(format!("the backup cannot be written: {error}"))
        };
        // Beside the database, where there is space for a copy of it.
        let state = bootstrap::state_folder()?;
        let folder = tempfile::Builder::new().prefix(".download-").tempdir_in(state);
        let path = folder.as_ref().map(|folder| folder.path().join("backup"));
        let path = path.map_err(|error| HostError::Failed(error.to_string()))?;
        backup::create(&path, false, false)?;
        File::open(path).map_err(failed)
    }

    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, HostError>> {
        Box::pin(async move { Ok(self.reload_config().await?) })
    }

    fn secret_consumers(&self) -> Vec<(String, SecretConsumer)> {
        self.current().config.secret_consumers()
    }

    fn userland(&self) -> Option<Userland> {
        bootstrap::userland(&self.current().config)
    }

    fn rules_file(&self) -> PathBuf {
        rule_layers::user_file().map(|place| place.path).unwrap_or_default()
    }

    fn agents_folder(&self) -> PathBuf {
        bootstrap::config_folder().as_deref().unwrap_or(Path::new("")).join("agents")
    }
}

fn stored_setup(run: &StoredRun) -> serde_json::Value {
    run.state.get("setup").cloned().unwrap_or_default()
}
