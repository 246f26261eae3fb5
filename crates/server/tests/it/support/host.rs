//! The program around a daemon of a test: a scripted model, settings in memory.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use toolcrib_agent::library::{Agent, GENERAL_ASSISTANT};
use toolcrib_app::rule_files::{self, RuleFile};
use toolcrib_app::rules::Layer;
use toolcrib_app::runner::{Runner, StartRequest};
use toolcrib_app::{Settings, Toolcrib};
use toolcrib_core::{BoxFuture, Context, ConversationId, StoredRun};
use toolcrib_providers::conversation::UserMessage;
use toolcrib_providers::model::Model;
use toolcrib_providers::scripted::ScriptedModel;
use toolcrib_server::{DaemonHost, HostError, Reloaded, RunRequest, SettingRow};

pub(crate) struct TestHost {
    runner: Runner,
    script: String,
    folder: PathBuf,
    settings: Mutex<Vec<(String, String)>>,
    /// The result of a reload, with the current rules of the file.
    configured: (Toolcrib, Settings),
    /// Number of checks whether a run was abandoned.
    pub(crate) looks: AtomicUsize,
}

impl TestHost {
    pub(crate) fn new(
        runner: Runner,
        script: String,
        folder: PathBuf,
        configured: (Toolcrib, Settings),
    ) -> Self {
        let (settings, looks) = Default::default();
        Self { runner, script, folder, settings, configured, looks }
    }

    fn of_wish(&self, wish: RunRequest) -> Result<StartRequest, HostError> {
        let name = wish.agent.as_deref().unwrap_or(GENERAL_ASSISTANT);
        let agent = self.runner.library().agent(name).cloned();
        let agent = agent.map_err(|error| HostError::NotFound(error.to_string()))?;
        let script = wish.model.as_deref().unwrap_or(&self.script);
        let whole = format!("version: 1\n{}", script.trim_start_matches("version: 1\n"));
        let model = ScriptedModel::parse("test", &whole)
            .map_err(|error| HostError::Invalid(error.to_string()))?;
        let models: Vec<Arc<dyn Model>> = vec![Arc::new(model)];
        Ok(StartRequest {
            message: UserMessage { text: wish.text, ..UserMessage::default() },
            agent,
            models,
            conversation: wish.conversation.unwrap_or_else(ConversationId::fresh),
            context: Context {
                owner: wish.owner,
                channel: wish.channel,
                surroundings: wish.surroundings,
                ..Context::default()
            },
            limits: wish.limits,
            skill: wish.skill,
            stream: true,
            setup: serde_json::json!({"script": script}),
            untrusted: None,
        })
    }
}

impl DaemonHost for TestHost {
    fn prepare_run(&self, wish: RunRequest) -> BoxFuture<'_, Result<StartRequest, HostError>> {
        Box::pin(std::future::ready(self.of_wish(wish)))
    }

    fn prepare_resume<'a>(
        &'a self,
        run: &'a StoredRun,
    ) -> BoxFuture<'a, Result<StartRequest, HostError>> {
        // Answers that the model has already given are not repeated.
        let script = run.state.pointer("/setup/script").and_then(|s| s.as_str()).unwrap_or("");
        let rest = script.split_once("# --- after a restart\n").map_or(script, |(_, rest)| rest);
        let wish = RunRequest {
            conversation: Some(run.conversation),
            model: Some(format!("turns:\n{}", rest.trim_start_matches("turns:\n"))),
            owner: run.context.owner.clone(),
            channel: run.context.channel.clone(),
            ..RunRequest::default()
        };
        Box::pin(std::future::ready(self.of_wish(wish)))
    }

    fn worker_of(&self, run: &StoredRun) -> Option<u64> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        toolcrib_ops::runs::worker_of(run)
    }

    fn models(&self) -> Vec<String> {
        vec!["scripted/test".to_owned()]
    }

    fn test_model<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<(), HostError>> {
        let answers = model == "scripted/test";
        let refused = || HostError::Failed(format!("no model {model}"));
        Box::pin(std::future::ready(answers.then_some(()).ok_or_else(refused)))
    }

    fn default_agent(&self) -> Result<Agent, HostError> {
        let agent = self.runner.library().agent(GENERAL_ASSISTANT).cloned();
        agent.map_err(|error| HostError::NotFound(error.to_string()))
    }

    fn settings(&self) -> Result<Vec<SettingRow>, HostError> {
        let rows =
            self.settings.lock().unwrap().clone().into_iter().map(|(key, value)| SettingRow {
                key,
                value: value.into(),
                layer: "user".to_owned(),
                origin: "test".to_owned(),
                secret: false,
                live: true,
            });
        Ok(rows.collect())
    }

    fn set_setting(&self, key: &str, value: Option<&str>) -> Result<(), HostError> {
        let mut settings = self.settings.lock().unwrap();
        settings.retain(|(known, _)| known != key);
        settings.extend(value.map(|value| (key.to_owned(), value.to_owned())));
        Ok(())
    }

    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, HostError>> {
        Box::pin(async {
            let (toolcrib, settings) = &self.configured;
            let invalid = |error: &dyn std::fmt::Display| HostError::Invalid(error.to_string());
            let rules = rule_files::compile_files(&[RuleFile::new(Layer::User, self.rules_file())]);
            let rules = rules.map_err(|error| invalid(&error))?;
            let settings = Settings { rules, ..settings.clone() };
            let waiting = toolcrib.reconfigure(settings).await.map_err(|error| invalid(&error))?;
            let needs_restart = waiting.into_iter().map(str::to_owned).collect();
            Ok(Reloaded { needs_restart, ..Reloaded::default() })
        })
    }

    fn rules_file(&self) -> PathBuf {
        self.folder.join("config/rules.toml")
    }

    fn agents_folder(&self) -> PathBuf {
        self.folder.join("config/agents")
    }
}
