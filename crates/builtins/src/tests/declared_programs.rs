//! Checks that every tool that starts programs declares `Permission::Exec`, which permissions and
//! `allow_code_execution` depend on.

use toolcrib_core::Permission;

use crate::specs;

/// Tools that start our programs or system programs with arguments of ours, in which neither the
/// model nor a file of the workspace can name another program.
const FIXED: [(&str, &str); 4] = [
    ("diff_editor", "git shows what has changed, with every program of a repository switched off"),
    ("git_manager", "git, with every program of a repository switched off"),
    ("pdf_read", "this executable as a reader of documents"),
    ("read", "this executable as a reader of documents"),
];

/// Names in the source of a handler that starts programs.
const STARTERS: [&str; 7] = [
    "ProgramRunner",
    "program_runner",
    "Shells",
    "Servers",
    "Documents",
    "git: Git",
    "Command::new",
];

#[test]
fn a_tool_that_starts_programs_declares_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tool");
    let mut starting = Vec::new();
    for spec in specs() {
        let name = spec.name.as_str();
        let source = std::fs::read_to_string(format!("{folder}/{name}.rs")).unwrap();
        let source = source.split("#[cfg(test)]").next().unwrap();
        let starts = STARTERS.iter().any(|word| source.contains(word))
            || source.contains("git: Option<Git>");
        let declares = spec.permissions.contains(&Permission::Exec) || spec.reach.exec;
        let is_fixed = FIXED.iter().any(|(fixed, _)| *fixed == name);
        // `manage_process` only lists and ends programs of `execute_shell_command`.
        let starts = starts && name != "manage_process";
        assert_eq!(starts, declares || is_fixed, "{name}: declare Permission::Exec in its spec()");
        assert!(!(declares && is_fixed), "{name}");
        starting.extend(starts.then_some(name.to_owned()));
    }
    let known = [
        "diff_editor",
        "execute_shell_command",
        "git_manager",
        "lsp_manager",
        "open_file",
        "pdf_read",
        "read",
        "ssh_configure_host",
        "test_runner",
    ];
    starting.sort();
    assert_eq!(starting, known);
}
