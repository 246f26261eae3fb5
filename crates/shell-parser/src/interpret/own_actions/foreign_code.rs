//! Commands in code of languages other than the shell's: interpreters, editors, debuggers, database
//! clients.
//!
//! The code is not parsed. If it contains a sign that it runs a program, a command may begin at
//! every word of it, only for deny and ask rules.
#![deny(clippy::indexing_slicing)]

use crate::command_line::Word;
use crate::interpret::fallback;

/// Signs that code runs a program, from Python, Perl, Ruby, JavaScript, PHP, Lua, awk, vi, Emacs
/// Lisp, GDB, SQLite, PostgreSQL and MySQL.
const SIGNS: [&str; 17] = [
    "system",
    "exec",
    "spawn",
    "popen",
    "Popen",
    "shell",
    "subprocess",
    "child_process",
    "process",
    "qx",
    "%x",
    "`",
    "!",
    "|",
    "open",
    "fork",
    "os.",
];

/// Returns the possible commands in a text of code.
pub(in crate::interpret) fn possible_commands(code: &str) -> Vec<Vec<Word>> {
    if !SIGNS.iter().any(|sign| code.contains(sign)) {
        return Vec::new();
    }
    fallback::possible_commands(&code.replace(['[', ']', '!'], ";"))
}
