//! `toolcrib secret`.

use clap::{Args, Subcommand};

use super::shared::LibraryArgs;

pub(super) const SECRET_HELP: &str = "\
Examples:
  toolcrib secret set weather.API_KEY          # asks for the value, without echo
  toolcrib secret set openai < key.txt
  toolcrib secret list

A secret TOOL.KEY is the value of the configuration key KEY of the tool TOOL. Refer to any other secret by its name: \
[providers.ID] key = { secret = \"NAME\" }, [tools.TOOL.config] KEY = { secret = \"NAME\" } (docs/secrets.md).

Exit codes: 2 the name or value is invalid, 3 the vault cannot be opened, 4 the secret does not exist.";

#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Set or replace a secret; its value is typed at the terminal without echo, or read from
    /// standard input.
    Set(SecretSet),
    /// List secrets by name, with the time they were set and the components that use them; never
    /// their values.
    List(LibraryArgs),
    /// Remove a secret.
    Rm {
        /// Name of the secret.
        name: String,
    },
    /// Encrypt all secrets with a new key.
    Rotate,
}

#[derive(Args)]
pub(crate) struct SecretSet {
    /// Name of the secret, such as `openai`, or `TOOL.KEY` for the configuration key of a tool.
    pub(crate) name: String,
    /// Accepted only to be refused with the reason.
    #[arg(hide = true, allow_hyphen_values = true, trailing_var_arg = true)]
    pub(crate) value: Vec<String>,
}

impl std::fmt::Debug for SecretSet {
    /// Formats the arguments without a part that may be a secret value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretSet")
    }
}
