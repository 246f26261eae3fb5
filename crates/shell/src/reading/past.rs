//! Every reading of a command: past the programs that run their arguments, and into the texts that shells get.
//!
//! Cost: a word of a list begins at most one reading for allow rules and one for the others, and whatever copies words or reads a text
//! pays from the line's fuel. When that is used up the line is not understood, which is the strict side.
#![deny(clippy::indexing_slicing)]

mod input;
mod programs;

use std::collections::HashSet;
use std::sync::Arc;

use super::options::{begins, known, placeholder};
use super::shells::{self, Given};
use super::wrappers::{self, Runs};
use super::{builtins, loose};
use crate::grammar::{self, Found, Part, What};
use crate::line::{Block, Fault, Kind, Reading, Segment, Word};
use crate::token::Value;
use input::{Completed, is_input};

/// Texts in texts that are followed.
const MAX_TEXTS: usize = 16;
/// Programs that are named in front of a reading.
const MAX_PAST: usize = 8;
/// Global options of git that are followed.
const MAX_GIT: usize = 64;

/// Words with what was done with them.
struct List {
    words: Arc<[Word]>,
    /// Bits by offset: read for deny, read for allow.
    seen: Vec<u8>,
    /// Every word from here on has a reading.
    rest: usize,
    /// The same for texts; for `eval`, `source`, `find` and git, what the first one of a list says holds for those after it.
    texts: usize,
    evals: usize,
    sources: usize,
    finds: usize,
    git: usize,
}

/// A reading to come.
#[derive(Clone)]
struct Job {
    list: usize,
    start: usize,
    past: Arc<[String]>,
    allow: bool,
    /// It is known that a command begins there.
    exact: bool,
    texts: usize,
}

/// Reads the commands of a line.
pub(super) struct Reader {
    fuel: usize,
    pub(super) at: usize,
    pub(super) fault: Option<Fault>,
    pub(super) defined: HashSet<String>,
    /// Texts that a shell in the line may get.
    inputs: Vec<String>,
    /// Commands whose arguments standard input completes.
    completed: Vec<Completed>,
    lists: Vec<List>,
    jobs: Vec<Job>,
    /// Of the command that is being read.
    pub(super) readings: Vec<Reading>,
    pub(super) blocks: Vec<Block>,
    /// Files that a text in it opens.
    pub(super) files: Vec<Segment>,
    /// It runs what its input says.
    pub(super) is_fed: bool,
    /// A shell in the line certainly does.
    is_certain: bool,
}

impl Reader {
    pub(super) fn new(
        fuel: usize,
        fault: Option<Fault>,
        defined: HashSet<String>,
        inputs: Vec<String>,
    ) -> Self {
        Self {
            fuel,
            at: 0,
            fault,
            defined,
            inputs,
            completed: Vec::new(),
            lists: Vec::new(),
            jobs: Vec::new(),
            readings: Vec::new(),
            blocks: Vec::new(),
            files: Vec::new(),
            is_fed: false,
            is_certain: false,
        }
    }

    /// Reads a command as it stands in the line.
    pub(super) fn command(&mut self, values: Vec<Value>) {
        self.values(values, &Arc::default(), true, 0);
        self.work();
        self.lists.clear();
    }

    fn doubt(&mut self, what: &str) {
        self.fault.get_or_insert_with(|| Fault { at: self.at, what: what.to_owned() });
    }

    /// Takes from the fuel; whether there was enough.
    fn pay(&mut self, bytes: usize) -> bool {
        let left = self.fuel.checked_sub(bytes);
        if left.is_none() {
            self.doubt("more texts in texts than are followed");
        }
        self.fuel = left.unwrap_or(0);
        left.is_some()
    }

    fn list(&mut self, words: Arc<[Word]>) -> usize {
        let count = words.len();
        self.lists.push(List {
            words,
            seen: vec![0; count],
            rest: usize::MAX,
            texts: usize::MAX,
            evals: usize::MAX,
            sources: usize::MAX,
            finds: usize::MAX,
            git: usize::MAX,
        });
        self.lists.len().saturating_sub(1)
    }

