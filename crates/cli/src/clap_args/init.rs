//! `toolcrib init`.

use clap::Args;

pub(super) const INIT_HELP: &str = "\
Examples:
  toolcrib init                                   # finds a key in the environment, or Ollama
  toolcrib init --model anthropic/claude-sonnet-5
  toolcrib init --provider ollama --model qwen3 --no-test
  toolcrib secret set anthropic && toolcrib init --model anthropic/claude-sonnet-5 --key-secret anthropic

Keys are never written to the configuration: they stay in their environment variable or in the vault. Without a terminal, the command asks no \
questions and chooses the first provider that it finds.

Exit codes: 0 written, 1 the model did not answer and nothing was written, 2 usage, 3 no model was found.";

/// Options of `init`.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Provider: anthropic, openai-responses, gemini, deepseek or ollama, or the name of an entry
    /// of the configuration. Default: the provider whose key is in the environment, otherwise
    /// Ollama on this machine.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Model: MODEL or PROVIDER/MODEL. Default: a recommended model of the provider.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Base URL of the provider. Default: the provider's public service.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Name of the secret that holds the key (`toolcrib secret set`). Default: the provider's
    /// environment variable.
    #[arg(long, value_name = "NAME")]
    pub(crate) key_secret: Option<String>,
    /// Do not test the model before writing the configuration.
    #[arg(long)]
    pub(crate) no_test: bool,
}
