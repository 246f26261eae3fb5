//! Validates environment variables that a call sets.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;

use toolcrib_core::ToolError;

/// Variables that change which programs run, where libraries come from, or how bash reads commands.
const REFUSED_NAMES: [&str; 8] =
    ["PATH", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND"];
/// Prefixes of such variables.
const REFUSED_PREFIXES: [&str; 6] = ["LD_", "DYLD_", "GIT_", "PYTHON", "BASH_FUNC_", "__toolcrib"];

/// Most variables of one call.
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
                "`env` names {name:?}, which is no name of a variable: it has letters, digits and _, and does not begin with a digit."
            )));
        }
        let begins = |beginning: &&str| name.starts_with(*beginning);
        if REFUSED_NAMES.contains(&name.as_str()) || REFUSED_PREFIXES.iter().any(begins) {
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
