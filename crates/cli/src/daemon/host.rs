//! The binary around the daemon: configuration, models and agents as the server asks for them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use toolcrib_app::Toolcrib;
use toolcrib_app::agent::library::{Agent, slash};
use toolcrib_app::core::{BoxFuture, Context, ConversationId, StoredRun};
use toolcrib_app::providers::chat::UserMessage;
use toolcrib_app::runner::{Runner, RunnerLimits, Start};
use toolcrib_server::{Host, HostError, Reloaded, RunWish, SettingRow};

use super::serve;
use super::watch::{self, Stamps};
use crate::cli::Brain;
use crate::command::config as settings;
use crate::config::{self, Config, Env, Key};
use crate::output::Failure;
use crate::session::{Cast, Connections, Ground, Setup};
use crate::{rules, world};

/// The binary around the daemon.
pub(crate) struct CliHost {
    toolcrib: Toolcrib,
    runner: Runner,
    /// The surroundings that it was started in.
    setup: Setup,
    now: RwLock<Arc<Now>>,
    stores: toolcrib_app::Stores,
    /// One reading at a time: of two, the later one must win.
    reading: tokio::sync::Mutex<()>,
}

/// What a reload changes.
struct Now {
    config: Config,
    connections: Connections,
}

/// Why a command of the person would end is why a request cannot be carried out.
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
    /// Around a daemon on this ground.
    pub(crate) fn new(ground: Ground, config: Config) -> Self {
        let Ground { toolcrib, runner, stores, setup, .. } = ground;
        let connections = Connections::new(&stores);
        let now = RwLock::new(Arc::new(Now { config, connections }));
        Self { toolcrib, runner, setup, now, stores, reading: tokio::sync::Mutex::default() }
    }

    fn now(&self) -> Arc<Now> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Everything of a run that these words say.
    async fn of(&self, brain: &Brain, said: Said) -> Result<Start, Failure> {
        let now = self.now();
        let ground = (&self.toolcrib, &self.runner);
        let preset = now.config.preset(self.setup.world().policy);
        let cast = Cast::of(brain, ground, &now.config, &now.connections, preset, None).await?;
        let Cast { agent, models, stream, limits, warnings } = cast;
        for warning in warnings {
            tracing::warn!(agent = agent.name, "{warning}");
        }
        let mut setup = self.setup.with(brain);
        setup.agent.clone_from(&agent.name);
        let Said { text, conversation, skill, owner, channel } = said;
        let skill = skill
            .or_else(|| slash(&text, &self.runner.library()).map(|(skill, _)| skill.name.clone()));
        let workspace = self.setup.workspace().map(|path| path.display().to_string());
        let workspace = workspace.unwrap_or_default();
        Ok(Start {
            message: UserMessage { text, ..UserMessage::default() },
            agent,
            models,
            conversation: conversation.unwrap_or_else(ConversationId::fresh),
            context: Context { workspace, owner, channel, ..Context::default() },
            limits,
            skill,
            stream,
            setup: setup.to_value(),
        })
    }

    /// The words of a wish over those that the daemon was started with.
    fn brain(&self, wish: &RunWish) -> Result<Brain, Failure> {
        let mut setup = self.setup.clone();
        if let Some(model) = &wish.model {
            self.is_configured(model)?;
            setup.use_model(model);
        }
        let base = setup.brain();
        let RunnerLimits { rounds, calls, tokens, time, cost } = wish.limits;
        Ok(Brain {
            agent: wish.agent.clone().or(base.agent),
            max_rounds: rounds.or(base.max_rounds),
            max_calls: calls.or(base.max_calls),
            max_tokens: tokens.or(base.max_tokens),
            max_time: time.or(base.max_time),
            max_cost: cost.map(|money| money.0).or(base.max_cost),
            ..base
        })
    }

    /// A script is a file of this machine: whoever sends requests does not choose files.
    fn is_configured(&self, model: &str) -> Result<(), Failure> {
        let is_file = model.trim_start().starts_with("scripted:");
        if is_file && !self.models().iter().any(|known| known == model) {
            let what =
                format!("{model} is not configured here; a request names models of providers");
            return Err(Failure::usage(what));
        }
        Ok(())
    }

    /// The files that this configuration comes from, as they are now.
    pub(super) fn stamps(&self) -> Stamps {
        watch::stamps(&self.setup.world(), &self.now().config)
    }

    /// Reads everything again and puts it into force.
    pub(crate) async fn read_again(&self) -> Result<Reloaded, Failure> {
        let _alone = self.reading.lock().await;
        let before = self.now();
        let config = config::load(&Env::of_process(), self.setup.workspace().as_deref())?;
        let policy = serve::policy(&self.setup.world(), &config)?;
        world::check_words(&self.toolcrib, &config, &policy.rules)?;
        // Known before anything of it is in force, so that nothing shows it.
        let keys = config::known_keys(&config, &Env::of_process());
        let secrets = &self.toolcrib.engine().sealing().secrets;
        secrets.learn(keys.iter().map(String::as_str));
        let waiting = self.toolcrib.reconfigure(policy).await?;
        let mut needs_restart: Vec<String> = waiting.into_iter().map(str::to_owned).collect();
        needs_restart.extend(sections(&before.config, &config).map(str::to_owned));
        let mut remarks = config.remarks.clone();
        remarks
            .extend(world::unknown_tools(&self.toolcrib, &config).iter().map(ToString::to_string));
        let connections = Connections::new(&self.stores);
        let now = Arc::new(Now { config, connections });
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = now;
        remarks.extend(self.runner.reload().iter().map(ToString::to_string));
        Ok(Reloaded { needs_restart, remarks })
    }
}

