//! `toolcrib python`.

use clap::Subcommand;

pub(crate) const PYTHON_HELP: &str = "\
Examples:
  toolcrib python status
  toolcrib python install
  toolcrib tool enable code_exec

`code_exec` works without an installation: it uses the Python of this machine, or the built-in interpreter of a part of Python. The installation \
adds numpy, pandas and matplotlib for `code_exec` alone, in the state folder; nothing else on this machine changes.

Exit codes: 0 done (status: Python works); 1 failed (status: no working Python).";

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Python {
    /// Install numpy, pandas and matplotlib at fixed versions with verified hashes. Downloads about
    /// 300 MB.
    Install,
    /// Show which Python runs code, and its packages.
    Status,
    /// Remove the installed environment.
    Remove,
}
