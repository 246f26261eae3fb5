//! What runs stand on: a Toolcrib for agents with its runner, in the surroundings of one setup, and who answers on it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_app::agent::context::{CompactionRules, Money, Price, Prices, Rates, Windows};
use toolcrib_app::agent::library::{Agent, GENERAL_ASSISTANT, Mode, Place, Scope, instructions};
use toolcrib_app::core::Approver;
use toolcrib_app::providers::model::Model;
use toolcrib_app::runner::{Runner, RunnerLimits, RunnerSettings};
use toolcrib_app::sandbox::let_go_of_code;
use toolcrib_app::{Preset, Settings, Stores, Toolcrib};

use super::{Connections, Setup};
use crate::cli::Brain;
use crate::config::{self, Chosen, Config, Env, ModelFlags};
use crate::output::{self, Failure};
use crate::world;

/// What runs stand on.
pub(crate) struct Ground {
    pub(crate) toolcrib: Toolcrib,
    pub(crate) runner: Runner,
    pub(crate) stores: Stores,
    /// The surroundings, with the number of this process as a worker.
    pub(crate) setup: Setup,
    /// What people should know before anything begins.
    pub(crate) warnings: Vec<String>,
}

impl Ground {
    /// Builds it. From here on this process counts as one that works on the store.
    ///
    /// # Errors
    /// Exit code 3, with what to do.
    pub(crate) async fn lay(
        mut setup: Setup,
        settings: Settings,
        config: &Config,
        stores: Stores,
        approver: Option<Arc<dyn Approver>>,
    ) -> Result<Self, Failure> {
        // Whoever lays the ground stays for long, and needs little of the code that each part of the start ran through.
        let_go_of_code();
        let mut builder = Toolcrib::builder(settings)
            .for_agents()
            .stores(stores.clone())
            .setup(setup.to_value())
            .secrets(config::known_keys(config, &Env::of_process()));
        if let Some(approver) = approver {
            builder = builder.approver(approver);
        }
        let toolcrib = builder.build().await?;
        let_go_of_code();
        output::hide(&toolcrib.engine().sealing().secrets);
        world::check_tools(&toolcrib, config)?;
        world::say_slips_of_hooks(&toolcrib, config);
        let claimed = toolcrib.engine().claim().await;
        setup.worker = Some(claimed.map_err(|error| Failure::configuration(error.to_string()))?);
        let workspace = setup.workspace();
        let runner = Runner::new(toolcrib.clone(), runner_settings(config, workspace)?)?;
        let mut warnings: Vec<String> =
            runner.library().problems.iter().map(ToString::to_string).collect();
        warnings.extend(instructions_read(setup.workspace().as_deref()));
        let_go_of_code();
        Ok(Self { toolcrib, runner, stores, setup, warnings })
    }
}

/// Who answers in a run.
pub(crate) struct Cast {
    pub(crate) agent: Agent,
    pub(crate) models: Vec<Arc<dyn Model>>,
    pub(crate) stream: bool,
    pub(crate) limits: RunnerLimits,
    /// What people should know of it.
    pub(crate) warnings: Vec<String>,
}

impl Cast {
    /// Whoever these words and the configuration name. `models` are those that are connected already, and whether they stream.
    ///
    /// # Errors
    /// Exit code 2, 3 or 4, with what to do.
    pub(crate) async fn of(
        brain: &Brain,
        (toolcrib, runner): (&Toolcrib, &Runner),
        config: &Config,
        connections: &Connections,
        said: Option<Preset>,
        models: Option<(Vec<Arc<dyn Model>>, bool)>,
    ) -> Result<Self, Failure> {
        let mut warnings = Vec::new();
        let agent = agent(runner, brain.agent.as_deref(), config)?;
        use_mode(toolcrib, &agent, said, &mut warnings);
        let (models, stream) = match models {
            Some(models) => models,
            None => {
                let chosen = choose(brain, &agent, config, &Env::of_process())?;
                let Chosen { models, stream, warnings: more } = chosen;
                warnings.extend(more);
                (connections.connect(models, &mut warnings).await?, stream)
            }
        };
        let limits = limits(brain, &agent, config)?;
        if limits.cost.is_some() {
            warnings.extend(unpriced(runner, &models));
        }
        Ok(Self { agent, models, stream, limits, warnings })
    }
}

/// Says of which models the price is not known, so that no budget of money holds for them.
fn unpriced(runner: &Runner, models: &[Arc<dyn Model>]) -> Vec<String> {
    let unknown = models
        .iter()
        .map(|model| model.info())
        .filter(|info| !info.scripted && runner.price(&info.provider, &info.model).is_none());
    let words = unknown.map(|info| {
        format!(
            "no price is known for {}, so the budget of money does not hold for it; set input_price and output_price in [models.\"{}\"]",
            info.model, info.model
        )
    });
    words.collect()
}

