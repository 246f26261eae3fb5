//! Detects text that a line downloads and runs.
#![deny(clippy::indexing_slicing)]

use std::collections::HashSet;

use toolcrib_shell_parser::{AllowBlocker, CommandLine, Interpretation, Kind, Segment, Word};

use super::words::{has, known, operands, program};
use super::{folder_changes, inline_code};

/// Programs that fetch text from other machines.
const FETCHERS: [&str; 16] = [
    "curl", "wget", "wget2", "fetch", "aria2c", "http", "https", "lynx", "w3m", "links", "axel",
    "nc", "ncat", "netcat", "ftp", "lftp",
];

/// Programs that run a given file, or one that they find in the folder.
const RUNNERS: [&str; 24] = [
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
    "java",
    "deno",
    "bun",
    "osascript",
    "pwsh",
    "make",
    "gmake",
    "ninja",
];

/// Runners that run a file of the folder without naming it.
const BUILDERS: [&str; 3] = ["make", "gmake", "ninja"];

/// Programs that write their input to a file of another name.
const COPIERS: [&str; 8] = ["cp", "mv", "ln", "install", "tee", "sponge", "base64", "openssl"];

/// Programs that unpack a file in place.
const DECOMPRESSORS: [&str; 7] = ["gunzip", "gzip", "unxz", "xz", "bunzip2", "bzip2", "unzstd"];

/// Programs that unpack archives.
const UNPACKERS: [&str; 11] =
    ["tar", "gtar", "bsdtar", "unzip", "7z", "7za", "7zz", "unrar", "unar", "cpio", "ar"];

/// Maximum words of a command that are searched for a script.
const SCRIPT_WORDS: usize = 8;

/// Maximum words of a clone command that are searched for its address.
const MAX_CLONE_WORDS: usize = 64;

/// Downloads of a line.
#[derive(Default)]
pub(super) struct Downloads {
    fetches: bool,
    /// Files to which the line may write downloaded text.
    files: HashSet<String>,
    /// Whether it unpacks an archive, which may be the downloaded one.
    unpacks: bool,
    /// Folders that it clones a repository into.
    clones: HashSet<String>,
    /// Whether it changes into one of those folders.
    enters_clone: bool,
    /// Whether an interpreter runs its standard input.
    reads_program: bool,
}

impl Downloads {
    pub(super) fn in_line(line: &CommandLine) -> Self {
        let mut found = Self::default();
        for segment in &line.segments {
            found.add_fetched(segment);
        }
        if !found.fetches && found.clones.is_empty() {
            return found;
        }
        for segment in &line.segments {
            found.add_made(segment);
        }
        found
    }

    /// Adds the downloads of a part. Later readings of the same words would add the same again.
    fn add_fetched(&mut self, segment: &Segment) {
        let readings =
            || segment.readings.iter().filter_map(|reading| Some((program(reading)?, reading)));
        let fetcher = readings().find(|(name, _)| FETCHERS.contains(name));
        if let Some((_, reading)) = fetcher {
            self.files.extend(reading.args().iter().filter_map(known).flat_map(file_names));
            self.fetches = true;
        }
        if let Some((_, reading)) = readings().find(|(name, _)| inline_code::is_interpreter(name))
            && let Some(names) = inline_code::download_names(reading.args())
        {
            self.files.extend(names.iter().flat_map(|name| file_names(name)));
            self.fetches = true;
        }
        let cloned = readings().filter(|(name, _)| matches!(*name, "git" | "gh" | "hg"));
        self.clones.extend(cloned.filter_map(|(name, reading)| clone_folder(name, reading.args())));
    }

