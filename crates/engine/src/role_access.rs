//! Access of roles to tools: `allow_TOOL_ROLE`, else `allow_TOOL`, else allowed;
//! `allow_code_execution` overrides both.

use std::collections::BTreeMap;

use toolcrib_core::{Permission, ToolSpec};

use crate::tool_names::names;

/// Name in flags for all tools that run code or programs.
const CODE_EXECUTION: &str = "code_execution";

/// Returns the flag that denies a role a tool; `None` if the role may use it. A flag may name any
/// alias of the tool, and one denying flag is enough.
pub(crate) fn denied(
    flags: &BTreeMap<String, bool>,
    role: &str,
    spec: &ToolSpec,
) -> Option<String> {
    if flags.is_empty() {
        return None;
    }
    let runs = spec.reach.exec || spec.permissions.contains(&Permission::Exec);
    let code = if runs { code_execution_denied(flags, role) } else { None };
    code.or_else(|| first_denying_flag(flags, role, names(spec)))
}

/// Returns the flag that denies a role a call that runs code or programs although its tool does not
/// always do so: the assessment of the call adds these permissions.
pub(crate) fn call_denied(
    flags: &BTreeMap<String, bool>,
    role: &str,
    extra: &[Permission],
) -> Option<String> {
    if extra.contains(&Permission::Exec) { code_execution_denied(flags, role) } else { None }
}

fn code_execution_denied(flags: &BTreeMap<String, bool>, role: &str) -> Option<String> {
    first_denying_flag(flags, role, std::iter::once(CODE_EXECUTION))
}

/// Returns the first denying flag. The role's own flags have precedence; if one exists, flags
/// without a role are ignored.
fn first_denying_flag<'a>(
    flags: &BTreeMap<String, bool>,
    role: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Option<String> {
    let said = |of_role: bool| {
        let names = names.clone().map(move |name| {
            if of_role { format!("allow_{name}_{role}") } else { format!("allow_{name}") }
        });
        let said = names.filter_map(|flag| flags.get(&flag).map(|allowed| (flag, *allowed)));
        said.collect::<Vec<_>>()
    };
    let mut speaking = if role.is_empty() { Vec::new() } else { said(true) };
    if speaking.is_empty() {
        speaking = said(false);
    }
    speaking.into_iter().find(|(_, allowed)| !allowed).map(|(flag, _)| flag)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_core::{Reach, ToolName};

    use super::*;

    fn shell() -> ToolSpec {
        let mut spec = ToolSpec::new(
            ToolName::local("execute_shell_command").unwrap(),
            "Runs a command.",
            json!({"type": "object"}),
        );
        spec.aliases = vec!["bash_manager".into()];
        spec.reach = Reach { exec: true, ..Reach::default() };
        spec
    }

    #[test]
    fn the_flag_of_a_role_counts_before_the_general_one() {
        let check = |flags: &[(&str, bool)], role: &str, expected: Option<&str>| {
            let flags = flags.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect();
            assert_eq!(denied(&flags, role, &shell()).as_deref(), expected, "{flags:?} {role:?}");
        };
        check(&[], "viewer", None);
        let one = ("allow_execute_shell_command_viewer", false);
        check(&[one], "viewer", Some("allow_execute_shell_command_viewer"));
        check(&[one], "coder", None);
        check(&[one], "", None);
        let general = ("allow_execute_shell_command", false);
        check(&[general], "", Some("allow_execute_shell_command"));
        check(&[general], "coder", Some("allow_execute_shell_command"));
        check(&[general, ("allow_execute_shell_command_coder", true)], "coder", None);
        check(&[("allow_execute_shell_command", true), one], "viewer", Some(one.0));
        check(&[("allow_bash_manager", false)], "x", Some("allow_bash_manager"));
        check(&[("allow_bash_manager_x", false), general], "x", Some("allow_bash_manager_x"));
        check(
            &[("allow_execute_shell_command_x", true), ("allow_bash_manager_x", false)],
            "x",
            Some("allow_bash_manager_x"),
        );
        let code = ("allow_code_execution", false);
        check(&[code], "", Some("allow_code_execution"));
        check(&[code, ("allow_execute_shell_command", true)], "", Some("allow_code_execution"));
        check(&[code, ("allow_code_execution_coder", true)], "coder", None);
        check(&[("allow_read_file", false)], "viewer", None);
        // A role that is empty names nothing.
        check(&[("allow_execute_shell_command_", false)], "", None);
    }

    #[test]
    fn code_execution_is_about_what_runs_code() {
        let mut spec = shell();
        spec.reach.exec = false;
        let flags = BTreeMap::from([("allow_code_execution".to_owned(), false)]);
        assert_eq!(denied(&flags, "", &spec), None);
        let flag = Some("allow_code_execution".to_owned());
        spec.permissions = vec![Permission::Exec];
        assert_eq!(denied(&flags, "", &spec), flag);
        assert_eq!(call_denied(&flags, "", &[Permission::Exec]), flag);
        assert_eq!(call_denied(&flags, "", &[Permission::FsRead]), None);
    }
}
