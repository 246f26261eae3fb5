//! The program around a daemon: a scripted model that goes on wherever a run was left, and nothing
//! else.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_agent::library::{Agent, GENERAL_ASSISTANT};
use toolcrib_app::runner::{Runner, StartRequest};
use toolcrib_core::{BoxFuture, Context, ConversationId, StoredRun};
use toolcrib_providers::conversation::UserMessage;
use toolcrib_providers::model::Model;
use toolcrib_providers::scripted::{ScriptTurn, ScriptedModel};
use toolcrib_server::{DaemonHost, HostError, Reloaded, RunRequest, SettingRow};

use super::tasks::PREFIX;
use super::test_tools::{EFFECT, GUARDED, PURE};

/// Calls that each run makes, one after the other.
pub(super) const STEPS: [&str; 4] = [EFFECT, PURE, GUARDED, EFFECT];
/// What descriptions of repeated tasks begin with.
pub(super) const REPEATED_PREFIX: &str = "task-repeated-";
/// Runs of one of them at most.
const MOST_REPETITIONS: usize = 2_000;
/// Milliseconds that each takes.
const MILLIS: u32 = 20;

/// The program around a daemon.
pub(super) struct ScriptedHost {
    pub(super) runner: Runner,
    /// For files that are never written.
    pub(super) folder: PathBuf,
}

impl ScriptedHost {
    /// What is said is the name of the run; its model finds its place in the script by the
    /// conversation.
    fn begin(&self, wish: RunRequest) -> Result<StartRequest, HostError> {
        // A task has a person who is asked only in the inbox, which its run does not wait for.
        let asks = !wish.text.contains(PREFIX);
        // A word: the ledger separates its columns by blanks.
        let name = wish.text.split_whitespace().collect::<Vec<_>>().join("_");
        let call = |(step, tool): (usize, &&str)| {
            ScriptTurn::call(*tool, json!({"note": format!("{name}/{step}"), "millis": MILLIS}))
        };
        let done = || ScriptTurn::say("Done.");
        let turns: Vec<ScriptTurn> = if name.contains(REPEATED_PREFIX) {
            // All runs of a repeated task are in one conversation.
            let run = |_| [call((0, &EFFECT)), done()];
            (0..MOST_REPETITIONS).flat_map(run).collect()
        } else {
            let steps = STEPS.iter().enumerate().filter(|(_, tool)| asks || **tool != GUARDED);
            steps.map(call).chain([done()]).collect()
        };
        let model = ScriptedModel::from_turns("steps", turns);
        let model = model.map_err(|error| HostError::Invalid(error.to_string()))?;
        let models: Vec<Arc<dyn Model>> = vec![Arc::new(model)];
        Ok(StartRequest {
            setup: json!({"name": name}),
            message: UserMessage { text: name, ..UserMessage::default() },
            agent: self.default_agent()?,
            models,
            conversation: wish.conversation.unwrap_or_else(ConversationId::fresh),
            context: Context {
                owner: wish.owner,
                channel: wish.channel,
                surroundings: wish.surroundings,
                ..Context::default()
            },
            limits: wish.limits,
            skill: None,
            stream: false,
            untrusted: None,
        })
    }
}

fn refused() -> HostError {
    HostError::Invalid("nothing can be changed here".to_owned())
}

impl DaemonHost for ScriptedHost {
    fn prepare_run(&self, wish: RunRequest) -> BoxFuture<'_, Result<StartRequest, HostError>> {
        Box::pin(std::future::ready(self.begin(wish)))
    }

    fn prepare_resume<'a>(
        &'a self,
        run: &'a StoredRun,
    ) -> BoxFuture<'a, Result<StartRequest, HostError>> {
        let name = run.state.pointer("/setup/name").and_then(Value::as_str);
        let wish = RunRequest {
            text: name.unwrap_or_default().to_owned(),
            conversation: Some(run.conversation),
            owner: run.context.owner.clone(),
            channel: run.context.channel.clone(),
            ..RunRequest::default()
        };
        Box::pin(std::future::ready(self.begin(wish)))
    }

    fn test_model<'a>(&'a self, _model: &'a str) -> BoxFuture<'a, Result<(), HostError>> {
        Box::pin(std::future::ready(Err(refused())))
    }

    fn models(&self) -> Vec<String> {
        vec!["scripted/steps".to_owned()]
    }

    fn default_agent(&self) -> Result<Agent, HostError> {
        let agent = self.runner.library().agent(GENERAL_ASSISTANT).cloned();
        let mut agent = agent.map_err(|error| HostError::NotFound(error.to_string()))?;
        agent.tools = Some([EFFECT, GUARDED, PURE].map(str::to_owned).to_vec());
        Ok(agent)
    }

    fn settings(&self) -> Result<Vec<SettingRow>, HostError> {
        Ok(Vec::new())
    }

    fn set_setting(&self, _key: &str, _value: Option<&str>) -> Result<(), HostError> {
        Err(refused())
    }

    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, HostError>> {
        Box::pin(std::future::ready(Err(refused())))
    }

    fn rules_file(&self) -> PathBuf {
        self.folder.join("rules.toml")
    }

    fn agents_folder(&self) -> PathBuf {
        self.folder.join("agents")
    }
}