    /// Adds the files that a part creates from downloads.
    fn add_made(&mut self, segment: &Segment) {
        if let Kind::Redirection { writes: true, target } = &segment.kind {
            self.files.extend(known(target).map(plain));
        }
        let readings =
            || segment.readings.iter().filter_map(|reading| Some((program(reading)?, reading)));
        if let Some((name, reading)) = readings().find(|(name, _)| COPIERS.contains(name)) {
            let words = || reading.args().iter().filter_map(known);
            if matches!(name, "tee" | "sponge") || words().any(|path| self.is_file(path)) {
                let names: Vec<String> = words().flat_map(file_names).collect();
                self.files.extend(names);
            }
        }
        if let Some((_, reading)) = readings().find(|(name, _)| DECOMPRESSORS.contains(name)) {
            let names = reading.args().iter().filter_map(known).filter(|path| self.is_file(path));
            let bare = |path: &str| plain(path.rsplit_once('.').map_or(path, |(bare, _)| bare));
            let names: Vec<String> = names.map(bare).collect();
            self.files.extend(names);
        }
        self.unpacks |= readings().any(|(name, reading)| unpacks(name, reading.args()));
        self.reads_program |= readings().any(|(name, reading)| {
            RUNNERS.contains(&name) && operands(reading.args()).next().is_none()
        });
        let folders = segment.readings.iter().flat_map(folder_changes::folders);
        let entered: Vec<Word> = folders.collect();
        self.enters_clone |= entered.iter().filter_map(known).any(|path| self.is_in_clone(path));
    }

    /// Returns why a part always asks.
    pub(super) fn reason(&self, segment: &Segment) -> Option<String> {
        let is_computed = |block: &AllowBlocker| {
            matches!(block, AllowBlocker::UnknownInput(_) | AllowBlocker::ComputedName(_))
        };
        // A call in code of another language is not a program.
        let is_code =
            |reading: &Interpretation| program(reading).is_some_and(inline_code::is_interpreter);
        let is_unknown = |reading: &Interpretation| matches!(reading.program(), Word::Unknown(_));
        let names_unknown =
            segment.readings.iter().any(is_unknown) && !segment.readings.iter().any(is_code);
        let is_fed = self.fetches && (segment.blocks.iter().any(is_computed) || names_unknown);
        let runs = is_fed || segment.readings.iter().any(|reading| self.runs(reading));
        runs.then(|| "it runs what the line downloads".to_owned())
    }

    /// Returns why a file that a program reads as its input always asks.
    pub(super) fn input_reason(&self, file: &Word) -> Option<String> {
        let is_file = known(file).is_some_and(|path| self.is_file(path));
        (self.reads_program && is_file).then(|| "it runs what the line downloads".to_owned())
    }

    fn runs(&self, reading: &Interpretation) -> bool {
        let Some(path) = known(reading.program()) else { return false };
        let Some(name) = program(reading) else { return false };
        if runs_address(name, reading.args()) {
            return true;
        }
        if !self.fetches && self.clones.is_empty() {
            return false;
        }
        if self.is_downloaded_program(path) {
            return true;
        }
        let args = || reading.args().iter().take(SCRIPT_WORDS).filter_map(known);
        match name {
            "chmod" => makes_executable(reading.args()) && args().any(|path| self.is_file(path)),
            "install" => args().any(|path| self.is_file(path)),
            name if RUNNERS.contains(&name) => {
                args().any(|path| self.is_file(path)) || self.runs_unpacked(name, reading.args())
            }
            _ => false,
        }
    }

    /// Returns whether the path of a program is one of the downloaded files.
    fn is_downloaded_program(&self, path: &str) -> bool {
        if !path.contains('/') {
            // The file may have been moved to a folder of programs.
            return self
                .files
                .iter()
                .any(|file| file.rsplit_once('/').is_some_and(|(_, own)| own == path));
        }
        let is_unpacked = self.fetches && self.unpacks && !path.starts_with('/');
        self.is_file(path) || is_unpacked || self.is_cloned(path)
    }

    /// Returns whether a runner gets a script that may come from an archive or a repository.
    fn runs_unpacked(&self, name: &str, args: &[Word]) -> bool {
        let unpacks = self.fetches && self.unpacks;
        if BUILDERS.contains(&name) {
            return unpacks || self.enters_clone;
        }
        let Some(script) = args.first().and_then(known) else { return false };
        let is_script = !script.starts_with('-') && !script.contains("://");
        is_script && (unpacks || self.is_cloned(script))
    }

