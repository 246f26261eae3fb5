//! The system prompt, built from pure parts.
//!
//! The order is SPEC 1.11's, with parts that change rarely first and the time last, so that providers can keep the beginning in their
//! caches. The same parts give the same bytes. Parts whose features do not exist (memory, mail, schedules) have no builder.
//!
//! A golden file under `golden/` holds each combination; `TOOLCRIB_BLESS=1 cargo test -p toolcrib-agent` writes them anew.

mod section;

use jiff::Zoned;

use crate::library::{Guide, Instructions, Kit, Skill};
use crate::offer::ToolGroup;

/// Where and when a run takes place.
#[derive(Debug, Clone, PartialEq)]
pub struct Surroundings {
    /// The time in the person's zone.
    pub now: Zoned,
    /// Operating system and processor, such as `linux x86_64`.
    pub platform: String,
    /// The model, as `provider/model`.
    pub model: String,
    /// The workspace folder; `None` = there is none.
    pub workspace: Option<String>,
}

/// A skill that is in force, with its instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveSkill<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its body.
    pub instructions: &'a str,
}

/// Everything that a system prompt is made of. Texts from outside the program should have been sanitised by the caller.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// The agent's prompt: who the model is.
    pub soul: &'a str,
    /// Canonical names of the tools in view, in its order; empty = the model answers without tools.
    pub tools: &'a [&'a str],
    /// Groups of tools that can be loaded; empty = all tools are there.
    pub groups: &'a [ToolGroup],
    /// All guides of the library; one is in the prompt only if its tool is in view (DESIGN 9).
    pub guides: &'a [Guide],
    /// All kits of the library; one is in the prompt only if all its tools are in view (DESIGN 9).
    pub kits: &'a [Kit],
    /// All skills that can be loaded; they are listed only if `load_skill` is in view.
    pub skills: &'a [Skill],
    /// The workspace's own words.
    pub instructions: Option<&'a Instructions>,
    /// Skills in force, in order of activation.
    pub active_skills: &'a [ActiveSkill<'a>],
    /// Where and when.
    pub surroundings: &'a Surroundings,
}

/// The system prompt.
#[must_use]
pub fn system(parts: &Parts<'_>) -> String {
    let sections = [
        Some(parts.soul.trim().to_owned()),
        Some(section::HONESTY.to_owned()),
        section::tool_use(parts.tools),
        section::groups(parts.groups),
        Some(section::WHEN_TO_ACT.to_owned()),
        section::guides(parts.guides, parts.tools),
        section::kits(parts.kits, parts.tools),
        section::skills(parts.skills, parts.tools),
        parts.instructions.map(section::instructions),
        section::active_skills(parts.active_skills),
        Some(section::context(parts.surroundings)),
    ];
    let present = sections.into_iter().flatten().filter(|section| !section.is_empty());
    present.collect::<Vec<_>>().join("\n\n") + "\n"
}

#[cfg(test)]
mod tests;
