//! `toolcrib python`.

use clap::Subcommand;

pub(crate) const PYTHON_HELP: &str = "\
Examples:
  toolcrib python status
  toolcrib python install
  toolcrib tool enable code_exec

`code_exec` works without any of it: a part of Python is built in, and the Python of this machine is used where there is one. What is \
installed is numpy, pandas and matplotlib, for this purpose alone, in the state folder; nothing else of this machine changes.

Exit codes: 0 done; for status: it works; 1 it failed; for status: there is no Python that works.";

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Python {
    /// Install numpy, pandas and matplotlib in fixed versions, whose hashes are checked. Takes the
    /// network, and about 300 MB.
    Install,
    /// Show which Python runs code, and with which packages.
    Status,
    /// Remove what was installed.
    Remove,
}
