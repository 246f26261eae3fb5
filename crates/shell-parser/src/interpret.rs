//! Interpretation: turns the parts that the grammar found into segments that rules evaluate.
#![deny(clippy::indexing_slicing)]

mod builtins;
mod fallback;
mod own_actions;
mod shell_args;
mod unwrap;
mod wrapper_options;
mod wrapper_table;

use crate::command_line::{
    AllowBlocker, CommandLine, Interpretation, Kind, ParseFault, Segment, Word,
};
use crate::grammar::{self, ParsedParts, Part, PartKind};
use crate::token::Value;
pub(crate) use own_actions::all_actions as own_actions;
use unwrap::Interpreter;

/// Returns the work limit for embedded texts, in bytes processed: several times the line's length,
/// with a minimum for short lines. Beyond it the line counts as unparsed.
fn fuel(line: &str) -> usize {
    line.len().saturating_mul(8).saturating_add(1 << 16)
}

/// Parses and interprets a command line.
pub(crate) fn interpret_line(text: &str) -> CommandLine {
    let mut found = ParsedParts::default();
    grammar::parse_into(text, 0, None, &mut found);
    found.mark_expanded_inputs();
    let ParsedParts { mut parts, fault, defined, inputs, expands_input: _ } = found;
    parts.sort_by_key(|part| part.at);
    let mut reader = Interpreter::new(fuel(text), fault, defined, inputs);
    let mut segments: Vec<Segment> = Vec::with_capacity(parts.len());
    let (mut shell, mut interpreter) = (None, None);
    for part in parts {
        let index = segments.len();
        read_part(part, &mut reader, &mut segments);
        if let Some(name) = reader.code_reader.take() {
            interpreter.get_or_insert((index, name));
        }
        if std::mem::take(&mut reader.is_fed) && shell.is_none() {
            shell = Some(index);
        }
    }
    if let Some(index) = shell {
        reader.interpret_inputs();
        let Some(segment) = segments.get_mut(index) else { return CommandLine::default() };
        segment.readings.append(&mut reader.readings);
        segment.blocks.append(&mut reader.blocks);
        let files = std::mem::take(&mut reader.files);
        segments.extend(files);
    }
    if let Some((index, name)) = interpreter {
        reader.interpret_inputs_as_code(&name);
        let Some(segment) = segments.get_mut(index) else { return CommandLine::default() };
        segment.readings.append(&mut reader.readings);
        segment.blocks.append(&mut reader.blocks);
    }
    let fault = reader.fault.take();
    if let Some(fault) = &fault {
        add_fallback_segments(text, fault, &mut reader, &mut segments);
    }
    CommandLine { segments, fault }
}

fn read_part(part: Part, reader: &mut Interpreter, segments: &mut Vec<Segment>) {
    let Part { at, text, what, input, mut blocks } = part;
    let (kind, readings) = match what {
        PartKind::Assignment => (Kind::Assignment, Vec::new()),
        PartKind::Redirection { writes, target } => {
            (Kind::Redirection { writes, target }, Vec::new())
        }
        PartKind::Command(values) => {
            reader.at = at;
            block_name(&values, reader, &mut blocks);
            reader.command(values, input);
            blocks.append(&mut reader.blocks);
            (Kind::Command, std::mem::take(&mut reader.readings))
        }
    };
    segments.push(Segment { text, kind, readings, blocks });
    segments.append(&mut reader.files);
}

/// Adds a blocker if the program that runs is not known.
fn block_name(values: &[Value], reader: &Interpreter, blocks: &mut Vec<AllowBlocker>) {
    match values.first().map(|value| &value.word) {
        Some(Word::Unknown(text)) => blocks.push(AllowBlocker::ComputedName(text.clone())),
        Some(Word::Known(text)) if reader.defined.contains(text) => {
            blocks
                .push(AllowBlocker::ComputedName(format!("{text}, which the line itself defines")));
        }
        _ => {}
    }
}

/// Adds segments for an unparsed line: no part of it is allowed, and a command may begin anywhere
/// in it.
fn add_fallback_segments(
    text: &str,
    fault: &ParseFault,
    reader: &mut Interpreter,
    segments: &mut Vec<Segment>,
) {
    for segment in segments.iter_mut() {
        segment.blocks.push(AllowBlocker::Unparsed(fault.what.clone()));
    }
    reader.interpret_as_fallback(text);
    segments.push(Segment {
        text: text.to_owned(),
        kind: Kind::Command,
        readings: std::mem::take::<Vec<Interpretation>>(&mut reader.readings),
        blocks: vec![AllowBlocker::Unparsed(fault.what.clone())],
    });
    segments.append(&mut reader.files);
}
