//! Previews the first request of a run to a model.

use toolcrib_agent::context::estimate_text;
use toolcrib_agent::driver::preview_declarations;
use toolcrib_core::ViewRequest;

use super::{Runner, RunnerError, StartRequest};

/// The system prompt and the declarations of a first request.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptPreview {
    /// The model, as `provider/model`.
    pub model: String,
    /// The parts of the system prompt in order: name, text, estimated tokens.
    pub parts: Vec<(&'static str, String, u64)>,
    /// The declared tools with the estimated tokens of each.
    pub tools: Vec<(String, u64)>,
    /// Estimated tokens of all declarations.
    pub declaration_tokens: u64,
    /// Tools that the model can find but that are not declared.
    pub left_out: usize,
    /// Context window of the model, in tokens.
    pub window: u64,
}

impl Runner {
    /// Returns the content of a run's first request; nothing is sent or stored.
    ///
    /// # Errors
    /// [`RunnerError::Agent`] if a skill of the agent cannot be used.
    pub async fn preview(&self, start: &StartRequest) -> Result<PromptPreview, RunnerError> {
        let agent = &start.agent;
        let skills = self.first_skills(agent, start.skill.as_deref())?;
        let Some(model) = start.models.first() else {
            return Err(RunnerError::Agent("there is no model".to_owned()));
        };
        let info = model.info();
        let window = self.settings.windows.for_model(info);
        let view = ViewRequest {
            role: agent.role.clone(),
            agent: agent.tools.clone(),
            ..ViewRequest::default()
        };
        let declared = preview_declarations(
            self.toolcrib.catalog(),
            self.toolcrib.settings().discovery.offer,
            &self.toolcrib.on_device_tools(),
            view,
            &**model,
            window.tokens,
        );
        let texts = self.person_texts(agent, &start.context.owner).await;
        let sections = self.section_writer(agent, texts, start.context.surroundings.clone())(
            &declared.offered,
            &skills,
            info,
        );
        let parts = sections.into_iter().map(|part| {
            let tokens = estimate_text(&part.text);
            (part.name, part.text, tokens)
        });
        Ok(PromptPreview {
            model: format!("{}/{}", info.provider, info.model),
            parts: parts.collect(),
            left_out: declared.offered.left_out,
            tools: declared.tools,
            declaration_tokens: declared.tokens,
            window: window.tokens,
        })
    }
}
