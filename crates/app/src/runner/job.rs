//! From what is wanted of a run to what the loop is driven with.

use std::sync::Arc;

use jiff::Zoned;
use toolcrib_agent::drive::{Job, PromptWriter};
use toolcrib_agent::library::{Agent, instructions};
use toolcrib_agent::machine::ActiveSkill;
use toolcrib_agent::offer::Offered;
use toolcrib_agent::prompt::{self, Parts, Surroundings};
use toolcrib_core::{Context, RunUsage, StoredRun, ViewRequest};
use toolcrib_providers::model::ModelInfo;

use super::{Runner, Start};

impl Runner {
    pub(super) fn job(&self, start: &Start, used: RunUsage, taken: Option<&StoredRun>) -> Job {
        let agent = &start.agent;
        let context = match taken {
            Some(run) => run.context.clone(),
            None => Context {
                agent: agent.name.clone(),
                conversation: start.conversation.to_string(),
                ..start.context.clone()
            },
        };
        Job {
            models: start.models.clone(),
            context: Arc::new(context),
            agent: agent.name.clone(),
            view: ViewRequest {
                role: agent.role.clone(),
                agent: agent.tools.clone(),
                ..ViewRequest::default()
            },
            prompt: self.prompt_writer(agent),
            temperature: agent.temperature,
            max_output: agent.max_output,
            stream: start.stream,
            limits: start.limits.of_run(agent),
            cost: start.limits.cost(agent),
            used,
            epoch: taken.map_or(0, |run| run.epoch),
            resumed: taken.is_some(),
            setup: start.setup.clone(),
        }
    }

    /// The system prompt of an agent; the same until skills, tools or the model change, so that providers can keep it in their caches.
    fn prompt_writer(&self, agent: &Agent) -> PromptWriter {
        let library = self.library();
        let soul = agent.prompt.clone();
        let workspace = self.settings.workspace.clone();
        let words =
            workspace.as_deref().and_then(|root| instructions::read(root, None).ok().flatten());
        let now = Zoned::now();
        Arc::new(move |offered: &Offered, skills: &[ActiveSkill], model: &ModelInfo| {
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
            harmless(&prompt::system(&Parts {
                soul: &soul,
                tools: &tools,
                groups: &offered.groups,
                guides: &library.guides,
                kits: &library.kits,
                skills: &library.skills,
                instructions: words.as_ref(),
                active_skills: &active,
                surroundings: &Surroundings {
                    now: now.clone(),
                    platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
                    model: format!("{}/{}", model.provider, model.model),
                    workspace: workspace.as_ref().map(|path| path.display().to_string()),
                },
            }))
        })
    }
}

/// Agents, skills, kits, guides and files of a workspace may be anybody's: none of them may hold what a provider would take for its own
/// control tokens.
fn harmless(text: &str) -> String {
    toolcrib_engine::text::sanitize(text, "text/markdown").text.into_owned()
}
