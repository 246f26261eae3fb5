//! Programs that can destroy a workspace, a home folder or a disk, and when they would.
#![deny(clippy::indexing_slicing)]

use toolcrib_shell_parser::Word;

use super::known;
use super::targets::{Place, Places, is_disk, is_wild};

/// Programs that change disks or destroy files for good, whatever their operands.
const ALWAYS: [&str; 19] = [
    "shred",
    "srm",
    "wipe",
    "wipefs",
    "blkdiscard",
    "mke2fs",
    "mkswap",
    "newfs",
    "cfdisk",
    "fdisk",
    "sfdisk",
    "gdisk",
    "sgdisk",
    "parted",
    "lvremove",
    "vgremove",
    "pvremove",
    "zpool",
    "hdparm",
];

/// Options with which those only tell about a disk.
const TELLS: [&str; 9] =
    ["-l", "--list", "-V", "-v", "--version", "-h", "--help", "status", "list"];

/// Tests of `find` that narrow what it deletes.
const FILTERS: [&str; 22] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-empty",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-newermt",
    "-size",
    "-user",
    "-perm",
    "-lname",
    "-samefile",
];

/// Programs with which `find -exec` destroys.
const REMOVERS: [&str; 6] = ["rm", "unlink", "shred", "rmdir", "srm", "truncate"];

/// Whether a program is looked at.
pub(super) fn is_one(name: &str) -> bool {
    ALWAYS.contains(&name)
        || name.starts_with("mkfs")
        || matches!(
            name,
            "rm" | "grm"
                | "rimraf"
                | "tar"
                | "zip"
                | "truncate"
                | "badblocks"
                | "find"
                | "gfind"
                | "bfs"
                | "chmod"
                | "chown"
                | "chgrp"
                | "mv"
                | "dd"
                | "tee"
                | "cp"
                | "rsync"
                | "git"
                | "cryptsetup"
                | "nvme"
                | "diskutil"
        )
}

/// Why a command always asks; `None` if it does not.
pub(super) fn reason(name: &str, args: &[Word], places: &Places) -> Option<String> {
    let lost = |place: Place| format!("it would destroy {}", place.name());
    match name {
        "rm" | "grm" | "rimraf" => removed(name, args, places).map(lost),
        "tar" if has(args, &["--remove-files"]) => first_place(args, places).map(lost),
        "zip" if has_option(args, &['m'], "move") => first_place(args, places).map(lost),
        "tar" | "zip" => None,
        "find" | "gfind" | "bfs" => found(args, places).map(lost),
        "chmod" => rights(args, places, takes_rights(args)).map(lost),
        "chown" | "chgrp" => rights(args, places, false).map(lost),
        "mv" => moved(args, places).map(lost).or_else(|| overwrites(args)),
        "rsync" => mirrored(args, places).map(lost),
        "dd" | "tee" | "cp" | "truncate" => overwrites(args),
        "badblocks" if !has_option(args, &['w'], "-") => None,
        "git" => {
            cleans_ignored(args, places).then(|| "it deletes files that no commit has".to_owned())
        }
        "cryptsetup" => has(args, &["luksFormat", "erase", "luksErase"]).then(|| lost(Place::Disk)),
        "nvme" => has(args, &["format", "sanitize"]).then(|| lost(Place::Disk)),
        "diskutil" => args
            .iter()
            .filter_map(known)
            .any(|text| text.starts_with("erase") || text.starts_with("partition"))
            .then(|| lost(Place::Disk)),
        _ if has(args, &TELLS) => None,
        _ => Some(format!("{name} destroys files or disks for good")),
    }
}

fn has(args: &[Word], words: &[&str]) -> bool {
    args.iter().filter_map(known).any(|text| words.contains(&text))
}

/// Whether a short or long option is among the words.
fn has_option(args: &[Word], letters: &[char], long: &str) -> bool {
    args.iter().filter_map(known).any(|text| match text.strip_prefix("--") {
        Some(name) => name.len() > 1 && long.starts_with(name),
        None => text.strip_prefix('-').is_some_and(|cluster| cluster.contains(letters)),
    })
}

fn operands(args: &[Word]) -> impl DoubleEndedIterator<Item = &Word> {
    let is_option =
        |word: &Word| known(word).is_some_and(|text| text.starts_with('-') && text != "-");
    args.iter().filter(move |word| !is_option(word))
}

/// The first operand that is a known place.
fn first_place(args: &[Word], places: &Places) -> Option<Place> {
    operands(args).filter_map(|word| places.of(word)).find(|place| *place != Place::Unknown)
}

fn removed(name: &str, args: &[Word], places: &Places) -> Option<Place> {
    let recursive = name == "rimraf" || has_option(args, &['r', 'R'], "recursive");
    operands(args).find_map(|word| {
        let place = places.of(word)?;
        let is_pattern = matches!(word, Word::Unknown(text) if text.ends_with('*'));
        // Without the option only files go: those that a pattern names.
        let counts = recursive || (is_pattern && place != Place::Unknown);
        counts.then_some(place)
    })
}

