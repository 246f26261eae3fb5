//! What is shipped in the program.

/// Agents: (name, text of its Markdown file).
pub(super) const AGENTS: [(&str, &str); 1] =
    [("general-assistant", include_str!("../../agents/general-assistant.md"))];

/// Skills: (folder, text of its `SKILL.md`).
pub(super) const SKILLS: [(&str, &str); 1] =
    [("create-skill", include_str!("../../skills/create-skill/SKILL.md"))];

/// Kits: (file, text).
pub(super) const KITS: [(&str, &str); 1] =
    [("careful_edit.yaml", include_str!("../../kits/careful_edit.yaml"))];

/// Guides: (file, text).
pub(super) const GUIDES: [(&str, &str); 1] =
    [("edit_file.yaml", include_str!("../../guides/edit_file.yaml"))];

/// The text of a skill.
pub(super) fn skill(name: &str) -> Option<&'static str> {
    SKILLS.iter().find(|(folder, _)| *folder == name).map(|(_, text)| *text)
}
