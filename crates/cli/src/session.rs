//! Builds all parts of a run from the command line, the configuration and the environment.

mod approver_selection;
mod call_rows;
mod config_refresh;
mod continue_conversation;
mod event_printer;
mod model_connections;
mod run_environment;
mod run_setup;
mod session_changes;

use std::sync::Arc;

use toolcrib_agent::library::Agent;
use toolcrib_app::runner::{Runner, RunnerLimits, StartRequest};
use toolcrib_app::{StateChanges, Stores, SwitchWatcher, Toolcrib};
use toolcrib_core::{Context, ConversationId};
use toolcrib_providers::conversation::UserMessage;
use toolcrib_providers::model::Model;

use crate::bootstrap;
use crate::clap_args::{ModelArgs, WorkspaceArgs};
use crate::config::OnAsk;
use crate::output::Failure;
use crate::terminal::Console;

use config_refresh::ConfigRefresh;

pub(crate) use approver_selection::{CommandLineDecision, TerminalPerson, select_approver};
pub(crate) use call_rows::{CallRow, CallTable, failure_text, format_duration, format_ended};
pub(crate) use continue_conversation::check_continuable;
pub(crate) use event_printer::{CallEnd, EventPrinter, call_line, describe_event, scripted_note};
pub(crate) use model_connections::ModelConnections;
pub(crate) use run_environment::{AgentAndModels, RunEnvironment, choose_models, find_agent};
pub(crate) use run_setup::RunSetup;

/// A Toolcrib with a model and an agent.
pub(crate) struct Session {
    pub(crate) runner: Runner,
    pub(crate) toolcrib: Toolcrib,
    /// Lets the kill switch cancel running calls.
    _watching: SwitchWatcher,
    pub(crate) stores: Stores,
    pub(crate) agent: Agent,
    pub(crate) models: Vec<Arc<dyn Model>>,
    pub(crate) stream: bool,
    pub(crate) limits: RunnerLimits,
    pub(crate) setup: RunSetup,
    pub(crate) console: Console,
    on_ask: Option<OnAsk>,
    /// Warnings for the person before the session starts.
    pub(crate) warnings: Vec<String>,
}

/// Options of a session, besides the setup that is stored with its runs.
pub(crate) struct SessionOptions {
    /// The handling of calls that need approval.
    pub(crate) on_ask: Option<OnAsk>,
    /// The console on which people are asked.
    pub(crate) console: Console,
    /// Models that are already connected, and whether they stream.
    pub(crate) models: Option<(Vec<Arc<dyn Model>>, bool)>,
}

impl SessionOptions {
    /// Creates options that ask people at the terminal, if there is one.
    pub(crate) fn at_terminal(on_ask: Option<OnAsk>) -> Self {
        Self { on_ask, console: Console::default(), models: None }
    }
}

/// Builds a session.
///
/// # Errors
/// Exit code 2 or 3, with advice.
pub(crate) async fn open_session(
    brain: &ModelArgs,
    world: &WorkspaceArgs,
    opening: SessionOptions,
) -> Result<Session, Failure> {
    let SessionOptions { on_ask, console, models } = opening;
    let said_on_ask = on_ask;
    let mut setup = RunSetup::new(brain, world)?;
    setup.on_ask = on_ask;
    let config = bootstrap::load_config(&setup.workspace_args())?;
    let stores = bootstrap::stores()?;
    let on_ask = config.effective_on_ask(on_ask);
    let mut settings = bootstrap::settings(&setup.workspace_args(), &config)?;
    bootstrap::apply_on_ask(&mut settings, on_ask);
    let approver = select_approver(on_ask, &console, &stores.approvals);
    let ground = RunEnvironment::build(setup, settings, &config, stores, approver).await?;
    let RunEnvironment { toolcrib, runner, stores, mut setup, mut warnings } = ground;
    let connections = ModelConnections::new(&stores);
    let said = config.effective_preset(world.policy);
    let cast =
        AgentAndModels::resolve(brain, (&toolcrib, &runner), &config, &connections, said, models)
            .await?;
    let AgentAndModels { agent, models, stream, limits, warnings: more } = cast;
    setup.agent.clone_from(&agent.name);
    let watching = toolcrib.watch_switches(StateChanges::default(), |_| ());
    let refresh = ConfigRefresh::new(toolcrib.clone(), setup.clone(), said_on_ask, config);
    let runner = runner.with_refresh(Arc::new(refresh));
    warnings.extend(more);
    Ok(Session {
        runner,
        toolcrib,
        _watching: watching,
        stores,
        agent,
        models,
        stream,
        limits,
        setup,
        console,
        on_ask,
        warnings,
    })
}

impl Session {
    /// Returns the person who answers questions of the models.
    pub(crate) fn person(&self) -> TerminalPerson {
        TerminalPerson::new(self.console.clone(), self.on_ask)
    }

    /// Returns a request for a run of this session that starts with a message.
    pub(crate) fn start(&self, text: &str, conversation: ConversationId) -> StartRequest {
        let library = self.runner.library();
        let skill = toolcrib_agent::library::parse_slash_command(text, &library);
        StartRequest {
            message: UserMessage { text: text.to_owned(), ..UserMessage::default() },
            agent: self.agent.clone(),
            models: self.models.clone(),
            conversation,
            context: Context {
                workspace: self
                    .setup
                    .workspace()
                    .map(|w| w.display().to_string())
                    .unwrap_or_default(),
                channel: "chat".to_owned(),
                surroundings: bootstrap::surroundings(),
                ..Context::default()
            },
            limits: self.limits,
            skill: skill.map(|(skill, _)| skill.name.clone()),
            stream: self.stream,
            setup: self.setup.to_value(),
            untrusted: None,
        }
    }
}