/// Says that the workspace has words of its own, which stand in the system prompt, or why they cannot be read.
fn instructions_read(workspace: Option<&Path>) -> Option<String> {
    match instructions::read(workspace?, None) {
        Ok(None) => None,
        Ok(Some(words)) => {
            let cut = if words.cut { ", cut to its first 32 KB" } else { "" };
            Some(format!("{} is read{cut}", words.path))
        }
        Err(problem) => Some(problem.to_string()),
    }
}

fn runner_settings(config: &Config, workspace: Option<PathBuf>) -> Result<RunnerSettings, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::configuration(error.to_string());
    let mut windows = Windows::builtin().map_err(|error| wrong(&error))?;
    let mut prices = Prices::builtin().map_err(|error| wrong(&error))?;
    for (pattern, facts) in &config.models {
        if let Some(tokens) = facts.window {
            windows = windows.with_override(pattern, tokens).map_err(|error| wrong(&error))?;
        }
        if let Some(price) = facts.price {
            let rates = Rates {
                input: price.input,
                output: price.output,
                cache_read: None,
                cache_write: None,
            };
            prices =
                prices.with_override(pattern, Price::flat(rates)).map_err(|error| wrong(&error))?;
        }
    }
    let folders = world::library_folders(workspace.as_deref(), config);
    let compaction = CompactionRules::default();
    let (windows, prices) = (Arc::new(windows), Arc::new(prices));
    Ok(RunnerSettings { folders, workspace, windows, prices, compaction })
}

/// The agent that was named, or the configured one, or the General Assistant.
pub(crate) fn agent(
    runner: &Runner,
    named: Option<&str>,
    config: &Config,
) -> Result<Agent, Failure> {
    let name = named.or(config.agent.default.as_deref()).unwrap_or(GENERAL_ASSISTANT);
    let library = runner.library();
    library.agent(name).cloned().map_err(|error| {
        let broken = library.problems.iter().find(|problem| {
            problem.path.file_stem().is_some_and(|stem| stem.to_string_lossy() == name)
        });
        match broken {
            Some(problem) => Failure::configuration(problem.to_string()),
            None => Failure::not_found(format!("{error}; `toolcrib agent list` shows them")),
        }
    })
}

/// The agent's preset. What the person said for this run wins; an agent of the workspace, which may be anybody's, can only be stricter.
pub(super) fn use_mode(
    toolcrib: &Toolcrib,
    agent: &Agent,
    said: Option<Preset>,
    warnings: &mut Vec<String>,
) {
    let Some(mode) = agent.mode else { return };
    let wanted = match mode {
        Mode::Auto => Preset::Auto,
        Mode::AskRisky => Preset::AskRisky,
        Mode::AskAll => Preset::AskAll,
        Mode::Locked => Preset::Locked,
    };
    let current = said.unwrap_or_default();
    let is_theirs = matches!(agent.place, Place::File { scope: Scope::Project, .. });
    let loosens = (wanted as u8) < (current as u8);
    if said.is_some() || (is_theirs && loosens) {
        if wanted != current {
            warnings.push(format!(
                "agent {} wants the preset {wanted}; {current} holds in this run",
                agent.name
            ));
        }
        return;
    }
    toolcrib.engine().set_agent_preset(&agent.name, wanted);
}

pub(super) fn choose(
    brain: &Brain,
    agent: &Agent,
    config: &Config,
    env: &Env,
) -> Result<Chosen, Failure> {
    let mut flags = ModelFlags {
        provider: brain.provider.clone(),
        base_url: brain.base_url.clone(),
        model: brain.model.clone(),
        no_stream: brain.no_stream,
    };
    let is_open = flags.model.is_none() && flags.provider.is_none();
    if let Some(model) = agent.model.as_ref().filter(|_| is_open) {
        flags.model = Some(model.to_string());
    }
    config::choose(&flags, config, env)
}

/// What was said for this run; else what the agent's file says, which the runner knows; else what the configuration says for all agents.
fn limits(brain: &Brain, agent: &Agent, config: &Config) -> Result<RunnerLimits, Failure> {
    fn chosen<T, A>(said: Option<T>, agent: Option<A>, general: Option<T>) -> Option<T> {
        said.or(general.filter(|_| agent.is_none()))
    }
    let (own, general) = (&agent.limits, &config.limits);
    let limits = RunnerLimits {
        rounds: chosen(brain.max_rounds, own.rounds, general.rounds.map(|rounds| rounds.0)),
        calls: chosen(brain.max_calls, own.calls, general.calls),
        tokens: chosen(brain.max_tokens, own.tokens, general.tokens),
        time: chosen(brain.max_time, own.time, general.time),
        cost: chosen(brain.max_cost, own.cost, general.cost).map(Money),
    };
    limits.check().map_err(|error| Failure::usage(error.to_string()))
}
