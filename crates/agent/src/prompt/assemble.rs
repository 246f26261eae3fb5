//! The parts of the system prompt in their order.

use super::{Parts, automation, sections};

/// A part of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSection {
    /// Its name, for people.
    pub name: &'static str,
    /// Its text.
    pub text: String,
}

/// Returns the non-empty parts of the system prompt, in order.
#[must_use]
pub fn prompt_sections(parts: &Parts<'_>) -> Vec<PromptSection> {
    let sections = [
        ("agent", Some(parts.agent_prompt.trim().to_owned())),
        ("custom instructions", parts.custom_instructions.and_then(sections::custom_instructions)),
        ("honesty", Some(sections::HONESTY.to_owned())),
        ("tool use", sections::tool_use(parts.tools)),
        ("tool groups", sections::groups(parts.groups)),
        ("when to act", Some(sections::WHEN_TO_ACT.to_owned())),
        ("guides", sections::guides(parts.guides, parts.tools)),
        ("kits", sections::kits(parts.kits, parts.tools)),
        ("skills", sections::skills(parts.skills, parts.tools)),
        ("project instructions", parts.instructions.map(sections::instructions)),
        ("memory", parts.memory.map(|memory| memory.trim().to_owned())),
        ("automation", automation::automation(parts.tools)),
        ("mail accounts", automation::mail_accounts(parts.mail_accounts, parts.tools)),
        ("scheduled tasks", automation::tasks(parts.tasks, parts.tools)),
        ("active skills", sections::active_skills(parts.active_skills)),
        ("context", Some(sections::environment(parts.context))),
        ("cards", automation::cards(parts.tools)),
    ];
    let section = |(name, text): (&'static str, Option<String>)| {
        let text = text.filter(|text| !text.is_empty())?;
        Some(PromptSection { name, text })
    };
    sections.into_iter().filter_map(section).collect()
}

/// Joins these parts to the system prompt.
#[must_use]
pub fn join_sections(sections: &[PromptSection]) -> String {
    let texts: Vec<&str> = sections.iter().map(|section| section.text.as_str()).collect();
    texts.join("\n\n") + "\n"
}

/// Builds the system prompt.
#[must_use]
pub fn system_prompt(parts: &Parts<'_>) -> String {
    join_sections(&prompt_sections(parts))
}
