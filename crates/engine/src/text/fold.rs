//! Folding: one spelling for what reads the same, for looking only; never shown to a model.
//!
//! Lower case, compatibility forms decomposed (NFKD), accents dropped, letters that look like
//! Latin ones replaced by those, invisible characters dropped, text smuggled in tags or variation
//! selectors brought back to ASCII.
#![deny(clippy::indexing_slicing)]

use super::hidden::is_hidden;
use unicode_normalization::char::{canonical_combining_class, decompose_compatible};

/// Appends the folded text to `out`.
pub(super) fn fold_into(text: &str, out: &mut String) {
    for c in text.chars() {
        fold_char(c, out);
    }
}

fn fold_char(c: char, out: &mut String) {
    match c {
        '\0'..='\x7F' => {
            if !c.is_control() || matches!(c, '\n' | '\t' | '\r') {
                out.push(c.to_ascii_lowercase());
            }
        }
        // Scripts without case, accents and compatibility forms.
        '\u{3400}'..='\u{9FFF}' | '\u{3041}'..='\u{30FF}' | '\u{AC00}'..='\u{D7A3}' => out.push(c),
        '\u{E0020}'..='\u{E007E}' => push_smuggled(c as u32 - 0xE0000, out),
        // Byte b is smuggled as U+E0100 + (b - 16).
        '\u{E0110}'..='\u{E016E}' => push_smuggled(c as u32 - 0xE0100 + 16, out),
        '\u{640}' => {}
        c if c.is_control() || is_hidden(c) => {}
        c if c.is_whitespace() => out.push(' '),
        c => {
            for lower in c.to_lowercase() {
                decompose_compatible(lower, |part| {
                    if canonical_combining_class(part) == 0 {
                        out.push(look_alike(part));
                    }
                });
            }
        }
    }
}

fn push_smuggled(code: u32, out: &mut String) {
    out.extend(char::from_u32(code).map(|c| c.to_ascii_lowercase()));
}

/// The Latin letter that a letter is taken for (confusables of UTS #39, the lower-case ones).
fn look_alike(c: char) -> char {
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
