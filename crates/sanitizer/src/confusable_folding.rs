//! Folding: maps text that reads the same to one spelling, for searching only; a model never sees
//! it.
//!
//! Folding lowercases, decomposes compatibility forms (NFKD), drops accents and invisible
//! characters, replaces lookalikes by Latin letters, and converts text that is hidden in tags or
//! variation selectors back to ASCII.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::invisible_chars::is_invisible;
use unicode_normalization::char::{canonical_combining_class, decompose_compatible};

/// Marks the end of a sentence in folded text.
pub(super) const SENTENCE_END: char = '\u{1}';

/// Folds text, and remembers how characters are folded: a text uses few different ones, and
/// decomposing one takes 60 ns.
pub(super) struct Folder {
    known: [KnownFolding; KNOWN],
}

/// Number of characters that are remembered; most scripts have fewer.
const KNOWN: usize = 256;

/// How one character is folded.
#[derive(Clone, Copy)]
struct KnownFolding {
    c: char,
    /// The folded characters; the first `length` are valid.
    folded: [char; 2],
    length: u8,
}

impl Folder {
    pub(super) fn new() -> Self {
        // ASCII is never looked up, so this slot is free.
        Self { known: [KnownFolding { c: '\0', folded: ['\0'; 2], length: 0 }; KNOWN] }
    }

    /// Appends the folded text to `out`.
    pub(super) fn fold_into(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            let ascii = rest.bytes().position(|b| !b.is_ascii()).unwrap_or(rest.len());
            let start = out.len();
            out.push_str(byte_scan::text_before(rest, ascii));
            if let Some(run) = out.get_mut(start..) {
                run.make_ascii_lowercase();
            }
            rest = byte_scan::text_from(rest, ascii);
            let mut chars = rest.chars();
            while let Some(c) = chars.next().filter(|c| !c.is_ascii()) {
                self.fold_char(c, out);
                rest = chars.as_str();
            }
        }
    }

    fn fold_char(&mut self, c: char, out: &mut String) {
        match c {
            // Letters of scripts without case, accents and compatibility forms.
            '\u{3041}'..='\u{30FF}'
            | '\u{3400}'..='\u{9FFF}'
            | '\u{AC00}'..='\u{D7A3}'
            | '\u{5D0}'..='\u{5EA}'
            | '\u{627}'..='\u{63A}'
            | '\u{641}'..='\u{64A}'
            | '\u{905}'..='\u{928}'
            | '\u{92A}'..='\u{930}'
            | '\u{E01}'..='\u{E30}' => out.push(c),
            'ё' | 'Ё' => out.push('e'),
            'й' | 'Й' => out.push('и'),
            'а'..='я' => out.push(latin_lookalike(c)),
            '‘' | '’' => out.push('\''),
            '\u{2010}'..='\u{2027}' | '\u{3001}' | '\u{FF0C}' => out.push(' '),
            '。' | '！' | '？' | '।' | '؟' => out.push(SENTENCE_END),
            '\u{E0020}'..='\u{E007E}' => push_smuggled(c as u32 - 0xE0000, out),
            // Byte b is encoded as U+E0100 + (b - 16).
            '\u{E0110}'..='\u{E016E}' => push_smuggled(c as u32 - 0xE0100 + 16, out),
            '\u{640}' => {}
            c if c.is_control() || is_invisible(c) => {}
            '\u{1F000}'..='\u{1F0FF}' | '\u{1F200}'..='\u{1FAFF}' => out.push(c),
            c if c.is_whitespace() => out.push(' '),
            c => self.decompose_into(c, out),
        }
    }

    fn decompose_into(&mut self, c: char, out: &mut String) {
        let Some(known) = self.known.get_mut(c as usize % KNOWN) else { return };
        if known.c == c {
            out.extend(known.folded.iter().take(usize::from(known.length)));
            return;
        }
        let mut parts = KnownFolding { c, folded: ['\0'; 2], length: 0 };
        decompose(c, |part| {
            out.push(part);
            if let Some(slot) = parts.folded.get_mut(usize::from(parts.length)) {
                *slot = part;
            }
            parts.length = parts.length.saturating_add(1);
        });
        if usize::from(parts.length) <= parts.folded.len() {
            *known = parts;
        }
    }
}

/// Calls `each` with the letters of a character in lower case, without accents and compatibility
/// forms, and with lookalikes replaced.
fn decompose(c: char, mut each: impl FnMut(char)) {
    for lower in c.to_lowercase() {
        decompose_compatible(lower, |part| {
            if canonical_combining_class(part) == 0 {
                each(latin_lookalike(part));
            }
        });
    }
}

fn push_smuggled(code: u32, out: &mut String) {
    out.extend(char::from_u32(code).map(|c| c.to_ascii_lowercase()));
}

/// Returns the Latin letter with which a letter can be confused (confusables of UTS #39, the
/// lower-case ones).
fn latin_lookalike(c: char) -> char {
    match c {
        'а' | 'ɑ' | 'α' => 'a',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ҽ' => 'e',
        'ɡ' => 'g',
        'һ' => 'h',
        'і' | 'ı' | 'ι' => 'i',
        'ј' => 'j',
        'ӏ' | 'ł' => 'l',
        'ո' => 'n',
        'о' | 'ο' | 'օ' | 'ø' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'ѕ' => 's',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' => 'w',
        'х' | 'χ' => 'x',
        'у' => 'y',
        '’' | '‘' | 'ʼ' | '`' => '\'',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remembered_character_is_folded_as_at_first() {
        let mut folder = Folder::new();
        for c in '\u{80}'..=char::MAX {
            let mut expected = String::new();
            decompose(c, |part| expected.push(part));
            // Once into the memory, once out of it.
            for _ in 0..2 {
                let mut out = String::new();
                folder.decompose_into(c, &mut out);
                assert_eq!(out, expected, "{c:?}");
            }
        }
    }
}
