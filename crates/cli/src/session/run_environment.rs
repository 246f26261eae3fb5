//! The environment of runs: a Toolcrib for agents with its runner, built from one setup, and the
//! agent with its models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_agent::context::{CompactionRules, ContextWindows, Money, Price, Prices, Rates};
use toolcrib_agent::library::{
    Agent, AgentPreset, GENERAL_ASSISTANT, Location, Scope, instructions,
};
use toolcrib_app::runner::{Runner, RunnerLimits, RunnerSettings};
use toolcrib_app::{Preset, Settings, Stores, Toolcrib};
use toolcrib_core::Approver;
use toolcrib_providers::model::Model;
use toolcrib_sandbox::release_code_pages;

use super::{ModelConnections, RunSetup};
use crate::bootstrap;
use crate::clap_args::ModelArgs;
use crate::config::{self, Config, Env, ModelChain, ModelFlags};
use crate::output::{self, Failure};

/// The environment of runs.
pub(crate) struct RunEnvironment {
    pub(crate) toolcrib: Toolcrib,
    pub(crate) runner: Runner,
    pub(crate) stores: Stores,
    /// The setup, with the number of this process as a worker.
    pub(crate) setup: RunSetup,
    /// Warnings for the person before any run starts.
    pub(crate) warnings: Vec<String>,
}

impl RunEnvironment {
    /// Builds the environment. From here on, this process counts as a worker on the store.
    ///
    /// # Errors
    /// Exit code 3, with advice.
    pub(crate) async fn build(
        mut setup: RunSetup,
        settings: Settings,
        config: &Config,
        stores: Stores,
        approver: Option<Arc<dyn Approver>>,
    ) -> Result<Self, Failure> {
        // The process runs for long, and needs little of the code that the start has used.
        release_code_pages();
        let mut builder = Toolcrib::builder(settings)
            .for_agents()
            .stores(stores.clone())
            .run_setup(setup.to_value())
            .environment(setup.tool_environment())
            .secrets(config::known_keys(config, &Env::from_process()));
        if let Some(approver) = approver {
            builder = builder.approver(approver);
        }
        let toolcrib = builder.build().await?;
        release_code_pages();
        output::set_secrets(&toolcrib.engine().sealing().secrets);
        bootstrap::check_tools(&toolcrib, config)?;
        bootstrap::warn_misspelled_hooks(&toolcrib, config);
        let claimed = toolcrib.engine().claim().await;
        setup.worker = Some(claimed.map_err(|error| Failure::configuration(error.to_string()))?);
        let workspace = setup.workspace();
        let runner = Runner::new(toolcrib.clone(), runner_settings(config, workspace)?)?;
        let mut warnings: Vec<String> =
            runner.library().problems.iter().map(ToString::to_string).collect();
        warnings.extend(setup.missing_tool_folders().map(|folder| {
            format!("did not load: there is no folder {}, which --tools names", folder.display())
        }));
        warnings.extend(toolcrib.broken_tools().iter().map(|why| format!("did not load: {why}")));
        warnings.extend(instructions_notice(setup.workspace().as_deref()));
        release_code_pages();
        Ok(Self { toolcrib, runner, stores, setup, warnings })
    }
}

/// The agent of a run, and its models.
pub(crate) struct AgentAndModels {
    pub(crate) agent: Agent,
    pub(crate) models: Vec<Arc<dyn Model>>,
    pub(crate) stream: bool,
    pub(crate) limits: RunnerLimits,
    /// Warnings for the person.
    pub(crate) warnings: Vec<String>,
}

impl AgentAndModels {
    /// Resolves the agent and models that the options and the configuration name. `models` are
    /// already connected models, and whether they stream.
    ///
    /// # Errors
    /// Exit code 2, 3 or 4, with advice.
    pub(crate) async fn resolve(
        brain: &ModelArgs,
        (toolcrib, runner): (&Toolcrib, &Runner),
        config: &Config,
        connections: &ModelConnections,
        said: Option<Preset>,
        models: Option<(Vec<Arc<dyn Model>>, bool)>,
    ) -> Result<Self, Failure> {
        let mut warnings = Vec::new();
        let agent = find_agent(runner, brain.agent.as_deref(), config)?;
        apply_agent_preset(toolcrib, &agent, said, &mut warnings);
        let (models, stream) = match models {
            Some(models) => models,
            None => {
                let chosen = choose_models(brain, &agent, config, &Env::from_process())?;
                let ModelChain { models, stream, warnings: more } = chosen;
                warnings.extend(more);
                (connections.connect(models, runner, &mut warnings).await?, stream)
            }
        };
        let limits = run_limits(brain, &agent, config)?;
        if limits.cost.is_some() {
            warnings.extend(unpriced_warnings(runner, &models));
        }
        Ok(Self { agent, models, stream, limits, warnings })
    }
}

/// Warns about models with an unknown price, to which no cost limit applies.
fn unpriced_warnings(runner: &Runner, models: &[Arc<dyn Model>]) -> Vec<String> {
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

/// Returns a notice that the workspace has instructions, which are part of the system prompt, or
/// the reason why they cannot be read.
fn instructions_notice(workspace: Option<&Path>) -> Option<String> {
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
    let mut windows = ContextWindows::builtin().map_err(|error| wrong(&error))?;
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
    let folders = bootstrap::library_folders(workspace.as_deref(), config);
    let compaction = CompactionRules::default();
    let (windows, prices) = (Arc::new(windows), Arc::new(prices));
    Ok(RunnerSettings { folders, workspace, windows, prices, compaction })
}

/// Returns the named agent, or the configured one, or the General Assistant.
pub(crate) fn find_agent(
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

/// Applies the agent's preset. The person's option for this run has precedence; an agent of the
/// workspace, whose author is unknown, can only be stricter.
pub(super) fn apply_agent_preset(
    toolcrib: &Toolcrib,
    agent: &Agent,
    said: Option<Preset>,
    warnings: &mut Vec<String>,
) {
    let Some(mode) = agent.preset else { return };
    let wanted = match mode {
        AgentPreset::Auto => Preset::Auto,
        AgentPreset::AskRisky => Preset::AskRisky,
        AgentPreset::AskAll => Preset::AskAll,
        AgentPreset::Locked => Preset::Locked,
    };
    let current = said.unwrap_or_default();
    let is_theirs = matches!(agent.location, Location::File { scope: Scope::Project, .. });
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

pub(crate) fn choose_models(
    brain: &ModelArgs,
    agent: &Agent,
    config: &Config,
    env: &Env,
) -> Result<ModelChain, Failure> {
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
    config::resolve_model_chain(&flags, config, env)
}

/// Returns the limits: the options of this run; else those in the agent's file, which the runner
/// reads; else those of the configuration for all agents.
fn run_limits(brain: &ModelArgs, agent: &Agent, config: &Config) -> Result<RunnerLimits, Failure> {
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
