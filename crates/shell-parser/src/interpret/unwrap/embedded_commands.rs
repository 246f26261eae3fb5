//! Programs with complete commands in their arguments, each with its own syntax: `env -S`, `find`
//! and `fd`, git.
#![deny(clippy::indexing_slicing)]

use std::sync::Arc;

use super::{Interpreter, MAX_GIT, WorkItem};
use crate::command_line::{Interpretation, Word};
use crate::interpret::fallback;
use crate::interpret::wrapper_options::known;

impl Interpreter {
    /// Handles `env -S TEXT`.
    pub(super) fn split_string(&mut self, args: &[Word], job: &WorkItem) {
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
        if !self.spend_fuel(text.len().saturating_add(rest.len().saturating_mul(16))) {
            return;
        }
        let words: Vec<Word> = fallback::possible_commands(text).into_iter().flatten().collect();
        let words: Arc<[Word]> = words.into_iter().chain(rest.iter().cloned()).collect();
        let list = self.list(words);
        let job = WorkItem { list, start: 0, ..job.clone() };
        self.jobs.push(job.clone());
        self.rest(&job, 0);
    }

    /// Handles `find … -exec COMMAND ;`.
    pub(super) fn find(&mut self, job: &WorkItem, args: &[Word]) {
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
                if !self.spend_fuel(joined.len().saturating_add(inner.len().saturating_mul(16))) {
                    return self.rest(job, job.start.saturating_add(from).saturating_add(1));
                }
                let first = Word::Known(joined.to_owned());
                let list = self.list(std::iter::once(first).chain(inner.iter().cloned()).collect());
                self.jobs.push(WorkItem { list, start: 0, ..job.clone() });
            }
            if inner.is_empty() {
                continue;
            }
            if end == args.len() || !self.spend_fuel(inner.len().saturating_mul(16)) {
                return self.rest(job, job.start.saturating_add(from).saturating_add(1));
            }
            let list = self.list(inner.into());
            self.jobs.push(WorkItem { list, start: 0, ..job.clone() });
        }
    }

    /// Skips git's global options, and parses the commands that its settings and some subcommands
    /// run.
    pub(super) fn git(&mut self, job: &WorkItem, reading: &Interpretation, after: usize) {
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
            self.readings.push(reading.with_program(Word::Known("git".to_owned()), skipped));
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

    fn git_setting(&mut self, setting: &str, job: &WorkItem) {
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

    /// Assumes that any later word may be the subcommand.
    fn git_rest(&mut self, job: &WorkItem, reading: &Interpretation, from: usize) {
        let Some(list) = self.lists.get_mut(job.list) else { return };
        if list.git <= job.start {
            return;
        }
        list.git = job.start;
        for skipped in from..reading.args().len() {
            self.readings.push(reading.with_program(Word::Known("git".to_owned()), skipped));
        }
    }
}

/// Returns whether an argument of `find` or `fd` begins a command; returns the part of the command
/// in the same word.
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
