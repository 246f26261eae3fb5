//! Built-in agents, skills, kits and guides.

/// Agents: (name, text of the Markdown file).
pub(super) const AGENTS: [(&str, &str); 1] =
    [("general-assistant", include_str!("../../agents/general-assistant.md"))];

/// Skills: (folder, text of the `SKILL.md`).
pub(super) const SKILLS: [(&str, &str); 1] =
    [("create-skill", include_str!("../../skills/create-skill/SKILL.md"))];

/// Kits: (file, text).
pub(super) const KITS: [(&str, &str); 5] = [
    ("careful_edit.yaml", include_str!("../../kits/careful_edit.yaml")),
    ("code_quality.yaml", include_str!("../../kits/code_quality.yaml")),
    ("debug_cycle.yaml", include_str!("../../kits/debug_cycle.yaml")),
    ("project_setup.yaml", include_str!("../../kits/project_setup.yaml")),
    ("tdd_workflow.yaml", include_str!("../../kits/tdd_workflow.yaml")),
];

/// Guides: (file, text).
pub(super) const GUIDES: [(&str, &str); 9] = [
    ("code_exec.yaml", include_str!("../../guides/code_exec.yaml")),
    ("code_search.yaml", include_str!("../../guides/code_search.yaml")),
    ("diff_editor.yaml", include_str!("../../guides/diff_editor.yaml")),
    ("edit_file.yaml", include_str!("../../guides/edit_file.yaml")),
    ("execute_shell_command.yaml", include_str!("../../guides/execute_shell_command.yaml")),
    ("git_manager.yaml", include_str!("../../guides/git_manager.yaml")),
    ("lsp_manager.yaml", include_str!("../../guides/lsp_manager.yaml")),
    ("test_runner.yaml", include_str!("../../guides/test_runner.yaml")),
    ("write_file.yaml", include_str!("../../guides/write_file.yaml")),
];

/// Returns the text of a skill.
pub(super) fn skill(name: &str) -> Option<&'static str> {
    SKILLS.iter().find(|(folder, _)| *folder == name).map(|(_, text)| *text)
}
