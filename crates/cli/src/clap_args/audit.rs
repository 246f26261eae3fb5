//! `audit`: arguments for reading and verifying the audit.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::time_format;

const SHOW_HELP: &str = "\
Examples:
  toolcrib audit show call_019d2f3c
  toolcrib audit show 1204 --json | jq .record

Exit codes: 0 shown, 2 the id is ambiguous, 4 the call or record does not exist.";

const EXPORT_HELP: &str = "\
Examples:
  toolcrib audit export -o audit.jsonl
  toolcrib audit export --since 2026-11-01 | jq -c 'select(.type == \"record\") | .text | fromjson'
  toolcrib audit export --bundle audit.tar

An export contains the checkpoints too: `toolcrib audit verify --file audit.jsonl` verifies it without the database. A bundle also contains the \
public keys, anchors, the rules and tool definitions in force, and verify.py, which verifies it without Toolcrib.";

const VERIFY_HELP: &str = "\
Examples:
  toolcrib audit verify
  toolcrib audit verify --calls --json
  toolcrib audit verify --key /mnt/elsewhere/audit-key.pub --anchors /mnt/elsewhere/anchors.jsonl
  toolcrib audit verify --file audit.jsonl --key audit-key.pub
  toolcrib audit verify --bundle audit.tar --key audit-key.pub

docs/audit.md explains each finding, and what a verification can and cannot prove.

Exit codes: 0 the audit log is intact, 1 there are findings (each has a number), 3 the audit log cannot be read.";

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Print the newest records.
    Tail(AuditTailArgs),
    /// Show all records of a call, or one record.
    #[command(after_help = SHOW_HELP)]
    Show {
        /// Id of the call, of which a unique prefix is enough, or the number of a record
        /// (CHAIN:NUMBER if there are several chains).
        #[arg(value_name = "CALL|NUMBER")]
        what: String,
    },
    /// Print the records with their hashes and checkpoints as JSON lines.
    #[command(after_help = EXPORT_HELP)]
    Export(AuditExportArgs),
    /// Verify that no record was edited, removed, added, moved or cut off.
    #[command(after_help = VERIFY_HELP)]
    Verify(AuditVerifyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AuditTailArgs {
    /// Number of records.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) lines: u16,
    /// Follow: print new records until Ctrl-C.
    #[arg(short = 'f', long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditExportArgs {
    /// Start at this record number, or at the first record at or after this time.
    #[arg(long, value_name = "NUMBER|TIME", value_parser = parse_export_start)]
    pub(crate) since: Option<ExportStart>,
    /// Format of the export.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = AuditExportFormat::Jsonl)]
    pub(crate) format: AuditExportFormat,
    /// Write to this file instead of standard output.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write a bundle that an auditor can verify without Toolcrib: a tar archive of the whole audit
    /// log, keys, rules and tool definitions.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["since", "output", "format"])]
    pub(crate) bundle: Option<PathBuf>,
    /// File with more public keys for the bundle, one per line: those of other daemons that write
    /// to this store.
    #[arg(long, value_name = "FILE", requires = "bundle")]
    pub(crate) key: Option<PathBuf>,
    /// Workspace whose rules and tools go into the bundle. Default: the current folder.
    #[arg(long, value_name = "DIR", requires = "bundle")]
    pub(crate) workspace: Option<PathBuf>,
}

/// Formats of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditExportFormat {
    /// JSON lines.
    Jsonl,
}

/// The start of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExportStart {
    /// This record number.
    Number(u64),
    /// The first record at or after this time, in milliseconds since 1970.
    Time(i64),
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyArgs {
    /// Also compare every call, outcome and decision with its record.
    #[arg(long, conflicts_with_all = ["file", "bundle"])]
    pub(crate) calls: bool,
    /// File with the trusted public keys, one per line. Default: audit/audit-key.pub in the state
    /// folder; with --bundle, the keys in the bundle.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Anchor file, or a copy kept elsewhere. Default: audit/anchors.jsonl in the state folder;
    /// none with --file; with --bundle, the anchors in the bundle.
    #[arg(long, value_name = "FILE")]
    pub(crate) anchors: Option<PathBuf>,
    /// Verify an export instead of the database; `-` reads standard input.
    #[arg(long, value_name = "EXPORT")]
    pub(crate) file: Option<PathBuf>,
    /// Verify a bundle instead of the database.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) bundle: Option<PathBuf>,
}

fn parse_export_start(text: &str) -> Result<ExportStart, String> {
    // Record numbers are plain digits, unlike any time.
    match text.trim().parse() {
        Ok(number) => Ok(ExportStart::Number(number)),
        Err(_) => time_format::parse_time(text).map(ExportStart::Time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_begins_at_a_number_or_a_time() {
        assert_eq!(parse_export_start("120"), Ok(ExportStart::Number(120)));
        assert_eq!(
            parse_export_start("2026-11-21T10:00:00Z"),
            Ok(ExportStart::Time(1_795_255_200_000))
        );
        assert!(matches!(parse_export_start("2h"), Ok(ExportStart::Time(_))));
        assert!(parse_export_start("tomorrow-ish").is_err());
    }
}
