//! Text that a line downloads and runs.
#![deny(clippy::indexing_slicing)]

use std::collections::HashSet;

use toolcrib_shell_parser::{AllowBlocker, CommandLine, Interpretation, Kind, Segment, Word};

use super::{known, program};

/// Programs that fetch text from other machines.
const FETCHERS: [&str; 14] = [
    "curl", "wget", "fetch", "aria2c", "http", "https", "lynx", "w3m", "links", "axel", "nc",
    "ncat", "netcat", "ftp",
];

/// Programs that run a file that they are given.
const RUNNERS: [&str; 25] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "source",
    ".",
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "php",
    "lua",
    "chmod",
    "make",
    "java",
    "deno",
    "bun",
    "osascript",
    "pwsh",
    "sudo",
    "install",
];

/// What a line downloads.
pub(super) struct Downloads {
    fetches: bool,
    /// Files that it may write what it downloads to.
    files: HashSet<String>,
}

impl Downloads {
    pub(super) fn in_line(line: &CommandLine) -> Self {
        let mut found = Self { fetches: false, files: HashSet::new() };
        let readings = || line.segments.iter().flat_map(|segment| &segment.readings);
        for reading in readings()
            .filter(|reading| program(reading).is_some_and(|name| FETCHERS.contains(&name)))
        {
            if !found.fetches {
                // Later readings of the same words would add the same files.
                found.files.extend(reading.args().iter().filter_map(known).flat_map(file_names));
            }
            found.fetches = true;
        }
        if found.fetches {
            let redirected = line.segments.iter().filter_map(|segment| match &segment.kind {
                Kind::Redirection { writes: true, target } => known(target),
                _ => None,
            });
            found.files.extend(redirected.map(plain));
        }
        found
    }

    /// Why a part always asks.
    pub(super) fn reason(&self, segment: &Segment) -> Option<String> {
        if !self.fetches {
            return None;
        }
        let is_computed = |block: &AllowBlocker| {
            matches!(block, AllowBlocker::UnknownInput(_) | AllowBlocker::ComputedName(_))
        };
        let is_unknown = |reading: &Interpretation| matches!(reading.program(), Word::Unknown(_));
        let runs = segment.blocks.iter().any(is_computed)
            || segment.readings.iter().any(is_unknown)
            || segment.readings.iter().any(|reading| self.runs_file(reading));
        runs.then(|| "it runs what the line downloads".to_owned())
    }

    fn runs_file(&self, reading: &Interpretation) -> bool {
        let Some(name) = known(reading.program()) else { return false };
        let is_file = |path: &str| {
            // The fetcher may write into another folder.
            let file = path.rsplit('/').next().unwrap_or_default();
            self.files.contains(&plain(path)) || self.files.contains(file)
        };
        if name.contains('/') && is_file(name) {
            return true;
        }
        let is_runner = program(reading).is_some_and(|name| RUNNERS.contains(&name));
        // A script is among the first words.
        is_runner && reading.args().iter().take(8).filter_map(known).any(is_file)
    }
}

/// Names of files that an argument of a fetcher may mean.
fn file_names(argument: &str) -> Vec<String> {
    let value = argument.split_once('=').map_or(argument, |(_, value)| value);
    if let Some((_, path)) = value.split_once("://") {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        return path.rsplit_once('/').map(|(_, name)| plain(name)).into_iter().collect();
    }
    let joined = value.strip_prefix("-o").or_else(|| value.strip_prefix("-O")).unwrap_or(value);
    if joined.starts_with('-') || joined.is_empty() { Vec::new() } else { vec![plain(joined)] }
}

fn plain(path: &str) -> String {
    path.trim_start_matches("./").to_owned()
}
