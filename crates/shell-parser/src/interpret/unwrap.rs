//! Interpretations of a command: skips wrapper programs that run their arguments, and parses the
//! texts that shells receive.
//!
//! Cost: each word of a list begins at most one interpretation for allow rules and one for the
//! others. Copying words and parsing texts consumes the line's fuel. When the fuel is used up, the
//! line counts as unparsed, which is the strict result.
#![deny(clippy::indexing_slicing)]

mod embedded_commands;
mod own_commands;
mod stdin_commands;

use std::collections::HashSet;
use std::sync::Arc;

use super::shell_args::{self, ShellSource};
use super::wrapper_options::{command_start, known, placeholder};
use super::wrapper_table::{self, CommandPosition};
use super::{builtins, fallback};
use crate::command_line::{AllowBlocker, Interpretation, Kind, ParseFault, Segment, Word};
use crate::grammar::{self, Input, ParsedParts, Part, PartKind};
use crate::token::Value;
use stdin_commands::StdinCommand;
pub(super) use stdin_commands::is_input;

/// Maximum nesting of embedded texts.
const MAX_TEXTS: usize = 16;
/// Maximum number of wrapper programs that an interpretation names.
const MAX_UNWRAPPED: usize = 8;
/// Maximum number of global git options.
const MAX_GIT: usize = 64;

/// A list of words and the state of its interpretation.
struct WordList {
    words: Arc<[Word]>,
    /// Bit flags by offset: interpreted for deny rules, interpreted for allow rules.
    seen: Vec<u8>,
    /// Every word from this offset on has an interpretation.
    rest: usize,
    /// The same for texts. For `eval`, `source`, `find` and git, the first occurrence in a list
    /// covers the later ones.
    texts: usize,
    evals: usize,
    sources: usize,
    finds: usize,
    git: usize,
    /// For each row of the table of own actions, the first offset from which it was applied; a list
    /// has few such rows.
    rows: Vec<(usize, usize)>,
}

impl WordList {
    /// Returns whether a row of the table of own actions is to be applied from this offset on: the
    /// words from an earlier offset on include those from this one on.
    fn begins_row(&mut self, row: usize, start: usize) -> bool {
        match self.rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, first)) if *first <= start => false,
            Some((_, first)) => {
                *first = start;
                true
            }
            None => {
                self.rows.push((row, start));
                true
            }
        }
    }
}

/// A pending interpretation.
#[derive(Clone)]
struct WorkItem {
    list: usize,
    start: usize,
    past: Arc<[String]>,
    allow: bool,
    /// Whether a command certainly begins at this offset.
    exact: bool,
    texts: usize,
    input: Input,
}

/// Interprets the commands of a line.
pub(super) struct Interpreter {
    fuel: usize,
    pub(super) at: usize,
    pub(super) fault: Option<ParseFault>,
    pub(super) defined: HashSet<String>,
    /// Texts that a shell in the line may receive.
    inputs: Vec<String>,
    /// Commands whose arguments come from standard input.
    completed: Vec<StdinCommand>,
    lists: Vec<WordList>,
    jobs: Vec<WorkItem>,
    /// Interpretations of the current command.
    pub(super) readings: Vec<Interpretation>,
    pub(super) blocks: Vec<AllowBlocker>,
    /// Files that an embedded text of the command opens.
    pub(super) files: Vec<Segment>,
    /// Whether the command runs commands from its input.
    pub(super) is_fed: bool,
    /// The first interpreter of the line that is not a shell and runs its input.
    pub(super) code_reader: Option<String>,
    /// Whether a shell in the line certainly runs commands from its input.
    is_certain: bool,
}

