//! Commands in the options and languages of programs, from the table of own actions.
#![deny(clippy::indexing_slicing)]

use std::sync::Arc;

use super::{Interpreter, WorkItem, with_unwrapped};
use crate::command_line::{Interpretation, Word};
use crate::grammar::Input;
use crate::interpret::own_actions::{
    Act, ActionValue, FoundAction, ProgramSource, TableRow, is_input_file, is_whole_expansion,
    possible_commands, program_source, rows, table_actions,
};
use crate::interpret::wrapper_table::{self, CommandPosition};

impl Interpreter {
    /// Interprets the commands that the program runs itself.
    pub(super) fn own_commands(&mut self, name: &str, job: &WorkItem, reading: &Interpretation) {
        for row in rows(name) {
            let Some(list) = self.lists.get_mut(job.list) else { return };
            if !list.begins_row(row.number, job.start) {
                continue;
            }
            if !self.spend_fuel(reading.args().len()) {
                return;
            }
            let found = table_actions(row, reading.args());
            // Most rows find nothing, and a program has up to 20 rows (git).
            if !found.is_empty() {
                let past = with_unwrapped(&job.past, name);
                let job = WorkItem { past, allow: false, exact: false, ..job.clone() };
                for found in found {
                    self.own_command(name, found, &job);
                }
            }
            self.own_program(name, row, reading, job.input);
        }
    }

    fn own_command(&mut self, name: &str, found: FoundAction<'_>, job: &WorkItem) {
        match (found.act, found.value) {
            (Act::Command, ActionValue::Known(text)) => {
                let text = text.strip_prefix("exec=").unwrap_or(text);
                self.text(text.trim_start_matches(['!', '|']), job, false);
            }
            (Act::Code, ActionValue::Known(code)) => self.code(code, job),
            (Act::Command | Act::Code, ActionValue::Unknown(text)) if is_whole_expansion(text) => {
                self.unknown_input(name);
            }
            (Act::File, ActionValue::Known(path)) if is_input_file(path) => {
                if matches!(job.input, Input::Unknown | Input::Expanded) {
                    self.unknown_input(name);
                }
            }
            (Act::File, ActionValue::Unknown(text)) if text.contains("<(") => {
                self.unknown_input(name);
            }
            _ => {}
        }
    }

    /// Interprets the commands in code of another language.
    fn code(&mut self, code: &str, job: &WorkItem) {
        if !self.spend_fuel(code.len()) {
            return;
        }
        for words in possible_commands(code) {
            let words: Arc<[_]> = words.into();
            let list = self.list(words);
            self.rest(&WorkItem { list, start: 0, ..job.clone() }, 0);
        }
    }

    /// Passes the output of the line's commands, and its here-documents, to an interpreter in the
    /// line that is not a shell, as if an option contained them.
    pub(in crate::interpret) fn interpret_inputs_as_code(&mut self, name: &str) {
        let past: Arc<[String]> = [name.to_owned()].into();
        for text in self.inputs.clone() {
            // The text is copied for the interpretation, and again for its commands.
            if !self.spend_fuel(text.len()) {
                return;
            }
            let words = [name, "-c", &text].map(|word| Word::Known(word.to_owned()));
            let words: Arc<[Word]> = words.into();
            self.readings.extend(Interpretation::from_word(&words, 0, Arc::default(), false));
            let job = WorkItem {
                list: 0,
                start: 0,
                past: past.clone(),
                allow: false,
                exact: false,
                texts: 1,
                input: Input::Inherited,
            };
            self.code(&text, &job);
            self.work();
            self.lists.clear();
        }
    }

    /// Interprets the program of an interpreter that is not a shell.
    fn own_program(&mut self, name: &str, row: &TableRow, reading: &Interpretation, input: Input) {
        let Some(of) = row.row.interpreter else { return };
        let is_shell = wrapper_table::find(name)
            .is_some_and(|wrapper| matches!(wrapper.runs, CommandPosition::Shell));
        if is_shell {
            return;
        }
        let is_unknown = match program_source(row, of, reading.args()) {
            ProgramSource::Named => false,
            ProgramSource::Unknown(text) => is_whole_expansion(text),
            ProgramSource::Input => {
                self.code_reader.get_or_insert_with(|| name.to_owned());
                matches!(input, Input::Unknown | Input::Expanded)
            }
        };
        if is_unknown {
            self.unknown_input(name);
        }
    }
}
