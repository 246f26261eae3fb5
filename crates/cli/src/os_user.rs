//! The name of the person at the terminal, for records of decisions.

use std::env;

/// Returns the login name, else "command line".
pub(crate) fn current_user() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(|variable| env::var(variable).ok().filter(|name| !name.trim().is_empty()));
    named.unwrap_or_else(|| "command line".to_owned())
}
