//! Short text form of a parsed line, for table tests.

use toolcrib_shell_parser::{AllowBlocker, Interpretation, Kind, Segment, Word, parse};

/// The segments, separated by `;`: `+` marks interpretations for allow rules, `-` the others, `<…>`
/// unknown words, `!` blockers.
pub(crate) fn short(line: &str) -> String {
    let parsed = parse(line);
    let mut parts: Vec<String> = parsed.segments.iter().map(segment).collect();
    if let Some(fault) = parsed.fault {
        parts.push(format!("FAULT at {}: {}", fault.at, fault.what));
    }
    parts.join(" ; ")
}

fn segment(segment: &Segment) -> String {
    let mut parts = vec![match &segment.kind {
        Kind::Command => segment.readings.iter().map(reading).collect::<Vec<_>>().join(" , "),
        Kind::Assignment => format!("set {}", segment.text),
        Kind::Redirection { writes: true, target } => format!("write {}", word(target)),
        Kind::Redirection { writes: false, target } => format!("read {}", word(target)),
    }];
    parts.extend(segment.blocks.iter().map(block));
    parts.join(" ")
}

pub(crate) fn reading(reading: &Interpretation) -> String {
    let words: Vec<String> = reading.words().map(word).collect();
    format!("{}{}", if reading.for_allow { "+" } else { "-" }, words.join(" "))
}

fn word(word: &Word) -> String {
    match word {
        Word::Known(text) if text.is_empty() || text.contains([' ', '\n', '\t']) => {
            format!("{text:?}")
        }
        Word::Known(text) => text.clone(),
        Word::Unknown(text) => format!("<{text}>"),
    }
}

fn block(block: &AllowBlocker) -> String {
    match block {
        AllowBlocker::Assignment(name) => format!("!assigns:{name}"),
        AllowBlocker::Expansion(text) => format!("!expands:{text}"),
        AllowBlocker::ComputedName(text) => format!("!computed:{text}"),
        AllowBlocker::UnknownInput(name) => format!("!input:{name}"),
        AllowBlocker::Writes(file) => format!("!writes:{file}"),
        AllowBlocker::Unparsed(_) => "!unparsed".to_owned(),
    }
}
