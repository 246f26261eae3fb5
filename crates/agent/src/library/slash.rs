//! `/name` at the start of a message: the skill that a person wants for it.

use super::load::Library;
use super::skill::Skill;

/// The skill that a message begins with, and the words behind its name. The message itself is sent as it is (SPEC 1.11); `None` when
/// it does not begin with `/` and the name of a skill.
#[must_use]
pub fn slash<'l, 't>(text: &'t str, library: &'l Library) -> Option<(&'l Skill, &'t str)> {
    let words = text.strip_prefix('/')?;
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let skill = library.skills.iter().find(|skill| skill.name == name)?;
    Some((skill, rest.trim_start()))
}
