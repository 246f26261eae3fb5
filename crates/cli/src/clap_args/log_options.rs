//! Options for the log of a daemon.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// Plain text.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// Log level: error, warn, info, debug, trace, off, or levels per component, such as
    /// `info,toolcrib::access=off`.
    #[arg(long, value_name = "LEVEL", env = "RUST_LOG", default_value = "info")]
    pub(crate) log_level: String,
    /// Format of log lines.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
    /// Also log to this file, which is rotated at 10 MB; the last five files are kept. Without a
    /// value: logs/toolcrib.log in the state folder.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) log_file: Option<Option<PathBuf>>,
}
