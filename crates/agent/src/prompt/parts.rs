//! The parts of a system prompt.

use jiff::Zoned;
use toolcrib_core::Surroundings;

use crate::library::{Guide, Instructions, Kit, Skill};
use crate::tool_selection::ToolGroup;

/// Environment of a run: time, platform, model, workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptContext {
    /// The time in the user's time zone.
    pub now: Zoned,
    /// Information of the surface about the user.
    pub surroundings: Surroundings,
    /// Operating system and processor, such as `linux x86_64`.
    pub platform: String,
    /// The model, as `provider/model`.
    pub model: String,
    /// The workspace folder; `None` if there is none.
    pub workspace: Option<String>,
}

/// An active skill with its instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveSkill<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its body.
    pub instructions: &'a str,
}

/// The parts of a system prompt. The caller must sanitize text from external sources.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// The agent's prompt: the role of the model.
    pub agent_prompt: &'a str,
    /// The person's instructions for every run.
    pub custom_instructions: Option<&'a str>,
    /// Canonical names of the tools in view, in order; empty if the model answers without tools.
    pub tools: &'a [&'a str],
    /// Groups of tools that can be loaded; empty if all tools are declared.
    pub groups: &'a [ToolGroup],
    /// All guides of the library; one is used only if its tool is in view.
    pub guides: &'a [Guide],
    /// All kits of the library; one is used only if all its tools are in view.
    pub kits: &'a [Kit],
    /// All skills that can be loaded; they are listed only if `load_skill` is in view.
    pub skills: &'a [Skill],
    /// Instructions of the workspace.
    pub instructions: Option<&'a Instructions>,
    /// Memories, and instructions for the tools that manage them.
    pub memory: Option<&'a str>,
    /// Addresses of the person's mail accounts.
    pub mail_accounts: &'a [String],
    /// Tasks that wait for their scheduled time, one line each, soonest first.
    pub tasks: &'a [String],
    /// Active skills, in order of activation.
    pub active_skills: &'a [ActiveSkill<'a>],
    /// The environment.
    pub context: &'a PromptContext,
}