/// What only the next start reads.
fn sections(before: &Config, now: &Config) -> impl Iterator<Item = &'static str> {
    let changed =
        [("models", before.models != now.models), ("server", before.server != now.server)];
    changed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name)
}

/// What is said for one run, besides who answers.
struct Said {
    text: String,
    conversation: Option<ConversationId>,
    skill: Option<String>,
    owner: String,
    channel: String,
}

impl Host for CliHost {
    fn start(&self, wish: RunWish) -> BoxFuture<'_, Result<Start, HostError>> {
        Box::pin(async move {
            let brain = self.brain(&wish)?;
            let RunWish { text, conversation, skill, owner, channel, .. } = wish;
            Ok(self.of(&brain, Said { text, conversation, skill, owner, channel }).await?)
        })
    }

    fn restore<'a>(&'a self, run: &'a StoredRun) -> BoxFuture<'a, Result<Start, HostError>> {
        Box::pin(async move {
            let kept = Setup::of_value(&kept(run))?;
            if !kept.is_of(&self.setup) {
                return Err(HostError::Invalid(format!(
                    "the run {} was begun in other surroundings than this daemon's; `toolcrib resume {}` goes on with it there",
                    run.id, run.id
                )));
            }
            let said = Said {
                text: String::new(),
                conversation: Some(run.conversation),
                skill: None,
                owner: run.context.owner.clone(),
                channel: run.context.channel.clone(),
            };
            Ok(self.of(&kept.brain(), said).await?)
        })
    }

    fn worker_of(&self, run: &StoredRun) -> Option<u64> {
        Setup::of_value(&kept(run)).ok()?.worker
    }

    fn models(&self) -> Vec<String> {
        let now = self.now();
        let base = self.setup.brain();
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

    fn default_agent(&self) -> Result<Agent, HostError> {
        let base = self.setup.brain();
        let now = self.now();
        Ok(crate::session::agent(&self.runner, base.agent.as_deref(), &now.config)?)
    }

    fn settings(&self) -> Result<Vec<SettingRow>, HostError> {
        let now = self.now();
        let rows = settings::all(&now.config, &self.setup.world());
        Ok(rows.into_iter().map(|(key, value, origin)| row(&key, value, origin)).collect())
    }

    fn set(&self, key: &str, value: Option<&str>) -> Result<(), HostError> {
        let key = Key::parse(key).map_err(HostError::Invalid)?;
        Ok(settings::write(&key, value, self.setup.workspace().as_deref())?)
    }

    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, HostError>> {
        Box::pin(async move { Ok(self.read_again().await?) })
    }

    fn secret_users(&self) -> Vec<(String, String)> {
        let now = self.now();
        let tools = now.config.secret_config().into_iter().flat_map(|(tool, keys)| {
            keys.into_iter().map(move |(key, name)| (name, format!("tool {tool} ({key})")))
        });
        let providers = now.config.secret_keys();
        let providers = providers.map(|(id, name)| (name.to_string(), format!("provider {id}")));
        tools.chain(providers).collect()
    }

    fn rules_file(&self) -> PathBuf {
        rules::user().map(|place| place.path).unwrap_or_default()
    }

    fn agents_folder(&self) -> PathBuf {
        world::config_folder().as_deref().unwrap_or(Path::new("")).join("agents")
    }
}

fn kept(run: &StoredRun) -> serde_json::Value {
    run.state.get("setup").cloned().unwrap_or_default()
}

/// Trust says what file tools must not touch, which is settled at the start.
fn row(key: &Key, value: serde_json::Value, origin: String) -> SettingRow {
    let first = key.parts().first().copied().unwrap_or_default();
    let live = !["server", "models", "trusted_workspaces"].contains(&first);
    SettingRow { key: key.to_string(), value, origin, live }
}
