//! Builds the job of the agent loop from a start request.

use std::sync::Arc;

use jiff::Zoned;
use toolcrib_agent::driver::{PromptWriter, RunJob};
use toolcrib_agent::library::{Agent, instructions};
use toolcrib_agent::machine::ActiveSkill;
use toolcrib_agent::prompt::{self, Parts, PromptContext};
use toolcrib_agent::tool_selection::SelectedTools;
use toolcrib_assistant::memory::PromptMemories;
use toolcrib_core::{Context, RunUsage, StoredRun, ViewRequest};
use toolcrib_providers::model::ModelInfo;

use super::{Runner, StartRequest, memory_prompt};

impl Runner {
    pub(super) fn job(
        &self,
        start: &StartRequest,
        used: RunUsage,
        taken: Option<&StoredRun>,
        memories: Arc<PromptMemories>,
    ) -> RunJob {
        let agent = &start.agent;
        let context = match taken {
            Some(run) => run.context.clone(),
            None => Context {
                agent: agent.name.clone(),
                conversation: start.conversation.to_string(),
                ..start.context.clone()
            },
        };
        RunJob {
            models: start.models.clone(),
            context: Arc::new(context),
            agent: agent.name.clone(),
            view: ViewRequest {
                role: agent.role.clone(),
                agent: agent.tools.clone(),
                ..ViewRequest::default()
            },
            prompt: self.prompt_writer(agent, memories),
            temperature: agent.temperature,
            max_output: agent.max_output,
            stream: start.stream,
            limits: start.limits.to_run_limits(agent),
            cost: start.limits.cost(agent),
            used,
            epoch: taken.map_or(0, |run| run.epoch),
            resumed: taken.is_some(),
            setup: start.setup.clone(),
        }
    }

    /// The system prompt of an agent. It stays the same until skills, tools or the model change, so
    /// that providers can cache it.
    fn prompt_writer(&self, agent: &Agent, memories: Arc<PromptMemories>) -> PromptWriter {
        let library = self.library();
        let soul = agent.prompt.clone();
        let workspace = self.settings.workspace.clone();
        let words =
            workspace.as_deref().and_then(|root| instructions::read(root, None).ok().flatten());
        let now = Zoned::now();
        Arc::new(move |offered: &SelectedTools, skills: &[ActiveSkill], model: &ModelInfo| {
            let bodies: Vec<(String, String)> = skills
                .iter()
                .filter(|active| active.in_prompt)
                .filter_map(|active| {
                    let body = library.skill(&active.name).ok()?.body().ok()?;
                    Some((active.name.clone(), body.instructions))
                })
                .collect();
            let active: Vec<prompt::ActiveSkill<'_>> = bodies
                .iter()
                .map(|(name, instructions)| prompt::ActiveSkill { name, instructions })
                .collect();
            let tools: Vec<&str> =
                offered.tools.iter().map(|entry| entry.spec().name.as_str()).collect();
            let memory = memory_prompt::section(&memories, &tools, model.on_device);
            escape_prompt_text(&prompt::system_prompt(&Parts {
                agent_prompt: &soul,
                tools: &tools,
                groups: &offered.groups,
                guides: &library.guides,
                kits: &library.kits,
                skills: &library.skills,
                instructions: words.as_ref(),
                memory: memory.as_deref(),
                active_skills: &active,
                context: &PromptContext {
                    now: now.clone(),
                    platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
                    model: format!("{}/{}", model.provider, model.model),
                    workspace: workspace.as_ref().map(|path| path.display().to_string()),
                },
            }))
        })
    }
}

/// Agents, skills, kits, guides and files of a workspace may be untrusted text: control tokens in
/// them are escaped.
fn escape_prompt_text(text: &str) -> String {
    toolcrib_sanitizer::sanitize(text, "text/markdown").text.into_owned()
}