    /// The words of a command, and what they are if every expansion is empty.
    fn values(&mut self, values: Vec<Value>, past: &Arc<[String]>, allow: bool, texts: usize) {
        let is_computed = values.first().is_some_and(|value| value.text().is_none());
        let is_defined =
            values.first().and_then(Value::text).is_some_and(|name| self.defined.contains(name));
        if values.iter().any(|value| value.text().is_none()) {
            let literal = |value: &Value| match &value.word {
                // What stands for a process is a path, and never nothing.
                Word::Unknown(text)
                    if value.expands && !text.contains("<(") && !text.contains(">(") =>
                {
                    value.literal.iter().cloned().map(Word::Known).collect()
                }
                word => vec![word.clone()],
            };
            let words: Arc<[Word]> = values.iter().flat_map(literal).collect();
            let list = self.list(words);
            let job = Job { list, start: 0, past: past.clone(), allow: false, exact: true, texts };
            self.jobs.push(job.clone());
            if is_computed {
                self.rest(&job, 0);
            }
        }
        let words: Arc<[Word]> = values.into_iter().map(|value| value.word).collect();
        let list = self.list(words);
        let job = Job { list, start: 0, past: past.clone(), allow, exact: true, texts };
        if is_computed || is_defined {
            self.rest(&job, 1);
        }
        self.jobs.push(job);
    }

    fn work(&mut self) {
        while let Some(job) = self.jobs.pop() {
            self.read(&job);
        }
    }

    fn words(&self, job: &Job) -> Arc<[Word]> {
        self.lists.get(job.list).map(|list| list.words.clone()).unwrap_or_default()
    }

