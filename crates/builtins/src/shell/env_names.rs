//! Validates environment variables that a call sets.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;

use toolcrib_core::ToolError;

/// Variables that determine which programs run, where libraries come from, or how bash reads
/// commands: of bash (bash(1), "Shell Variables"), of programs that others start to show or edit
/// text (`PAGER`), and of interpreters, which load code from them before they run the program that
/// the command names.
const REFUSED_NAMES: [&str; 34] = [
    "PATH",
    "BASH_ENV",
    "ENV",
    "IFS",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "SHELL",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "GCONV_PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NPM_CONFIG_SCRIPT_SHELL",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "CLASSPATH",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
];
/// Prefixes of such variables.
const REFUSED_PREFIXES: [&str; 6] = ["LD_", "DYLD_", "GIT_", "PYTHON", "BASH_FUNC_", "__toolcrib"];

/// Names with such a prefix that start and load nothing: git(1) "Environment variables" and
/// python(1). A new name is refused until it is added to this list. `PYTHONWARNINGS` is missing,
/// because it imports the module of the category that it names.
const ALLOWED_NAMES: [&str; 31] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_FLUSH",
    "GIT_ICASE_PATHSPECS",
    "GIT_LFS_SKIP_SMUDGE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_MERGE_AUTOEDIT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_PROGRESS_DELAY",
    "GIT_TERMINAL_PROMPT",
    "PYTHONASYNCIODEBUG",
    "PYTHONDEVMODE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONMALLOC",
    "PYTHONNOUSERSITE",
    "PYTHONOPTIMIZE",
    "PYTHONSAFEPATH",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "PYTHONVERBOSE",
];

/// Maximum number of variables of one call.
const MOST: usize = 100;

/// Checks the variables of a call.
///
/// # Errors
/// A validation error that names the first variable that may not be set.
pub(crate) fn check_env(env: &BTreeMap<String, String>) -> Result<(), ToolError> {
    if env.len() > MOST {
        let text = format!(
            "`env` has more than {MOST} variables. Set fewer, or export them in the command."
        );
        return Err(ToolError::validation(text));
    }
    for (name, value) in env {
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty();
        if !is_name {
            return Err(ToolError::validation(format!(
                "`env` names {name:?}, which is not the name of a variable: it has letters, digits and _, and does not begin with a digit."
            )));
        }
        if changes_what_runs(name) {
            return Err(ToolError::validation(format!(
                "`env` must not set {name}, which changes what programs run. Leave it out."
            )));
        }
        if value.contains('\0') {
            return Err(ToolError::validation(format!(
                "The value of {name} in `env` holds a zero byte, which no variable can. Leave it out."
            )));
        }
    }
    Ok(())
}

fn changes_what_runs(name: &str) -> bool {
    let begins = |beginning: &&str| name.starts_with(*beginning);
    let is_refused = REFUSED_NAMES.contains(&name) || REFUSED_PREFIXES.iter().any(begins);
    // `CARGO_TARGET_<TRIPLE>_RUNNER` and `_LINKER` name programs for each target.
    let is_of_target = name.starts_with("CARGO_TARGET_")
        && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"));
    (is_refused || is_of_target) && !ALLOWED_NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_change_what_runs_are_refused() {
        let check = |name: &str, fine: bool| {
            let env = BTreeMap::from([(name.to_owned(), "x".to_owned())]);
            assert_eq!(check_env(&env).is_ok(), fine, "{name}");
        };
        for name in ["A", "_a1", "CARGO_HOME", "PATHS", "ENVIRONMENT", "NODE_ENV"] {
            check(name, true);
        }
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_DATE", "PYTHONUNBUFFERED", "PYTHONUTF8"] {
            check(name, true);
        }
        for name in [
            "GIT_EXEC_PATH",
            "GIT_CONFIG_COUNT",
            "GIT_DIR",
            "GIT_PAGER",
            "PYTHONHOME",
            "PYTHONWARNINGS",
            "PYTHONINSPECT",
            "NODE_OPTIONS",
            "PERL5OPT",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "RUSTC_WRAPPER",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "PAGER",
        ] {
            check(name, false);
        }
        for name in [
            "",
            "1A",
            "A-B",
            "A B",
            "A=B",
            "ä",
            "A\n",
            "PATH",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "DYLD_LIBRARY_PATH",
            "DYLD_FRAMEWORK_PATH",
            "BASH_ENV",
            "ENV",
            "IFS",
            "GIT_SSH_COMMAND",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "SHELLOPTS",
            "PROMPT_COMMAND",
        ] {
            check(name, false);
        }
        assert!(check_env(&BTreeMap::from([("A".to_owned(), "\0".to_owned())])).is_err());
    }
}
