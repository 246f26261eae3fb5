//! Everything that a run needs, from the words of the command line, the configuration and the environment.

mod calls;
mod change;
mod conversation;
mod deciding;
mod ground;
mod models;
mod setup;
mod show;
mod tally;
mod worker;

use std::sync::Arc;

use toolcrib_app::agent::library::Agent;
use toolcrib_app::core::{Context, ConversationId};
use toolcrib_app::providers::chat::UserMessage;
use toolcrib_app::providers::model::Model;
use toolcrib_app::runner::{Runner, RunnerLimits, Start};
use toolcrib_app::{Stores, Toolcrib, Watching};

use crate::cli::{Brain, World};
use crate::config::OnAsk;
use crate::output::Failure;
use crate::terminal::Console;
use crate::world;

pub(crate) use calls::{CallRow, Calls, duration, ended, failure_words};
pub(crate) use conversation::go_on_in;
pub(crate) use deciding::{Prepared, TerminalPerson, approver};
pub(crate) use ground::{Cast, Ground, agent};
pub(crate) use models::Connections;
pub(crate) use setup::Setup;
pub(crate) use show::{Printer, remark};
pub(crate) use tally::Tally;
pub(crate) use worker::is_worked_on;

/// A Toolcrib with a model and an agent.
pub(crate) struct Session {
    pub(crate) runner: Runner,
    pub(crate) toolcrib: Toolcrib,
    /// Lets the kill switch stop what is at work.
    _watching: Watching,
    pub(crate) stores: Stores,
    pub(crate) agent: Agent,
    pub(crate) models: Vec<Arc<dyn Model>>,
    pub(crate) stream: bool,
    pub(crate) limits: RunnerLimits,
    pub(crate) setup: Setup,
    pub(crate) console: Console,
    on_ask: Option<OnAsk>,
    /// What people should know before it begins.
    pub(crate) warnings: Vec<String>,
}

/// How a session is set up, besides the words that are stored with its runs.
pub(crate) struct Opening {
    /// What happens to calls that need approval.
    pub(crate) on_ask: Option<OnAsk>,
    /// Where people are asked.
    pub(crate) console: Console,
    /// Models that are connected already, and whether they stream.
    pub(crate) models: Option<(Vec<Arc<dyn Model>>, bool)>,
}

impl Opening {
    /// People are asked at the terminal, if there is one.
    pub(crate) fn at_terminal(on_ask: Option<OnAsk>) -> Self {
        Self { on_ask, console: Console::default(), models: None }
    }
}

/// Sets a session up.
///
/// # Errors
/// Exit code 2 or 3, with what to do.
pub(crate) async fn open(
    brain: &Brain,
    world: &World,
    opening: Opening,
) -> Result<Session, Failure> {
    let Opening { on_ask, console, models } = opening;
    let setup = Setup::new(brain, world)?;
    let config = world::configured(&setup.world())?;
    let stores = world::stores()?;
    let on_ask = config.asks(on_ask);
    let mut settings = world::settings(&setup.world(), &config)?;
    world::use_on_ask(&mut settings, on_ask);
    let approver = approver(on_ask, &console, &stores.approvals);
    let ground = Ground::lay(setup, settings, &config, stores, approver).await?;
    let Ground { toolcrib, runner, stores, mut setup, mut warnings } = ground;
    let connections = Connections::new(&stores);
    let said = config.preset(world.policy);
    let cast = Cast::of(brain, (&toolcrib, &runner), &config, &connections, said, models).await?;
    let Cast { agent, models, stream, limits, warnings: more } = cast;
    setup.agent.clone_from(&agent.name);
    let watching = toolcrib.watch(|_| ());
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
    /// Who answers the questions of its models.
    pub(crate) fn person(&self) -> TerminalPerson {
        TerminalPerson::new(self.console.clone(), self.on_ask)
    }

    /// A run of this session that begins with a message.
    pub(crate) fn start(&self, text: &str, conversation: ConversationId) -> Start {
        let library = self.runner.library();
        let skill = toolcrib_app::agent::library::slash(text, &library);
        Start {
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
                ..Context::default()
            },
            limits: self.limits,
            skill: skill.map(|(skill, _)| skill.name.clone()),
            stream: self.stream,
            setup: self.setup.to_value(),
        }
    }
}
