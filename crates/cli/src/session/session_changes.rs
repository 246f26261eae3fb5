//! Changes during a session whose conversation continues: the agent, the model, the workspace.

use std::path::Path;

use super::run_environment::{apply_agent_preset, choose_models, find_agent};
use super::{ModelConnections, Session, SessionOptions, open_session};
use crate::bootstrap;
use crate::config::{Env, ModelChain};
use crate::output::Failure;

impl Session {
    /// Switches to another agent; returns warnings.
    ///
    /// # Errors
    /// An unknown name, or an agent whose model cannot be used; nothing is changed in that case.
    pub(crate) async fn use_agent(&mut self, name: &str) -> Result<Vec<String>, Failure> {
        let env = Env::from_process();
        let config = bootstrap::load_config(&self.setup.workspace_args())?;
        let new = find_agent(&self.runner, Some(name), &config)?;
        let mut warnings = Vec::new();
        if !self.setup.names_model() && new.model != self.agent.model {
            let ModelChain { models, stream, warnings: more } =
                choose_models(&self.setup.model_args(), &new, &config, &env)?;
            warnings.extend(more);
            let connections = ModelConnections::new(&self.stores);
            self.models = connections.connect(models, &self.runner, &mut warnings).await?;
            self.stream = stream;
        }
        let said = config.effective_preset(self.setup.workspace_args().policy);
        apply_agent_preset(&self.toolcrib, &new, said, &mut warnings);
        self.setup.agent.clone_from(&new.name);
        self.agent = new;
        Ok(warnings)
    }

    /// Switches to another model; returns warnings.
    ///
    /// # Errors
    /// A model that cannot be used; nothing is changed in that case.
    pub(crate) async fn use_model(&mut self, name: &str) -> Result<Vec<String>, Failure> {
        let env = Env::from_process();
        let config = bootstrap::load_config(&self.setup.workspace_args())?;
        let mut setup = self.setup.clone();
        setup.use_model(name);
        let ModelChain { models, stream, mut warnings } =
            choose_models(&setup.model_args(), &self.agent, &config, &env)?;
        let connections = ModelConnections::new(&self.stores);
        self.models = connections.connect(models, &self.runner, &mut warnings).await?;
        (self.setup, self.stream) = (setup, stream);
        Ok(warnings)
    }

    /// Returns the session in another workspace, with its tools, agents and skills instead of the
    /// old ones, and the same models.
    ///
    /// # Errors
    /// A folder that cannot be used; this session stays unchanged.
    pub(crate) async fn with_workspace(&self, workspace: &Path) -> Result<Self, Failure> {
        let path = workspace
            .canonicalize()
            .map_err(|error| Failure::usage(format!("{}: {error}", workspace.display())))?;
        // Hooks belong to a workspace: those of the old one receive no events after this.
        bootstrap::flush_hooks(&self.toolcrib).await;
        let setup = self.setup.with_workspace(path);
        let opening = || SessionOptions {
            on_ask: self.on_ask,
            console: self.console.clone(),
            models: Some((self.models.clone(), self.stream)),
        };
        let mut brain = setup.model_args();
        match open_session(&brain, &setup.workspace_args(), opening()).await {
            Err(failure) if failure.code == 4 => {
                brain.agent = None;
                let mut session = open_session(&brain, &setup.workspace_args(), opening()).await?;
                session.warnings.push(format!(
                    "agent {} is not there; {} answers",
                    self.agent.name, session.agent.name
                ));
                Ok(session)
            }
            session => session,
        }
    }
}
