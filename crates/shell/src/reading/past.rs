//! Every reading of a command: past the programs that run their arguments, and into the texts that shells get.
//!
//! Cost: a word of a list begins at most one reading for allow rules and one for the others, and whatever copies words or reads a text
//! pays from the line's fuel. When that is used up the line is not understood, which is the strict side.
#![deny(clippy::indexing_slicing)]

use std::collections::HashSet;
use std::sync::Arc;

use super::options::{begins, known, placeholder};
use super::shells::{self, Given};
use super::wrappers::{self, Runs};
use super::{builtins, loose};
use crate::grammar::{self, Found, Part, What};
use crate::line::{Block, Fault, Kind, Reading, Segment, Word};
use crate::token::Value;

/// Texts in texts that are followed.
const MAX_TEXTS: usize = 16;
/// Programs that are named in front of a reading.
const MAX_PAST: usize = 8;
/// Global options of git that are followed.
const MAX_GIT: usize = 64;

/// Lines of a text that `xargs` puts into its command.
const MAX_LINES: usize = 64;
/// The word that stands for what `xargs` reads.
const INPUT: &str = "(standard input)";

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

/// A command of `xargs`.
#[derive(Clone)]
struct Completed {
    words: Arc<[Word]>,
    /// What a line of the input replaces.
    place: Option<Arc<str>>,
    job: Job,
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

    /// A command to which standard input adds words. Where it begins may not be known: then any word may.
    fn completed(
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
    fn input_runs(&mut self) {
        let block = Block::ComputedName(INPUT.to_owned());
        if !self.blocks.contains(&block) {
            self.blocks.push(block);
        }
    }

    /// `env -S TEXT`
    fn split_string(&mut self, args: &[Word], job: &Job) {
        let flag = |text: &str| -> Option<(bool, String)> {
            let long = text.strip_prefix("--split-string");
            let value = long.map(|rest| rest.trim_start_matches('=')).or_else(|| {
                let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
                letters.split_once('S').map(|(_, value)| value)
            })?;
            Some((value.is_empty(), value.to_owned()))
        };
        let near = args.get(..args.len().min(MAX_GIT)).unwrap_or_default();
        let Some((at, (is_next, value))) =
            near.iter().enumerate().find_map(|(i, word)| Some((i, flag(known(word)?)?)))
        else {
            return;
        };
        let next = args.get(at.saturating_add(1)).and_then(known).unwrap_or_default();
        let (text, after) = if is_next { (next, 2) } else { (value.as_str(), 1) };
        let rest = args.get(at.saturating_add(after)..).unwrap_or_default();
        if !self.pay(text.len().saturating_add(rest.len().saturating_mul(16))) {
            return;
        }
        let words: Vec<Word> = loose::pieces(text).into_iter().flatten().collect();
        let words: Arc<[Word]> = words.into_iter().chain(rest.iter().cloned()).collect();
        let list = self.list(words);
        let job = Job { list, start: 0, ..job.clone() };
        self.jobs.push(job.clone());
        self.rest(&job, 0);
    }

    /// `find … -exec COMMAND ;`
    fn find(&mut self, job: &Job, args: &[Word]) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        if list.finds <= job.start {
            return;
        }
        list.finds = job.start;
        let is_end = |word: &Word| matches!(known(word), Some(";" | "+"));
        let mut end = 0;
        let actions =
            args.iter().enumerate().filter_map(|(at, word)| Some((at, action(known(word)?)?)));
        for (at, joined) in actions {
            let from = at.saturating_add(1);
            if end < from {
                let after = args.get(from..).unwrap_or_default();
                end = after.iter().position(is_end).map_or(args.len(), |i| from.saturating_add(i));
            }
            let inner = args.get(from..end).unwrap_or_default();
            if !joined.is_empty() {
                if !self.pay(joined.len().saturating_add(inner.len().saturating_mul(16))) {
                    return self.rest(job, job.start.saturating_add(from).saturating_add(1));
                }
                let first = Word::Known(joined.to_owned());
                let list = self.list(std::iter::once(first).chain(inner.iter().cloned()).collect());
                self.jobs.push(Job { list, start: 0, ..job.clone() });
            }
            if inner.is_empty() {
                continue;
            }
            if end == args.len() || !self.pay(inner.len().saturating_mul(16)) {
                return self.rest(job, job.start.saturating_add(from).saturating_add(1));
            }
            let list = self.list(inner.into());
            self.jobs.push(Job { list, start: 0, ..job.clone() });
        }
    }

