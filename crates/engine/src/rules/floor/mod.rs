//! The floor: commands that always ask, whatever presets, rules and grants allow.
//!
//! They destroy the workspace, the home folder or a disk (`destroyers`, `targets`), or run a text that
//! was just downloaded (`downloads`).
#![deny(clippy::indexing_slicing)]

mod destroyers;
mod downloads;
mod targets;

use toolcrib_shell_parser::{CommandLine, Interpretation, Kind, Segment, Word};

use super::path_pattern::Workspace;
use downloads::Downloads;
use targets::Places;

/// Words of a line that are compared; a line with more asks. A line of 200 KB has at most half as
/// many, once for each part.
const MAX_WORDS: usize = 200_000;

/// The floor for one line.
pub(super) struct Floor {
    places: Places,
    downloads: Downloads,
    words_left: usize,
}

impl Floor {
    pub(super) fn new(line: &CommandLine, workspace: &Workspace) -> Self {
        Self {
            places: Places::new(line, workspace),
            downloads: Downloads::in_line(line),
            words_left: MAX_WORDS,
        }
    }

    /// Why a part always asks; `None` if it does not.
    pub(super) fn reason(&mut self, segment: &Segment) -> Option<String> {
        match &segment.kind {
            Kind::Assignment => None,
            Kind::Redirection { writes, target } => {
                let disk = known(target).filter(|path| *writes && targets::is_disk(path))?;
                Some(format!("it overwrites {disk}"))
            }
            Kind::Command => self
                .downloads
                .reason(segment)
                .or_else(|| segment.readings.iter().find_map(|reading| self.destroys(reading))),
        }
    }

    fn destroys(&mut self, reading: &Interpretation) -> Option<String> {
        let name = program(reading)?;
        if !destroyers::is_one(name) {
            return None;
        }
        let words = reading.args().len();
        match self.words_left.checked_sub(words) {
            Some(left) => self.words_left = left,
            None => return Some("it is too long to be checked".to_owned()),
        }
        destroyers::reason(name, reading.args(), &self.places)
    }
}

/// The program of a command, without its directory.
fn program(reading: &Interpretation) -> Option<&str> {
    known(reading.program()).map(|program| program.rsplit('/').next().unwrap_or(program))
}

fn known(word: &Word) -> Option<&str> {
    match word {
        Word::Known(text) => Some(text),
        Word::Unknown(_) => None,
    }
}
