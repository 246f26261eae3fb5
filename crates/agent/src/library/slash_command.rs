//! Slash commands: `/name` at the start of a message activates a skill.

use super::loader::Library;
use super::skill::Skill;

/// Returns the skill with which a message begins, and the text after its name. The message itself
/// is sent unchanged. `None` if it does not begin with `/` and the name of a skill.
#[must_use]
pub fn parse_slash_command<'l, 't>(
    text: &'t str,
    library: &'l Library,
) -> Option<(&'l Skill, &'t str)> {
    let words = text.strip_prefix('/')?;
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let skill = library.skills.iter().find(|skill| skill.name == name)?;
    Some((skill, rest.trim_start()))
}
