//! Attributes an invalid value from the environment to its variable, not to an option that was
//! never typed.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error};

/// Returns the message for a value of a variable that its option does not accept; `None` if the
/// error is about the typed arguments.
pub(super) fn describe(command: &Command, args: &[OsString], error: &Error) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let option = option.split_whitespace().next()?.strip_prefix("--")?;
    let typed = format!("--{option}");
    let was_typed = args.iter().filter_map(|arg| arg.to_str()).any(|arg| {
        arg.strip_prefix(&typed).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    });
    if was_typed {
        return None;
    }
    let variable = variable_of(command, option)?;
    let value = std::env::var_os(&variable).filter(|value| !value.is_empty())?;
    let known = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(known)) => format!("; known are {}", known.join(", ")),
        _ => String::new(),
    };
    let why = std::error::Error::source(error).map(|why| format!(": {why}")).unwrap_or_default();
    Some(format!(
        "the variable {} cannot be {:?}{why}{known}",
        variable.display(),
        value.to_string_lossy()
    ))
}

/// Returns the variable of an option, of any command.
fn variable_of(command: &Command, option: &str) -> Option<OsString> {
    let own = command.get_arguments().find(|arg| arg.get_long() == Some(option));
    let own = own.and_then(|arg| arg.get_env()).map(OsString::from);
    own.or_else(|| command.get_subcommands().find_map(|inner| variable_of(inner, option)))
}
