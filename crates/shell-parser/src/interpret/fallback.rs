//! Fallback for unparsed text: a command may begin at every word, regardless of the quotes and
//! operators around it.
#![deny(clippy::indexing_slicing)]

use crate::ansi_c_quoting;
use crate::command_line::Word;

/// Returns the words between operators after quote removal; each list is one possible split of a
/// part of the text.
pub(super) fn possible_commands(text: &str) -> Vec<Vec<Word>> {
    let mut pieces = cut(text, |_| false);
    // Braces and signs of expansions and assignments also separate words.
    let also = |c: char| "{},=".contains(c) || c.is_control();
    if text.contains(also) {
        pieces.append(&mut cut(text, also));
    }
    pieces
}

/// The state of a split.
#[derive(Default)]
struct Cutter {
    pieces: Vec<Vec<Word>>,
    words: Vec<Word>,
    word: String,
}

impl Cutter {
    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() || word == "$" {
            return;
        }
        let expands = word
            .split('$')
            .skip(1)
            .any(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || "{_@*#?!-".contains(c)));
        self.words.push(if expands { Word::Unknown(word) } else { Word::Known(word) });
    }

    fn end_piece(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.pieces.push(std::mem::take(&mut self.words));
        }
    }

    fn add(&mut self, c: char, also: impl Fn(char) -> bool) {
        match c {
            '\n' | ';' | '&' | '|' | '(' | ')' | '`' => self.end_piece(),
            ' ' | '\t' | '<' | '>' => self.end_word(),
            c if also(c) => self.end_word(),
            '\'' | '"' => {}
            c => self.word.push(c),
        }
    }
}

fn cut(text: &str, also: impl Fn(char) -> bool + Copy) -> Vec<Vec<Word>> {
    let mut cutter = Cutter::default();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '$' if rest.starts_with('\'') => rest = ansi(rest, &mut cutter, also),
            '$' if rest.starts_with("IFS") || rest.starts_with("{IFS}") => {
                cutter.end_word();
                rest = rest.get(if rest.starts_with('{') { 5 } else { 3 }..).unwrap_or_default();
            }
            '$' if rest.starts_with('"') => {}
            '$' if also('{') && rest.starts_with('{') => {
                // The default value of an unset variable may be a command.
                cutter.end_word();
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let name = rest.strip_prefix('{').unwrap_or(rest).trim_start_matches(is_name);
                rest = name.trim_start_matches([':', '-', '=', '+', '?']);
            }
            '\\' => {
                if let Some(next) = rest.strip_prefix('\n') {
                    rest = next;
                }
            }
            c => cutter.add(c, also),
        }
    }
    cutter.end_piece();
    cutter.pieces
}

/// Parses `$'…'`; returns the text after it.
fn ansi<'t>(rest: &'t str, cutter: &mut Cutter, also: impl Fn(char) -> bool + Copy) -> &'t str {
    let body = rest.get(1..).unwrap_or_default();
    let mut escaped = false;
    let end = body.bytes().position(|b| {
        let closes = b == b'\'' && !escaped;
        escaped = b == b'\\' && !escaped;
        closes
    });
    let Some(end) = end else { return body };
    match body.get(..end).and_then(ansi_c_quoting::decode) {
        Some(text) => {
            text.chars().for_each(|c| cutter.add(c, also));
            body.get(end.saturating_add(1)..).unwrap_or_default()
        }
        None => body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let word = |word: &Word| match word {
            Word::Known(text) => text.clone(),
            Word::Unknown(text) => format!("<{text}>"),
        };
        let piece = |words: &Vec<Word>| words.iter().map(word).collect::<Vec<_>>().join(" ");
        let found: Vec<String> = cut(text, |_| false).iter().map(piece).collect();
        assert_eq!(found.join(" / "), expected, "{text}");
    }

    #[test]
    fn every_part_is_cut_whatever_the_quotes() {
        check("rm -rf x", "rm -rf x");
        check("echo 'a; rm x", "echo a / rm x");
        check(r#"r''m "x y" \z"#, "rm x y z");
        check("a$(rm x", "a$ / rm x");
        check(r"$'\x72m' x", "rm x");
        check("rm${IFS}x$IFS-y", "rm x -y");
        check("r\\\nm $X", "rm <$X>");
        check(">f rm", "f rm");
    }
}
