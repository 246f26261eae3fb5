//! Own actions: programs that a program runs, and files that it writes or deletes, by an option, an
//! operand or a language of the program, so that an allow rule on the bare program does not cover
//! them.
//!
//! `program_table` has one row per program, `find_actions` applies it to the words of a command,
//! `operand_rules` contains the rules that a row cannot express, `sed_script` and `awk_program`
//! parse two languages, and `foreign_code` finds the commands in code of other languages. Programs
//! that run their arguments are in `wrapper_table`.
#![deny(clippy::indexing_slicing)]

mod awk_program;
mod find_actions;
mod foreign_code;
mod operand_rules;
mod program_source;
mod program_table;
mod sed_script;

pub(crate) use find_actions::all_actions;
pub(super) use find_actions::{ActionValue, FoundAction, table_actions};
pub(super) use foreign_code::possible_commands;
pub(super) use program_source::{ProgramSource, is_input_file, is_whole_expansion, program_source};
pub(super) use program_table::{Act, TableRow, rows};
