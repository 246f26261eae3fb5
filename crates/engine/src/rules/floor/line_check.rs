//! Checks whether a part of a line is on the floor.

use toolcrib_shell_parser::{CommandLine, Interpretation, Kind, Segment, Word};

use super::super::path_pattern::Workspace;
use super::downloads::Downloads;
use super::targets::{self, Place, Places};
use super::words::{MAX_WORDS, known, program};
use super::{destroyers, found_files, inline_code};

/// Bytes of an interpreter's argument that count as one word.
const BYTES_PER_WORD: usize = 32;

/// The floor for one line.
pub(in crate::rules) struct Floor {
    places: Places,
    downloads: Downloads,
    /// A critical place of which a search lists all files.
    listed: Option<Place>,
    words_left: usize,
}

impl Floor {
    pub(in crate::rules) fn new(line: &CommandLine, workspace: &Workspace) -> Self {
        let places = Places::new(line, workspace);
        let listed = found_files::listed_in(line, &places);
        Self { places, downloads: Downloads::in_line(line), listed, words_left: MAX_WORDS }
    }

    /// Returns why a part always asks; `None` if it does not.
    pub(in crate::rules) fn reason(&mut self, segment: &Segment) -> Option<String> {
        match &segment.kind {
            Kind::Assignment => None,
            Kind::Redirection { writes: true, target } => {
                let disk = known(target).filter(|path| targets::is_disk(path))?;
                Some(format!("it overwrites {disk}"))
            }
            Kind::Redirection { writes: false, target } => self.downloads.input_reason(target),
            Kind::Command => self
                .downloads
                .reason(segment)
                .or_else(|| segment.readings.iter().find_map(|reading| self.destroys(reading))),
        }
    }

    fn destroys(&mut self, reading: &Interpretation) -> Option<String> {
        let name = program(reading)?;
        if let Some(place) = self.listed.filter(|_| found_files::deletes_listed(reading)) {
            return Some(place.loss());
        }
        let check = destroyers::check_of(name)?;
        match self.words_left.checked_sub(cost(name, reading)) {
            Some(left) => self.words_left = left,
            None => return Some("it is too long to be checked".to_owned()),
        }
        check(name, reading.args(), &self.places)
    }
}

/// Returns the number of words of a command, plus the code bytes of an interpreter.
fn cost(name: &str, reading: &Interpretation) -> usize {
    let words = reading.args().len();
    if !inline_code::is_interpreter(name) {
        return words;
    }
    let bytes = |word: &Word| {
        let (Word::Known(text) | Word::Unknown(text)) = word;
        text.len()
    };
    let bytes = reading.args().iter().map(bytes).fold(0, usize::saturating_add);
    words.saturating_add(bytes / BYTES_PER_WORD)
}
