//! What standard input brings: `xargs` completes a command with it, and a shell reads it as its text.
#![deny(clippy::indexing_slicing)]

use std::sync::Arc;

use super::{Job, MAX_TEXTS, Reader};
use crate::line::{Block, Word};
use crate::reading::loose;
use crate::reading::options::known;

/// Lines of a text that `xargs` puts into its command.
const MAX_LINES: usize = 64;
/// The word that stands for what `xargs` reads.
const INPUT: &str = "(standard input)";

/// A command of `xargs`.
#[derive(Clone)]
pub(super) struct Completed {
    words: Arc<[Word]>,
    /// What a line of the input replaces.
    place: Option<Arc<str>>,
    job: Job,
}

impl Reader {
    /// A command to which standard input adds words. Where it begins may not be known: then any word may.
    pub(super) fn completed(
        &mut self,
        job: &Job,
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
        let job = Job { start, allow: false, ..job.clone() };
        self.is_fed = true;
        let replaced = |word: &Word| match word {
            Word::Known(text) if place.is_some_and(|place| text.contains(place)) => input(),
            word => word.clone(),
        };
        if inner.last().is_some_and(is_input) && place.is_none() {
            // The words of an outer one are completed already.
            self.jobs.push(Job { allow, ..job });
            return;
        }
        if !self.pay(inner.len().saturating_mul(16)) {
            self.jobs.push(job);
            return;
        }
        let completed: Arc<[Word]> = inner.iter().map(replaced).chain([input()]).collect();
        let list = self.list(completed);
        let whole = Job { list, start: 0, allow, ..job.clone() };
        if !is_start {
            return self.rest(&whole, 0);
        }
        self.jobs.push(whole);
        if self.completed.len() < MAX_TEXTS && self.pay(inner.len().saturating_mul(16)) {
            let place = place.map(Arc::from);
            self.completed.push(Completed { words: inner.into(), place, job: job.clone() });
        }
        self.jobs.push(job);
    }

    /// Input is the program, or the text of a shell: nobody knows what runs.
    pub(super) fn input_runs(&mut self) {
        let block = Block::ComputedName(INPUT.to_owned());
        if !self.blocks.contains(&block) {
            self.blocks.push(block);
        }
    }

    /// Gives what the line's commands write, and its here-documents, to a shell in it.
    pub(in crate::reading) fn feed(&mut self) {
        let job = Job {
            list: 0,
            start: 0,
            past: ["(input)".to_owned()].into(),
            allow: false,
            exact: false,
            texts: 1,
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

    /// What `xargs` runs with the words of a text.
    fn complete(&mut self, completed: &Completed, text: &str) {
        let Completed { words, place, job } = completed;
        if let Some(place) = place {
            for line in text.lines().take(MAX_LINES) {
                self.replace(words, place, line.trim(), job);
            }
        }
        if !self.pay(text.len().saturating_add(words.len()).saturating_mul(16)) {
            return;
        }
        let more: Vec<Word> = loose::pieces(text).into_iter().flatten().collect();
        let list = self.list(words.iter().cloned().chain(more).collect());
        self.jobs.push(Job { list, start: 0, ..job.clone() });
    }

    /// What `xargs` runs with a line in the place of what it replaces.
    fn replace(&mut self, words: &Arc<[Word]>, place: &str, line: &str, job: &Job) {
        if self.fuel == 0 {
            return;
        }
        let cost = |word: &Word| {
            let text = known(word).unwrap_or_default();
            let places = text.matches(place).count();
            places.saturating_mul(line.len()).saturating_add(text.len()).saturating_add(16)
        };
        if !self.pay(words.iter().map(cost).fold(0, usize::saturating_add)) {
            return;
        }
        let replaced = |word: &Word| match word {
            Word::Known(text) => Word::Known(text.replace(place, line)),
            word => word.clone(),
        };
        let list = self.list(words.iter().map(replaced).collect());
        self.jobs.push(Job { list, start: 0, ..job.clone() });
    }
}

fn input() -> Word {
    Word::Unknown(INPUT.to_owned())
}

pub(super) fn is_input(word: &Word) -> bool {
    matches!(word, Word::Unknown(text) if text == INPUT)
}
