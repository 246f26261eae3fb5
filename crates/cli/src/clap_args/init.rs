//! `toolcrib init`.

use clap::Args;

pub(super) const INIT_HELP: &str = "\
Examples:
  toolcrib init                                   # finds a key in the environment, or Ollama
  toolcrib init --model anthropic/claude-sonnet-5
  toolcrib init --provider ollama --model qwen3 --no-test
  toolcrib secret set anthropic && toolcrib init --model anthropic/claude-sonnet-5 --key-secret anthropic

A key is never written into the configuration: it stays in its variable, or in the vault. Without a terminal nothing is asked, and the first \
provider that is found is taken.

Exit codes: 0 written, 1 the model did not answer and nothing was written, 2 usage, 3 no model can be found here.";

/// Options of `init`.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Provider: anthropic, openai-responses, gemini, deepseek or ollama, or the name of an entry
    /// of the configuration. Default: the one whose key is in the environment, else Ollama on this
    /// machine.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Model: MODEL or PROVIDER/MODEL. Default: one that suits the provider.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Where the provider is. Default: its own service.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The name under which `toolcrib secret set` keeps the key. Default: the provider's variable.
    #[arg(long, value_name = "NAME")]
    pub(crate) key_secret: Option<String>,
    /// Do not ask the model anything; write the configuration unseen.
    #[arg(long)]
    pub(crate) no_test: bool,
}
