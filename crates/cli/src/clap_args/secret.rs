//! `toolcrib secret`.

use clap::{Args, Subcommand};

use super::shared::LibraryArgs;

pub(super) const SECRET_HELP: &str = "\
Examples:
  toolcrib secret set weather.API_KEY          # asks, and shows nothing of what is typed
  toolcrib secret set openai < key.txt
  toolcrib secret list

A secret TOOL.KEY is the value of the configuration key KEY of the tool TOOL. Any other name is used by naming it: \
[providers.ID] key = { secret = \"NAME\" }, [tools.TOOL.config] KEY = { secret = \"NAME\" } (docs/secrets.md).

Exit codes: 2 no name or value of a secret, 3 the vault cannot be used, 4 there is no such secret.";

#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Keep a secret, or replace it: its value is typed at the terminal, unseen, or read from
    /// standard input.
    Set(SecretSet),
    /// List the secrets by name, when each was set and who uses it; never their values.
    List(LibraryArgs),
    /// Remove a secret.
    Rm {
        /// Its name.
        name: String,
    },
    /// Encrypt everything anew with a new key.
    Rotate,
}

#[derive(Args)]
pub(crate) struct SecretSet {
    /// Its name, such as `openai`, or `TOOL.KEY` for the configuration key of a tool.
    pub(crate) name: String,
    /// Taken only to be refused with the reason.
    #[arg(hide = true, allow_hyphen_values = true, trailing_var_arg = true)]
    pub(crate) value: Vec<String>,
}

impl std::fmt::Debug for SecretSet {
    /// Without what may be a value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretSet")
    }
}
