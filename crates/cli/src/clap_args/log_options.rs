//! What a daemon writes into its log.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How lines of a log look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// What is logged: error, warn, info, debug, trace, off, or parts with their own, such as
    /// `info,toolcrib::access=off`.
    #[arg(long, value_name = "LEVEL", env = "RUST_LOG", default_value = "info")]
    pub(crate) log_level: String,
    /// How lines look.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
    /// Write into this file too; it is replaced when it has 10 MB, and the last five are kept.
    /// Without a value: logs/toolcrib.log in the state folder.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) log_file: Option<Option<PathBuf>>,
}
