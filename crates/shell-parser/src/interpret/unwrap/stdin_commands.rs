//! Commands from standard input: `xargs` completes a command with it, and a shell runs it.
#![deny(clippy::indexing_slicing)]

use std::sync::Arc;

use super::{Interpreter, MAX_TEXTS, WorkItem};
use crate::command_line::{AllowBlocker, Word};
use crate::grammar::Input;
use crate::interpret::fallback;
use crate::interpret::wrapper_options::known;

/// Maximum lines of a text that `xargs` inserts into its command.
const MAX_LINES: usize = 64;
/// The placeholder word for the input of `xargs`.
const INPUT: &str = "(standard input)";

/// A command that `xargs` runs.
#[derive(Clone)]
pub(super) struct StdinCommand {
    words: Arc<[Word]>,
    /// The placeholder that each input line replaces (`-I`).
    place: Option<Arc<str>>,
    job: WorkItem,
}

impl Interpreter {
    /// Adds a command to which standard input adds words. If its start is not known, it may be any
    /// word.
    pub(super) fn stdin_command(
        &mut self,
        job: &WorkItem,
        start: usize,
        allow: bool,
        place: Option<&str>,
        is_start: bool,
    ) {
        let words = self.words(job);
        let inner = words.get(start..).unwrap_or_default();
        if inner.is_empty() {
            return;
        }
        let job = WorkItem { start, allow: false, ..job.clone() };
        self.is_fed = true;
        let replaced = |word: &Word| match word {
            Word::Known(text) if place.is_some_and(|place| text.contains(place)) => input(),
            word => word.clone(),
        };
        if inner.last().is_some_and(is_input) && place.is_none() {
            // The words of an outer command are already completed.
            self.jobs.push(WorkItem { allow, ..job });
            return;
        }
        if !self.spend_fuel(inner.len().saturating_mul(16)) {
            self.jobs.push(job);
            return;
        }
        let completed: Arc<[Word]> = inner.iter().map(replaced).chain([input()]).collect();
        let list = self.list(completed);
        let whole = WorkItem { list, start: 0, allow, ..job.clone() };
        if !is_start {
            return self.rest(&whole, 0);
        }
        self.jobs.push(whole);
        if self.completed.len() < MAX_TEXTS && self.spend_fuel(inner.len().saturating_mul(16)) {
            let place = place.map(Arc::from);
            self.completed.push(StdinCommand { words: inner.into(), place, job: job.clone() });
        }
        self.jobs.push(job);
    }

    /// Marks the command as not known, because input supplies the program or the text of a shell.
    pub(super) fn input_runs(&mut self) {
        let block = AllowBlocker::ComputedName(INPUT.to_owned());
        // Comparing with all blockers, for each program of a long line, would be quadratic.
        if !self.blocks.iter().rev().take(4).any(|known| *known == block) {
            self.blocks.push(block);
        }
    }

    /// Marks the program of this interpreter as not known.
    pub(super) fn unknown_input(&mut self, name: &str) {
        let block = AllowBlocker::UnknownInput(name.to_owned());
        if !self.blocks.contains(&block) {
            self.blocks.push(block);
        }
    }

    /// Passes the output of the line's commands, and its here-documents, to a shell in the line.
    pub(in crate::interpret) fn interpret_inputs(&mut self) {
        let job = WorkItem {
            list: 0,
            start: 0,
            past: ["(input)".to_owned()].into(),
            allow: false,
            exact: false,
            texts: 1,
            input: Input::Inherited,
        };
        let mut next = 0;
        while let Some(text) = self.inputs.get(next).cloned() {
            next = next.saturating_add(1);
            for completed in self.completed.clone() {
                self.complete(&completed, &text);
            }
            self.text(&text, &job, self.is_certain);
            self.work();
        }
    }

    /// Interprets the command that `xargs` runs with the words of a text.
    fn complete(&mut self, completed: &StdinCommand, text: &str) {
        let StdinCommand { words, place, job } = completed;
        if let Some(place) = place {
            for line in text.lines().take(MAX_LINES) {
                self.replace(words, place, line.trim(), job);
            }
        }
        if !self.spend_fuel(text.len().saturating_add(words.len()).saturating_mul(16)) {
            return;
        }
        let more: Vec<Word> = fallback::possible_commands(text).into_iter().flatten().collect();
        let list = self.list(words.iter().cloned().chain(more).collect());
        self.jobs.push(WorkItem { list, start: 0, ..job.clone() });
    }

    /// Interprets the command that `xargs` runs with a line in place of the placeholder.
    fn replace(&mut self, words: &Arc<[Word]>, place: &str, line: &str, job: &WorkItem) {
        if self.fuel == 0 {
            return;
        }
        let cost = |word: &Word| {
            let text = known(word).unwrap_or_default();
            let places = text.matches(place).count();
            places.saturating_mul(line.len()).saturating_add(text.len()).saturating_add(16)
        };
        if !self.spend_fuel(words.iter().map(cost).fold(0, usize::saturating_add)) {
            return;
        }
        let replaced = |word: &Word| match word {
            Word::Known(text) => Word::Known(text.replace(place, line)),
            word => word.clone(),
        };
        let list = self.list(words.iter().map(replaced).collect());
        self.jobs.push(WorkItem { list, start: 0, ..job.clone() });
    }
}

fn input() -> Word {
    Word::Unknown(INPUT.to_owned())
}

pub(in crate::interpret) fn is_input(word: &Word) -> bool {
    matches!(word, Word::Unknown(text) if text == INPUT)
}