    fn is_file(&self, path: &str) -> bool {
        // The fetcher may write into another folder.
        let file = path.rsplit('/').next().unwrap_or_default();
        self.files.contains(&plain(path)) || self.files.contains(file)
    }

    /// Returns whether a path may be in a cloned folder, possibly after `cd`.
    fn is_cloned(&self, path: &str) -> bool {
        (self.enters_clone && !path.starts_with('/')) || self.is_in_clone(path)
    }

    fn is_in_clone(&self, path: &str) -> bool {
        let path = plain(path);
        let is_below = |folder: &String| {
            path.strip_prefix(folder.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.clones.iter().any(is_below)
    }
}

/// Returns the folder into which a repository of another machine is cloned.
fn clone_folder(name: &str, args: &[Word]) -> Option<String> {
    let clones = |word: &Word| known(word) == Some("clone");
    let after = args.get(..args.len().min(SCRIPT_WORDS))?.iter().position(clones)?;
    let words = args.get(after..)?.iter().take(MAX_CLONE_WORDS).filter_map(known).skip(1);
    // The operands of options are not addresses.
    let is_address = |text: &&str| {
        text.contains("://")
            || (text.contains(':') && text.contains('@'))
            || (name == "gh" && text.contains('/'))
    };
    let mut words = words.skip_while(|text| !is_address(text));
    let address = words.next()?.trim_end_matches('/');
    let bare = address.strip_suffix(".git").unwrap_or(address);
    let given = words.find(|text| !text.starts_with('-'));
    let folder = given.unwrap_or_else(|| bare.rsplit(['/', ':']).next().unwrap_or(bare));
    Some(plain(folder.trim_end_matches('/')))
}

fn unpacks(name: &str, args: &[Word]) -> bool {
    let first = || args.first().and_then(known).unwrap_or_default();
    match name {
        "tar" | "gtar" | "bsdtar" => {
            let extracts = |text: &str| {
                matches!(text, "--extract" | "--get")
                    || (text.starts_with('-') && !text.starts_with("--") && text.contains('x'))
            };
            (!first().starts_with("--") && first().contains('x'))
                || args.iter().take(SCRIPT_WORDS).filter_map(known).any(extracts)
        }
        "unzip" => !has(args, &["-l", "-p", "-t", "-v"]),
        "7z" | "7za" | "7zz" | "unrar" | "ar" => first().starts_with(['x', 'e']),
        "cpio" => first().contains('i'),
        name => UNPACKERS.contains(&name),
    }
}

/// Returns whether a mode makes files executable: `+x`, `755`.
fn makes_executable(args: &[Word]) -> bool {
    let executes = |mode: &str| {
        let is_number = !mode.is_empty() && mode.bytes().all(|b| b.is_ascii_digit());
        mode.contains('x') || (is_number && mode.contains(['1', '3', '5', '7']))
    };
    operands(args).next().and_then(known).is_none_or(executes)
}

/// Returns whether a program runs an address: `deno run https://…`.
fn runs_address(name: &str, args: &[Word]) -> bool {
    let is_address = |text: &str| text.starts_with("https://") || text.starts_with("http://");
    name == "deno"
        && args.first().and_then(known).is_some_and(|verb| matches!(verb, "run" | "install" | "x"))
        && args.iter().take(SCRIPT_WORDS).filter_map(known).any(is_address)
}

/// Returns the file names that an argument of a fetcher may denote.
fn file_names(argument: &str) -> Vec<String> {
    let value = argument.split_once('=').map_or(argument, |(_, value)| value);
    if let Some((_, path)) = value.split_once("://") {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        return path.rsplit_once('/').map(|(_, name)| plain(name)).into_iter().collect();
    }
    // `-oFILE`, also at the end of a cluster.
    let letters = value.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    let joined =
        letters.and_then(|letters| letters.split_once(['o', 'O'])).map_or(value, |(_, file)| file);
    if joined.starts_with('-') || joined.is_empty() { Vec::new() } else { vec![plain(joined)] }
}

fn plain(path: &str) -> String {
    path.trim_start_matches("./").to_owned()
}
