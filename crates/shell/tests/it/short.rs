//! A parsed line in short form.

use toolcrib_shell::{Block, Kind, Reading, Segment, Word, parse};

/// Segments, `;` between them: `+` in front of a reading for allow rules, `-` in front of the others, `<…>` around words that are not
/// known, `!` in front of what blocks.
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

pub(crate) fn reading(reading: &Reading) -> String {
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

fn block(block: &Block) -> String {
    match block {
        Block::Assignment(name) => format!("!assigns:{name}"),
        Block::Expansion(text) => format!("!expands:{text}"),
        Block::ComputedName(text) => format!("!computed:{text}"),
        Block::Writes(file) => format!("!writes:{file}"),
        Block::Unparsed(_) => "!unparsed".to_owned(),
    }
}