    fn read(&mut self, job: &Job) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        let Some(seen) = list.seen.get_mut(job.start) else { return };
        let bit = if job.allow { 2 } else { 1 };
        if *seen & bit != 0 || *seen & 2 != 0 {
            return;
        }
        *seen |= bit;
        let words = list.words.clone();
        let Some(reading) = Reading::at(&words, job.start, job.past.clone(), job.allow) else {
            return;
        };
        let program = known(reading.program()).map(ToOwned::to_owned);
        self.readings.push(reading.clone());
        let Some(program) = program else {
            if is_input(reading.program()) {
                self.input_runs();
                self.rest(job, job.start.saturating_add(1));
            }
            return;
        };
        let name = match program.rsplit_once('/') {
            Some((_, name)) if !name.is_empty() => {
                self.readings.push(reading.renamed(Word::Known(name.to_owned()), 0));
                name
            }
            _ => program.as_str(),
        };
        if job.exact {
            self.look_into_builtin(name, reading.args());
        }
        if matches!(name, "echo" | "printf") && job.exact {
            self.inputs.extend(shells::said(reading.args()));
        }
        if let Some(wrapper) = wrappers::find(name) {
            let allow = job.allow && wrapper.allow && name == program;
            self.look_past(name, wrapper.runs, allow, job, &reading);
        }
    }

    fn look_into_builtin(&mut self, name: &str, args: &[Word]) {
        self.blocks.extend(builtins::block(name, args));
        if !builtins::evaluates(name) {
            return;
        }
        for text in
            args.iter().filter_map(known).filter(|text| text.contains("$(") || text.contains('`'))
        {
            self.blocks.push(Block::Expansion(text.to_owned()));
            if self.pay(text.len()) {
                self.loose(text, &[name.to_owned()].into(), 1);
            }
        }
    }

    fn look_past(&mut self, name: &str, runs: Runs, allow: bool, job: &Job, reading: &Reading) {
        let args = reading.args();
        let after = job.start.saturating_add(1);
        let job = Job { past: further(&job.past, name), allow: false, ..job.clone() };
        match runs {
            Runs::Command(options) => {
                if name == "command" && args.first().and_then(known).is_some_and(is_lookup) {
                    return;
                }
                let Some(begins) = begins(name, args, &options) else {
                    if name == "xargs" {
                        let place = placeholder(args).unwrap_or("{}");
                        self.completed(&job, after, false, Some(place), false);
                    }
                    if name == "env" {
                        self.split_string(args, &job);
                    }
                    return self.rest(&job, after);
                };
                let start = after.saturating_add(begins.skipped);
                if name == "xargs" {
                    let place = placeholder(args.get(..begins.skipped).unwrap_or_default());
                    return self.completed(&job, start, allow && begins.is_bare, place, true);
                }
                if begins.skipped >= args.len() {
                    // A shell of its own, which reads its input.
                    self.is_fed |= matches!(name, "sudo" | "doas" | "chroot");
                    return;
                }
                self.jobs.push(Job { start, allow, ..job });
            }
            Runs::Rest => {
                self.is_fed |= wrappers::reads_commands(name);
                self.rest(&job, after);
                self.rest_texts(&job, after);
            }
            Runs::After(verbs) => {
                let is_verb = |word: &Word| known(word).is_some_and(|text| verbs.contains(&text));
                let limit = args.get(..args.len().min(MAX_GIT)).unwrap_or_default();
                let from = match limit.iter().position(is_verb) {
                    Some(at) => after.saturating_add(at).saturating_add(1),
                    None if args.len() > MAX_GIT => after,
                    None => return,
                };
                self.rest(&job, from);
                self.rest_texts(&job, from);
            }
            Runs::Shell => self.shell(&job, args, after),
            Runs::Eval => self.eval(&job, args, after),
            Runs::Source => self.source(&job, args),
            Runs::Find => self.find(&job, args),
            Runs::Git => self.git(&job, reading, after),
        }
    }

    /// A command may begin at every word from `from` on.
    fn rest(&mut self, job: &Job, from: usize) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        let end = list.rest.min(list.words.len());
        list.rest = list.rest.min(from);
        let starts = (from..end).rev();
        self.jobs.extend(starts.map(|start| Job {
            start,
            allow: false,
            exact: false,
            ..job.clone()
        }));
    }

    /// Every word from `from` on may be a text for a shell.
    fn rest_texts(&mut self, job: &Job, from: usize) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        let end = list.texts.min(list.words.len());
        list.texts = list.texts.min(from);
        let words = list.words.clone();
        for text in words.get(from..end).unwrap_or_default().iter().filter_map(known) {
            let is_text = |text: &str| text.contains(|c: char| " \t\n;&|(`$<>'\"\\".contains(c));
            if is_text(text) {
                self.text(text, job, false);
            }
            self.joined_text(text, job);
            // An alias.
            if let Some((_, value)) = text.split_once('=').filter(|(name, _)| !is_text(name)) {
                self.text(value, job, false);
            }
        }
    }

    /// The value of a short option may stand in its word: `-cTEXT`, `-qcTEXT`.
    fn joined_text(&mut self, text: &str, job: &Job) {
        let Some(letters) = text.strip_prefix('-').filter(|text| !text.starts_with('-')) else {
            return;
        };
        for (at, letter) in letters.char_indices().take(3) {
            if !letter.is_ascii_alphanumeric() {
                break;
            }
            let value = letters.get(at.saturating_add(1)..).unwrap_or_default();
            if !value.is_empty() {
                self.text(value, job, false);
            }
        }
    }

    fn shell(&mut self, job: &Job, args: &[Word], after: usize) {
        match shells::given(args) {
            Given::Text(Word::Known(text)) => {
                if text.contains('$') {
                    // Its parameters may become commands.
                    self.rest(job, after);
                }
                self.text(text, job, true);
            }
            Given::Text(word @ Word::Unknown(_)) => {
                if is_input(word) {
                    self.input_runs();
                }
                self.is_fed = true;
                self.rest(job, after);
            }
            Given::Input => {
                if args.first().is_some_and(is_input) {
                    self.input_runs();
                }
                self.is_fed = true;
                self.is_certain |= job.exact;
            }
            Given::File => {}
        }
    }

    fn eval(&mut self, job: &Job, args: &[Word], after: usize) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        let ends_options = args.first().and_then(known) == Some("--");
        let skipped = usize::from(ends_options);
        let (args, after) =
            (args.get(skipped..).unwrap_or_default(), after.saturating_add(skipped));
        self.jobs.push(Job { start: after, allow: false, ..job.clone() });
        if list.evals <= job.start {
            return;
        }
        list.evals = job.start;
        let text = |word: &Word| match word {
            Word::Known(text) | Word::Unknown(text) => text.clone(),
        };
        let text = args.iter().map(text).collect::<Vec<_>>().join(" ");
        if args.iter().any(|word| known(word).is_none()) {
            self.is_fed = true;
            self.rest(job, after);
        }
        // A word with a blank becomes several, an empty one none.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:@%+".contains(c);
        let is_word = |word: &Word| {
            known(word).is_some_and(|text| !text.is_empty() && text.chars().all(is_plain))
        };
        if !args.iter().all(is_word) {
            self.text(&text, job, true);
        }
    }

    fn source(&mut self, job: &Job, args: &[Word]) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        if list.sources <= job.start {
            return;
        }
        list.sources = job.start;
        let is_text = |text: &str| text.starts_with("/dev/") || text.starts_with("/proc/");
        self.is_fed |= args.iter().any(|word| known(word).is_none_or(is_text));
    }

    /// A text that a shell gets. Only where one certainly gets it, not understanding it is a fault.
    fn text(&mut self, text: &str, job: &Job, is_certain: bool) {
        if job.texts >= MAX_TEXTS {
            self.doubt("texts in texts in texts");
            return self.loose(text, &job.past, job.texts);
        }
        if !self.pay(text.len().saturating_add(16)) {
            return;
        }
        let mut found = Found::default();
        grammar::read(text, job.texts.saturating_add(1), Some(self.at), &mut found);
        self.defined.extend(found.defined);
        self.inputs.append(&mut found.inputs);
        if let Some(fault) = found.fault {
            if is_certain {
                self.doubt(&fault.what);
            }
            self.loose(text, &job.past, job.texts.saturating_add(1));
        }
        for part in found.parts {
            self.inner(part, job);
        }
    }

    /// A part of a text: it belongs to the command that gets the text.
    fn inner(&mut self, part: Part, job: &Job) {
        // A redirection has the block of its command.
        for block in &part.blocks {
            if !self.blocks.iter().rev().take(4).any(|known| known == block) {
                self.blocks.push(block.clone());
            }
        }
        match part.what {
            What::Assignment => {}
            What::Command(values) => {
                self.values(values, &job.past, false, job.texts.saturating_add(1));
            }
            What::Redirection { writes, target } => self.files.push(Segment {
                text: part.text,
                kind: Kind::Redirection { writes, target },
                readings: Vec::new(),
                blocks: part.blocks,
            }),
        }
    }

    /// A command may begin at every word of the text.
    fn loose(&mut self, text: &str, past: &Arc<[String]>, texts: usize) {
        for words in loose::pieces(text) {
            let list = self.list(words.into());
            let past = past.clone();
            let job = Job { list, start: 0, past, allow: false, exact: false, texts };
            self.rest(&job, 0);
        }
    }

    /// Reads a line that is not understood.
    pub(super) fn distrust(&mut self, text: &str) {
        self.loose(text, &Arc::default(), 0);
        self.work();
    }
}

/// `command -v` and `-V` look a name up and run nothing.
fn is_lookup(option: &str) -> bool {
    option.strip_prefix('-').is_some_and(|letters| {
        letters.contains(['v', 'V']) && letters.bytes().all(|b| b"pvV".contains(&b))
    })
}

/// One more program in front.
fn further(past: &Arc<[String]>, name: &str) -> Arc<[String]> {
    if past.len() >= MAX_PAST {
        return past.clone();
    }
    past.iter().cloned().chain([name.to_owned()]).collect()
}
