//! Builds the job of the agent loop from a start request.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use toolcrib_agent::driver::{PromptWriter, RunJob};
use toolcrib_agent::library::{Agent, instructions};
use toolcrib_agent::machine::ActiveSkill;
use toolcrib_agent::prompt::{self, Parts, PromptContext, PromptSection};
use toolcrib_agent::tool_selection::SelectedTools;
use toolcrib_core::{Context, RunUsage, StoredRun, Surroundings, ViewRequest};
use toolcrib_providers::model::ModelInfo;

use super::person_texts::{self, PersonTexts};
use super::{Runner, StartRequest};

impl Runner {
    pub(super) fn job(
        &self,
        start: &StartRequest,
        used: RunUsage,
        taken: Option<&StoredRun>,
        texts: PersonTexts,
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
        let prompt = self.prompt_writer(agent, texts, context.surroundings.clone());
        RunJob {
            models: start.models.clone(),
            context: Arc::new(context),
            agent: agent.name.clone(),
            view: ViewRequest {
                role: agent.role.clone(),
                agent: agent.tools.clone(),
                ..ViewRequest::default()
            },
            prompt,
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

    /// Returns the writer of an agent's system prompt. The prompt stays the same until skills,
    /// tools or the model change, so that providers can cache it.
    fn prompt_writer(
        &self,
        agent: &Agent,
        texts: PersonTexts,
        surroundings: Surroundings,
    ) -> PromptWriter {
        let sections = self.section_writer(agent, texts, surroundings);
        Arc::new(move |offered: &SelectedTools, skills: &[ActiveSkill], model: &ModelInfo| {
            prompt::join_sections(&sections(offered, skills, model))
        })
    }

    /// Returns the writer of the parts of an agent's system prompt.
    pub(super) fn section_writer(
        &self,
        agent: &Agent,
        texts: PersonTexts,
        surroundings: Surroundings,
    ) -> SectionWriter {
        let library = self.library();
        let agent_prompt = agent.prompt.clone();
        let workspace = self.settings.workspace.clone();
        let words =
            workspace.as_deref().and_then(|root| instructions::read(root, None).ok().flatten());
        let zone = surroundings.zone().and_then(|zone| TimeZone::get(zone).ok());
        let now = Timestamp::now().to_zoned(zone.unwrap_or_else(TimeZone::system));
        Box::new(move |offered: &SelectedTools, skills: &[ActiveSkill], model: &ModelInfo| {
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
            let memory = person_texts::memory_section(&texts.memories, &tools, model.on_device);
            let mut sections = prompt::prompt_sections(&Parts {
                agent_prompt: &agent_prompt,
                custom_instructions: texts.custom_instructions.as_deref(),
                tools: &tools,
                groups: &offered.groups,
                guides: &library.guides,
                kits: &library.kits,
                skills: &library.skills,
                instructions: words.as_ref(),
                memory: memory.as_deref(),
                mail_accounts: &texts.mail_accounts,
                tasks: &texts.tasks,
                active_skills: &active,
                context: &PromptContext {
                    now: now.clone(),
                    surroundings: surroundings.clone(),
                    platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
                    model: format!("{}/{}", model.provider, model.model),
                    workspace: workspace.as_ref().map(|path| path.display().to_string()),
                },
            });
            let news = person_texts::goal_section(&texts.ended_goals, &tools);
            sections.extend(news.map(|text| PromptSection { name: "ended goals", text }));
            let signals = person_texts::signal_section(&texts.signals, &tools);
            sections.extend(signals.map(|text| PromptSection { name: "signals of apps", text }));
            for section in &mut sections {
                section.text = escape_prompt_text(&section.text);
            }
            sections
        })
    }
}

/// Writes the parts of the system prompt for a model with these tools and active skills.
pub(super) type SectionWriter =
    Box<dyn Fn(&SelectedTools, &[ActiveSkill], &ModelInfo) -> Vec<PromptSection> + Send + Sync>;

/// Escapes control tokens: agents, skills, kits, guides and files of a workspace may be untrusted
/// text.
fn escape_prompt_text(text: &str) -> String {
    toolcrib_sanitizer::sanitize(text, "text/markdown").text.into_owned()
}