    /// Past git's own options, and into the commands that its settings and some subcommands run.
    fn git(&mut self, job: &Job, reading: &Reading, after: usize) {
        let args = reading.args();
        let mut skipped = 0;
        let understood = loop {
            let Some(text) = args.get(skipped).map(known) else { break true };
            let Some(text) = text.filter(|_| skipped < MAX_GIT) else { break false };
            if !text.starts_with('-') {
                break true;
            }
            let value = args.get(skipped.saturating_add(1)).and_then(known);
            let setting = match text {
                "-c" | "--config-env" => value,
                _ => text.strip_prefix("-c"),
            };
            if let Some(setting) = setting {
                self.git_setting(setting, job);
            }
            skipped = skipped.saturating_add(match text {
                "-C" | "-c" | "--exec-path" | "--git-dir" | "--work-tree" | "--namespace"
                | "--super-prefix" | "--config-env" | "--attr-source" | "--list-cmds" => 2,
                _ => 1,
            });
        };
        if skipped > 0 {
            self.readings.push(reading.renamed(Word::Known("git".to_owned()), skipped));
        }
        if !understood {
            self.git_rest(job, reading, skipped);
        }
        let runs = |text: &str| {
            matches!(text, "foreach" | "run" | "filter-branch" | "rebase" | "difftool")
        };
        let near = args.get(skipped..args.len().min(skipped.saturating_add(4))).unwrap_or_default();
        if near.iter().filter_map(known).any(runs) {
            self.rest(job, after.saturating_add(skipped));
            self.rest_texts(job, after.saturating_add(skipped));
        }
    }

    fn git_setting(&mut self, setting: &str, job: &Job) {
        let value = setting.split_once('=').map_or("", |(_, value)| value);
        let text = value.strip_prefix('!').unwrap_or(value);
        if text.contains([' ', '/']) || value.starts_with('!') {
            self.text(text, job, false);
        }
        if let Some(words) = setting.strip_prefix("alias.").filter(|_| !value.starts_with('!')) {
            let text = format!("git {}", words.split_once('=').map_or("", |(_, value)| value));
            self.text(&text, job, false);
        }
    }

    /// The subcommand may be any later word.
    fn git_rest(&mut self, job: &Job, reading: &Reading, from: usize) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        if list.git <= job.start {
            return;
        }
        list.git = job.start;
        for skipped in from..reading.args().len() {
            self.readings.push(reading.renamed(Word::Known("git".to_owned()), skipped));
        }
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

    /// Gives what the line's commands write, and its here-documents, to a shell in it.
    pub(super) fn feed(&mut self) {
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

/// What begins a command in the arguments of `find` and `fd`, with the part of the command that stands in the same word.
fn action(text: &str) -> Option<&str> {
    if matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir") {
        return Some("");
    }
    if let Some(long) = text.strip_prefix("--exec") {
        let long = long.strip_prefix("-batch").unwrap_or(long);
        return if long.is_empty() { Some("") } else { long.strip_prefix('=') };
    }
    let is_test = matches!(
        text,
        "-regex"
            | "-regextype"
            | "-iregex"
            | "-maxdepth"
            | "-context"
            | "-exclude"
            | "-executable"
            | "-xdev"
            | "-xtype"
            | "-xattr"
            | "-xattrname"
    );
    let letters = text.strip_prefix('-').filter(|text| !text.starts_with('-') && !is_test)?;
    let (before, command) = letters.split_once(['x', 'X'])?;
    before.bytes().all(|b| b.is_ascii_alphanumeric()).then_some(command)
}

fn input() -> Word {
    Word::Unknown(INPUT.to_owned())
}

fn is_input(word: &Word) -> bool {
    matches!(word, Word::Unknown(text) if text == INPUT)
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