impl Interpreter {
    pub(super) fn new(
        fuel: usize,
        fault: Option<ParseFault>,
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
            code_reader: None,
            is_certain: false,
        }
    }

    /// Interprets a command as written in the line.
    pub(super) fn command(&mut self, values: Vec<Value>, input: Input) {
        self.values(values, &Arc::default(), true, 0, input);
        self.work();
        self.lists.clear();
    }

    fn mark_unparsed(&mut self, what: &str) {
        self.fault.get_or_insert_with(|| ParseFault { at: self.at, what: what.to_owned() });
    }

    /// Consumes fuel; `false` if there was not enough.
    fn spend_fuel(&mut self, bytes: usize) -> bool {
        let left = self.fuel.checked_sub(bytes);
        if left.is_none() {
            self.mark_unparsed("more texts in texts than are followed");
        }
        self.fuel = left.unwrap_or(0);
        left.is_some()
    }

    fn list(&mut self, words: Arc<[Word]>) -> usize {
        let count = words.len();
        self.lists.push(WordList {
            words,
            seen: vec![0; count],
            rest: usize::MAX,
            texts: usize::MAX,
            evals: usize::MAX,
            sources: usize::MAX,
            finds: usize::MAX,
            git: usize::MAX,
            rows: Vec::new(),
        });
        self.lists.len().saturating_sub(1)
    }

    /// Interprets a command's words as written, and under the assumption that every expansion is
    /// empty.
    fn values(
        &mut self,
        values: Vec<Value>,
        past: &Arc<[String]>,
        allow: bool,
        texts: usize,
        input: Input,
    ) {
        let is_computed = values.first().is_some_and(|value| value.text().is_none());
        let is_defined =
            values.first().and_then(Value::text).is_some_and(|name| self.defined.contains(name));
        if values.iter().any(|value| value.text().is_none()) {
            let literal = |value: &Value| match &value.word {
                // A process substitution is a path and never empty.
                Word::Unknown(text)
                    if value.expands && !text.contains("<(") && !text.contains(">(") =>
                {
                    value.literal.iter().cloned().map(Word::Known).collect()
                }
                word => vec![word.clone()],
            };
            let words: Arc<[Word]> = values.iter().flat_map(literal).collect();
            let list = self.list(words);
            let job = WorkItem {
                list,
                start: 0,
                past: past.clone(),
                allow: false,
                exact: true,
                texts,
                input,
            };
            self.jobs.push(job.clone());
            if is_computed {
                self.rest(&job, 0);
            }
        }
        let words: Arc<[Word]> = values.into_iter().map(|value| value.word).collect();
        let list = self.list(words);
        let job = WorkItem { list, start: 0, past: past.clone(), allow, exact: true, texts, input };
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

    fn words(&self, job: &WorkItem) -> Arc<[Word]> {
        self.lists.get(job.list).map(|list| list.words.clone()).unwrap_or_default()
    }

    fn read(&mut self, job: &WorkItem) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        let Some(seen) = list.seen.get_mut(job.start) else { return };
        let bit = if job.allow { 2 } else { 1 };
        if *seen & bit != 0 || *seen & 2 != 0 {
            return;
        }
        *seen |= bit;
        let words = list.words.clone();
        let Some(reading) =
            Interpretation::from_word(&words, job.start, job.past.clone(), job.allow)
        else {
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
                self.readings.push(reading.with_program(Word::Known(name.to_owned()), 0));
                name
            }
            _ => program.as_str(),
        };
        if job.exact {
            self.unwrap_builtin(name, reading.args());
        }
        if matches!(name, "echo" | "printf") && job.exact {
            self.inputs.extend(shell_args::echoed_text(reading.args()));
        }
        if let Some(wrapper) = wrapper_table::find(name) {
            let allow = job.allow && wrapper.allow && name == program;
            self.unwrap_program(name, wrapper.runs, allow, job, &reading);
        }
        self.own_commands(name, job, &reading);
    }

    fn unwrap_builtin(&mut self, name: &str, args: &[Word]) {
        self.blocks.extend(builtins::block(name, args));
        if !builtins::evaluates(name) {
            return;
        }
        for text in
            args.iter().filter_map(known).filter(|text| text.contains("$(") || text.contains('`'))
        {
            self.blocks.push(AllowBlocker::Expansion(text.to_owned()));
            if self.spend_fuel(text.len()) {
                self.fallback(text, &[name.to_owned()].into(), 1);
            }
        }
    }

    fn unwrap_program(
        &mut self,
        name: &str,
        runs: CommandPosition,
        allow: bool,
        job: &WorkItem,
        reading: &Interpretation,
    ) {
        let args = reading.args();
        let after = job.start.saturating_add(1);
        let job = WorkItem { past: with_unwrapped(&job.past, name), allow: false, ..job.clone() };
        match runs {
            CommandPosition::Command(options) => {
                if name == "command" && args.first().and_then(known).is_some_and(is_lookup) {
                    return;
                }
                let Some(begins) = command_start(name, args, &options) else {
                    if name == "xargs" {
                        let place = placeholder(args).unwrap_or("{}");
                        self.stdin_command(&job, after, false, Some(place), false);
                    }
                    if name == "env" {
                        self.split_string(args, &job);
                    }
                    return self.rest(&job, after);
                };
                let start = after.saturating_add(begins.skipped);
                if name == "xargs" {
                    let place = placeholder(args.get(..begins.skipped).unwrap_or_default());
                    return self.stdin_command(&job, start, allow && begins.is_bare, place, true);
                }
                if begins.skipped >= args.len() {
                    // These start a shell that reads its input.
                    self.is_fed |= matches!(name, "sudo" | "doas" | "chroot");
                    return;
                }
                self.jobs.push(WorkItem { start, allow, ..job });
            }
            CommandPosition::Rest => {
                self.is_fed |= wrapper_table::reads_commands(name);
                if job.input == Input::Unknown && wrapper_table::runs_input(name, args.len()) {
                    self.unknown_input(name);
                }
                self.rest(&job, after);
                self.rest_texts(&job, after);
            }
            CommandPosition::After(verbs) => {
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
            CommandPosition::Shell => self.shell(name, &job, args, after),
            CommandPosition::Eval => self.eval(&job, args, after),
            CommandPosition::Source => self.source(&job, args),
            CommandPosition::Find => self.find(&job, args),
            CommandPosition::Git => self.git(&job, reading, after),
        }
    }

    /// Assumes that a command may begin at every word from `from` on.
    fn rest(&mut self, job: &WorkItem, from: usize) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        let end = list.rest.min(list.words.len());
        list.rest = list.rest.min(from);
        let starts = (from..end).rev();
        self.jobs.extend(starts.map(|start| WorkItem {
            start,
            allow: false,
            exact: false,
            ..job.clone()
        }));
    }

    /// Assumes that every word from `from` on may be a text for a shell.
    fn rest_texts(&mut self, job: &WorkItem, from: usize) {
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
            // An alias definition.
            if let Some((_, value)) = text.split_once('=').filter(|(name, _)| !is_text(name)) {
                self.text(value, job, false);
            }
        }
    }

    /// Handles the value of a short option in the same word: `-cTEXT`, `-qcTEXT`.
    fn joined_text(&mut self, text: &str, job: &WorkItem) {
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

    fn shell(&mut self, name: &str, job: &WorkItem, args: &[Word], after: usize) {
        match shell_args::shell_source(args) {
            ShellSource::Text(Word::Known(text)) => {
                if text.contains('$') {
                    // The parameters of the text may become commands.
                    self.rest(job, after);
                }
                self.text(text, job, true);
            }
            ShellSource::Text(word @ Word::Unknown(_)) => {
                if is_input(word) {
                    self.input_runs();
                }
                self.is_fed = true;
                self.rest(job, after);
            }
            ShellSource::Input => {
                if args.first().is_some_and(is_input) {
                    self.input_runs();
                }
                if job.input == Input::Unknown {
                    self.unknown_input(name);
                }
                self.is_fed = true;
                self.is_certain |= job.exact;
            }
            ShellSource::UnknownFile => {
                self.unknown_input(name);
                self.is_fed = true;
                self.is_certain |= job.exact;
            }
            ShellSource::Unclear => {
                self.is_fed = true;
                self.rest(job, after);
                self.rest_texts(job, after);
            }
            ShellSource::File => {}
        }
    }

    fn eval(&mut self, job: &WorkItem, args: &[Word], after: usize) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        let ends_options = args.first().and_then(known) == Some("--");
        let skipped = usize::from(ends_options);
        let (args, after) =
            (args.get(skipped..).unwrap_or_default(), after.saturating_add(skipped));
        self.jobs.push(WorkItem { start: after, allow: false, ..job.clone() });
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
        // A word with a blank becomes several words, an empty one none.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:@%+".contains(c);
        let is_word = |word: &Word| {
            known(word).is_some_and(|text| !text.is_empty() && text.chars().all(is_plain))
        };
        if !args.iter().all(is_word) {
            self.text(&text, job, true);
        }
    }

    fn source(&mut self, job: &WorkItem, args: &[Word]) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        if list.sources <= job.start {
            return;
        }
        list.sources = job.start;
        let is_text = |text: &str| text.starts_with("/dev/") || text.starts_with("/proc/");
        self.is_fed |= args.iter().any(|word| known(word).is_none_or(is_text));
        match args.first() {
            Some(Word::Unknown(_)) => self.unknown_input("source"),
            Some(Word::Known(path)) if is_text(path) && job.input != Input::Known => {
                self.unknown_input("source");
            }
            _ => {}
        }
    }

    /// Interprets a text that a shell receives. A parse failure is a fault only if a shell
    /// certainly receives it.
    fn text(&mut self, text: &str, job: &WorkItem, is_certain: bool) {
        // This also applies to a text that is not parsed: each `eval` of it produces another one.
        if !self.spend_fuel(text.len().saturating_add(16)) {
            return;
        }
        if job.texts >= MAX_TEXTS {
            self.mark_unparsed("texts in texts in texts");
            return self.fallback(text, &job.past, job.texts);
        }
        let mut found = ParsedParts::default();
        grammar::parse_into(text, job.texts.saturating_add(1), Some(self.at), &mut found);
        found.mark_expanded_inputs();
        self.defined.extend(found.defined);
        self.inputs.append(&mut found.inputs);
        if let Some(fault) = found.fault {
            if is_certain {
                self.mark_unparsed(&fault.what);
            }
            self.fallback(text, &job.past, job.texts.saturating_add(1));
        }
        for part in found.parts {
            self.inner(part, job);
        }
    }

    /// Adds a part of a text to the command that receives the text.
    fn inner(&mut self, part: Part, job: &WorkItem) {
        // A redirection has the same blockers as its command.
        for block in &part.blocks {
            if !self.blocks.iter().rev().take(4).any(|known| known == block) {
                self.blocks.push(block.clone());
            }
        }
        match part.what {
            PartKind::Assignment => {}
            PartKind::Command(values) => {
                let input = part.input.or(job.input);
                self.values(values, &job.past, false, job.texts.saturating_add(1), input);
            }
            PartKind::Redirection { writes, target } => self.files.push(Segment {
                text: part.text,
                kind: Kind::Redirection { writes, target },
                readings: Vec::new(),
                blocks: part.blocks,
            }),
        }
    }

    /// Assumes that a command may begin at every word of the text.
    fn fallback(&mut self, text: &str, past: &Arc<[String]>, texts: usize) {
        for words in fallback::possible_commands(text) {
            let list = self.list(words.into());
            let past = past.clone();
            let input = Input::Inherited;
            let job = WorkItem { list, start: 0, past, allow: false, exact: false, texts, input };
            self.rest(&job, 0);
        }
    }

    /// Interprets an unparsed line.
    pub(super) fn interpret_as_fallback(&mut self, text: &str) {
        self.fallback(text, &Arc::default(), 0);
        self.work();
    }
}

/// Returns whether the option (`command -v` or `-V`) looks up a name and runs nothing.
fn is_lookup(option: &str) -> bool {
    option.strip_prefix('-').is_some_and(|letters| {
        letters.contains(['v', 'V']) && letters.bytes().all(|b| b"pvV".contains(&b))
    })
}

/// Adds a wrapper program to the list.
fn with_unwrapped(past: &Arc<[String]>, name: &str) -> Arc<[String]> {
    if past.len() >= MAX_UNWRAPPED {
        return past.clone();
    }
    past.iter().cloned().chain([name.to_owned()]).collect()
}
