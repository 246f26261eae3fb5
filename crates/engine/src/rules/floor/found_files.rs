//! Searches whose results are deleted: `find -delete`, `fd -x rm`, `find | xargs rm`.
#![deny(clippy::indexing_slicing)]

use toolcrib_shell_parser::{CommandLine, Interpretation, Word};

use super::targets::{Place, Places, is_wild};
use super::words::{MAX_WORDS, has, has_option, known, program};

/// Tests of `find` that narrow the deleted files.
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

/// Programs with which `find -exec`, `fd -x` and `xargs` delete files.
const REMOVERS: [&str; 9] =
    ["rm", "unlink", "shred", "rmdir", "srm", "truncate", "trash", "trash-put", "rmtrash"];

/// Checks whether `find` deletes its results.
pub(super) fn found(name: &str, args: &[Word], places: &Places) -> Option<String> {
    let removes = |text: &str| {
        text == "-delete" || REMOVERS.contains(&text.rsplit('/').next().unwrap_or(text))
    };
    let place = args.iter().filter_map(known).any(removes).then(|| listed(name, args, places));
    place.flatten().map(Place::loss)
}

/// Returns the critical place that the first such search of a line lists as a whole.
pub(super) fn listed_in(line: &CommandLine, places: &Places) -> Option<Place> {
    let mut words_left = MAX_WORDS;
    let readings = line.segments.iter().flat_map(|segment| &segment.readings);
    for reading in readings {
        let Some(name) = program(reading).filter(|name| is_search(name)) else { continue };
        match words_left.checked_sub(reading.args().len()) {
            Some(left) => words_left = left,
            None => return Some(Place::Unknown),
        }
        if let Some(place) = listed(name, reading.args(), places) {
            return Some(place);
        }
    }
    None
}

/// Returns whether `xargs` passes the files of the line to a program that deletes them.
pub(super) fn deletes_listed(reading: &Interpretation) -> bool {
    program(reading).is_some_and(|name| REMOVERS.contains(&name))
        && reading.unwrapped.iter().any(|name| name == "xargs" || name == "parallel")
}

pub(super) fn is_search(name: &str) -> bool {
    matches!(name, "find" | "gfind" | "bfs" | "fd" | "fdfind")
}

/// Returns the place that a search lists as a whole.
fn listed(name: &str, args: &[Word], places: &Places) -> Option<Place> {
    if matches!(name, "fd" | "fdfind") {
        return listed_by_fd(args, places);
    }
    let begins_test = |text: &str| text.starts_with(['-', '(', '!']);
    // Each alternative must narrow the result.
    let is_or = |word: &Word| matches!(known(word), Some("-o" | "-or" | ","));
    let narrows = args.split(is_or).all(narrows);
    let mut roots = args.iter().take_while(|word| !known(word).is_some_and(begins_test)).peekable();
    if roots.peek().is_none() {
        return (!narrows).then_some(Place::Here);
    }
    let mut lost = roots.filter_map(|root| places.of(root));
    lost.find(|place| !narrows || place.is_beyond_workspace())
}

/// Returns the place that `fd [PATTERN [FOLDER...]] -x COMMAND` lists as a whole.
fn listed_by_fd(args: &[Word], places: &Places) -> Option<Place> {
    let is_exec = |word: &Word| {
        known(word).is_some_and(|text| {
            let cluster = text.strip_prefix('-').filter(|text| !text.starts_with('-'));
            text.starts_with("--exec") || cluster.is_some_and(|text| text.contains(['x', 'X']))
        })
    };
    let search = args.split(is_exec).next().unwrap_or_default();
    let mut words = super::words::operands(search);
    let is_every = |word: &Word| known(word).is_some_and(|text| matches!(text, "" | "." | ".*"));
    let narrows = has_option(search, &['e', 'S'], "extension")
        || has(search, &["--changed-within", "--changed-before", "--size"])
        || words.next().is_some_and(|pattern| !is_every(pattern));
    let mut roots = words.peekable();
    if roots.peek().is_none() {
        return (!narrows).then_some(Place::Here);
    }
    roots.filter_map(|root| places.of(root)).find(|place| !narrows || place.is_beyond_workspace())
}

/// Returns whether tests of `find` leave only some files.
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
