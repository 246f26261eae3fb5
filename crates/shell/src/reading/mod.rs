//! From what the grammar finds to what rules read: segments with their readings.
#![deny(clippy::indexing_slicing)]

mod builtins;
mod loose;
mod options;
mod past;
mod shells;
mod wrappers;

use crate::grammar::{self, Found, Part, What};
use crate::line::{Block, Fault, Kind, Line, Reading, Segment, Word};
use crate::token::Value;
use past::Reader;

/// What texts in a line may cost, in bytes that are read: each byte of the line a few times, and a floor for short ones. Beyond it the line
/// is not understood.
fn fuel(line: &str) -> usize {
    line.len().saturating_mul(8).saturating_add(1 << 16)
}

/// Takes a command line apart.
pub(crate) fn line(text: &str) -> Line {
    let mut found = Found::default();
    grammar::read(text, 0, None, &mut found);
    let Found { mut parts, fault, defined, inputs } = found;
    parts.sort_by_key(|part| part.at);
    let mut reader = Reader::new(fuel(text), fault, defined, inputs);
    let mut segments: Vec<Segment> = Vec::with_capacity(parts.len());
    let mut shell = None;
    for part in parts {
        let index = segments.len();
        read_part(part, &mut reader, &mut segments);
        if std::mem::take(&mut reader.is_fed) && shell.is_none() {
            shell = Some(index);
        }
    }
    if let Some(index) = shell {
        reader.feed();
        let Some(segment) = segments.get_mut(index) else { return Line::default() };
        segment.readings.append(&mut reader.readings);
        segment.blocks.append(&mut reader.blocks);
        let files = std::mem::take(&mut reader.files);
        segments.extend(files);
    }
    let fault = reader.fault.take();
    if let Some(fault) = &fault {
        distrust(text, fault, &mut reader, &mut segments);
    }
    Line { segments, fault }
}

fn read_part(part: Part, reader: &mut Reader, segments: &mut Vec<Segment>) {
    let Part { at, text, what, mut blocks } = part;
    let (kind, readings) = match what {
        What::Assignment => (Kind::Assignment, Vec::new()),
        What::Redirection { writes, target } => (Kind::Redirection { writes, target }, Vec::new()),
        What::Command(values) => {
            reader.at = at;
            block_name(&values, reader, &mut blocks);
            reader.command(values);
            blocks.append(&mut reader.blocks);
            (Kind::Command, std::mem::take(&mut reader.readings))
        }
    };
    segments.push(Segment { text, kind, readings, blocks });
    segments.append(&mut reader.files);
}

/// Whether it is known which program runs.
fn block_name(values: &[Value], reader: &Reader, blocks: &mut Vec<Block>) {
    match values.first().map(|value| &value.word) {
        Some(Word::Unknown(text)) => blocks.push(Block::ComputedName(text.clone())),
        Some(Word::Known(text)) if reader.defined.contains(text) => {
            blocks.push(Block::ComputedName(format!("{text}, which the line itself defines")));
        }
        _ => {}
    }
}

/// Of a line that is not understood no part is allowed, and a command may begin anywhere.
fn distrust(text: &str, fault: &Fault, reader: &mut Reader, segments: &mut Vec<Segment>) {
    for segment in segments.iter_mut() {
        segment.blocks.push(Block::Unparsed(fault.what.clone()));
    }
    reader.distrust(text);
    segments.push(Segment {
        text: text.to_owned(),
        kind: Kind::Command,
        readings: std::mem::take::<Vec<Reading>>(&mut reader.readings),
        blocks: vec![Block::Unparsed(fault.what.clone())],
    });
    segments.append(&mut reader.files);
}