fn found(args: &[Word], places: &Places) -> Option<Place> {
    let texts = || args.iter().filter_map(known);
    let removes = texts().any(|text| text == "-delete" || REMOVERS.contains(&text));
    if !removes {
        return None;
    }
    let begins_test = |text: &str| text.starts_with(['-', '(', '!']);
    // Each alternative has to be narrow.
    let is_or = |word: &Word| matches!(known(word), Some("-o" | "-or" | ","));
    let narrows = args.split(is_or).all(narrows);
    let mut roots = args.iter().take_while(|word| !known(word).is_some_and(begins_test)).peekable();
    if roots.peek().is_none() {
        return (!narrows).then_some(Place::Here);
    }
    let mut lost = roots.filter_map(|root| places.of(root));
    lost.find(|place| !narrows || place.is_beyond_workspace())
}

/// Whether tests of `find` leave only some files.
fn narrows(tests: &[Word]) -> bool {
    let mut is_negated = false;
    for (at, word) in tests.iter().enumerate() {
        let Some(test) = known(word) else { continue };
        let value = tests.get(at.saturating_add(1));
        let is_everything = || match value {
            None => test != "-empty",
            Some(Word::Known(value)) => test != "-empty" && value.split('/').all(is_any),
            Some(Word::Unknown(_)) => false,
        };
        if FILTERS.contains(&test) && !is_negated && !is_everything() {
            return true;
        }
        is_negated = matches!(test, "!" | "-not");
    }
    false
}

fn is_any(part: &str) -> bool {
    part == "." || is_wild(part)
}

/// Whether a mode takes rights away: then a whole workspace with it is of no use.
fn takes_rights(args: &[Word]) -> bool {
    let takes = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let owner = text.trim_start_matches('0');
        (is_number && (owner.len() < 3 || owner.starts_with(['1', '2', '3'])))
            || text.contains("-r")
            || text.contains("-w")
            || text.contains("-x")
            || text.contains('=')
    };
    operands(args).next().and_then(known).is_none_or(takes)
        || has(args, &["-rwx", "-r", "-w", "-x"])
}

/// A change of the rights or the owner of everything: outside of the workspace always, and in it if
/// it `takes` rights away.
fn rights(args: &[Word], places: &Places, takes: bool) -> Option<Place> {
    if !has_option(args, &['R'], "recursive") {
        return None;
    }
    operands(args)
        .filter_map(|word| places.of(word))
        .find(|place| takes || place.is_beyond_workspace())
}

/// Folders that are moved away as a whole.
fn moved(args: &[Word], places: &Places) -> Option<Place> {
    let is_pattern =
        |word: &Word| matches!(word, Word::Unknown(text) if !text.starts_with(['$', '"']));
    let matters = |word: &Word| {
        places.of(word).filter(|place| match place {
            Place::Unknown => false,
            Place::Here => !is_pattern(word),
            _ => true,
        })
    };
    let is_target = |word: &Word| {
        known(word).is_some_and(|text| {
            let cluster = text.strip_prefix('-').filter(|text| !text.starts_with('-'));
            text.starts_with("--t") || cluster.is_some_and(|letters| letters.contains('t'))
        })
    };
    let Some(at) = args.iter().position(is_target) else {
        return operands(args).rev().skip(1).find_map(matters);
    };
    let takes_next = args
        .get(at)
        .and_then(known)
        .is_some_and(|text| !text.contains('=') && (text.starts_with("--") || text.ends_with('t')));
    let (before, after) = args.split_at_checked(at)?;
    let after = after.get(if takes_next { 2 } else { 1 }..).unwrap_or_default();
    operands(before).chain(operands(after)).find_map(matters)
}

/// A folder that becomes the copy of another, or that is moved into another.
fn mirrored(args: &[Word], places: &Places) -> Option<Place> {
    let matters = |word: &Word| places.of(word).filter(|place| *place != Place::Unknown);
    if has(args, &["--remove-source-files"])
        && let Some(place) = operands(args).rev().skip(1).find_map(matters)
    {
        return Some(place);
    }
    let deletes = args.iter().filter_map(known).any(|text| text.starts_with("--del"));
    operands(args).next_back().filter(|_| deletes).and_then(matters)
}

fn overwrites(args: &[Word]) -> Option<String> {
    args.iter()
        .filter_map(known)
        .map(|text| text.strip_prefix("of=").unwrap_or(text))
        .find(|path| is_disk(path))
        .map(|disk| format!("it overwrites {disk}"))
}

/// `git clean -fdx` of the whole work tree also deletes settings and data that are in no commit.
fn cleans_ignored(args: &[Word], places: &Places) -> bool {
    let mut words = operands(args);
    if words.next().and_then(known) != Some("clean") {
        return false;
    }
    // The value of `-e` is no path.
    let excludes = |word: &Word| matches!(known(word), Some("-e" | "--exclude"));
    let is_path = |at: usize| {
        let word = at.checked_sub(1).and_then(|before| args.get(before));
        !word.is_some_and(excludes)
    };
    let is_option = |word: &Word| known(word).is_some_and(|text| text.starts_with('-'));
    let paths = args.iter().enumerate().filter(|(at, word)| is_path(*at) && !is_option(word));
    let mut paths = paths.map(|(_, word)| word).skip(1).peekable();
    let is_all = |word: &Word| matches!(known(word), Some(":/" | ":")) || places.of(word).is_some();
    let everywhere = paths.peek().is_none() || paths.any(is_all);
    let previews = has_option(args, &['n'], "dry-run");
    everywhere
        && !previews
        && has_option(args, &['x', 'X'], "-")
        && has_option(args, &['f'], "force")
}
