//! What changes in a session while its conversation goes on: the agent, the model, the workspace.

use std::path::Path;

use super::ground::{agent, choose, use_mode};
use super::{Connections, Opening, Session, open};
use crate::config::{Chosen, Env};
use crate::output::Failure;
use crate::world;

impl Session {
    /// Another agent answers from now on; what people should know of it.
    ///
    /// # Errors
    /// When there is none of this name, or its model cannot be used; then nothing is changed.
    pub(crate) async fn use_agent(&mut self, name: &str) -> Result<Vec<String>, Failure> {
        let env = Env::of_process();
        let config = world::configured(&self.setup.world())?;
        let new = agent(&self.runner, Some(name), &config)?;
        let mut warnings = Vec::new();
        if !self.setup.names_model() && new.model != self.agent.model {
            let Chosen { models, stream, warnings: more } =
                choose(&self.setup.brain(), &new, &config, &env)?;
            warnings.extend(more);
            self.models = Connections::new(&self.stores).connect(models, &mut warnings).await?;
            self.stream = stream;
        }
        let said = config.preset(self.setup.world().policy);
        use_mode(&self.toolcrib, &new, said, &mut warnings);
        self.setup.agent.clone_from(&new.name);
        self.agent = new;
        Ok(warnings)
    }

    /// Another model answers from now on; what people should know of it.
    ///
    /// # Errors
    /// When it cannot be used; then nothing is changed.
    pub(crate) async fn use_model(&mut self, name: &str) -> Result<Vec<String>, Failure> {
        let env = Env::of_process();
        let config = world::configured(&self.setup.world())?;
        let mut setup = self.setup.clone();
        setup.use_model(name);
        let Chosen { models, stream, mut warnings } =
            choose(&setup.brain(), &self.agent, &config, &env)?;
        self.models = Connections::new(&self.stores).connect(models, &mut warnings).await?;
        (self.setup, self.stream) = (setup, stream);
        Ok(warnings)
    }

    /// The same session on another workspace: its tools, agents and skills are there, those of the old one are not. Models go on.
    ///
    /// # Errors
    /// When the folder cannot be used; this session stays as it is.
    pub(crate) async fn at(&self, workspace: &Path) -> Result<Self, Failure> {
        let path = workspace
            .canonicalize()
            .map_err(|error| Failure::usage(format!("{}: {error}", workspace.display())))?;
        // Hooks are of a workspace: those of the old one hear of nothing after this.
        world::settle(&self.toolcrib).await;
        let setup = self.setup.at(path);
        let opening = || Opening {
            on_ask: self.on_ask,
            console: self.console.clone(),
            models: Some((self.models.clone(), self.stream)),
        };
        let mut brain = setup.brain();
        match open(&brain, &setup.world(), opening()).await {
            Err(failure) if failure.code == 4 => {
                brain.agent = None;
                let mut session = open(&brain, &setup.world(), opening()).await?;
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
