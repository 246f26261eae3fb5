//! Parser for the subset of Starlark that rule files use: calls with keyword arguments that are
//! strings and lists.
#![deny(clippy::indexing_slicing)]

use std::iter::Peekable;
use std::str::CharIndices;

/// Deepest nesting of lists.
const DEPTH: usize = 8;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StarlarkValue {
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Self>),
}

/// `name(key = value, …)` at the top level.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Byte offset of its beginning.
    pub(super) at: usize,
    /// Name of the called function.
    pub(super) name: String,
    /// Its keyword arguments, in order.
    pub(super) args: Vec<(String, StarlarkValue)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    Sign(char),
}

/// The calls of a file.
///
/// # Errors
/// Byte offset and message for anything but such calls.
pub(super) fn read(text: &str) -> Result<Vec<Call>, (usize, String)> {
    let tokens = tokens(text)?;
    let mut reader = Reader { rest: tokens.into_iter().peekable(), end: text.len() };
    let mut calls = Vec::new();
    while reader.rest.peek().is_some() {
        calls.push(reader.call()?);
    }
    Ok(calls)
}

fn tokens(text: &str) -> Result<Vec<(usize, Token)>, (usize, String)> {
    let mut chars = text.char_indices().peekable();
    let mut tokens = Vec::new();
    while let Some(&(at, c)) = chars.peek() {
        match c {
            '#' => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            c if c.is_whitespace() => drop(chars.next()),
            '(' | ')' | '[' | ']' | ',' | '=' => {
                chars.next();
                tokens.push((at, Token::Sign(c)));
            }
            '"' | '\'' => tokens.push((at, Token::Text(string(text, &mut chars, false)?))),
            c if c.is_alphabetic() || c == '_' => {
                let mut name = String::new();
                while let Some((_, c)) = chars.next_if(|(_, c)| c.is_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                let quoted = chars.peek().is_some_and(|(_, c)| matches!(c, '"' | '\''));
                tokens.push((
                    at,
                    match (name.as_str(), quoted) {
                        ("r", true) => Token::Text(string(text, &mut chars, true)?),
                        (_, true) => {
                            return Err((
                                at,
                                format!("strings with `{name}` in front are not understood"),
                            ));
                        }
                        (_, false) => Token::Name(name),
                    },
                ));
            }
            c => {
                return Err((
                    at,
                    format!("`{c}` is not understood: only calls with strings and lists are"),
                ));
            }
        }
    }
    Ok(tokens)
}

/// Parses a string literal; triple quotes may span lines.
fn string(
    text: &str,
    chars: &mut Peekable<CharIndices<'_>>,
    raw: bool,
) -> Result<String, (usize, String)> {
    let Some((start, quote)) = chars.next() else { return Ok(String::new()) };
    let open = || (start, "the string does not end".to_owned());
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let is_long = text.get(start..).is_some_and(|rest| rest.starts_with(&triple));
    if is_long {
        chars.next();
        chars.next();
    }
    let mut value = String::new();
    loop {
        let (at, c) = chars.next().ok_or_else(open)?;
        match c {
            '\\' if raw => {
                value.push(c);
                value.push(chars.next().ok_or_else(open)?.1);
            }
            '\\' => match chars.next().ok_or_else(open)?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                '\n' => {}
                c @ ('\\' | '"' | '\'') => value.push(c),
                c => return Err((at, format!("the escape `\\{c}` is not understood"))),
            },
            '\n' if !is_long => return Err(open()),
            c if c != quote => value.push(c),
            _ if !is_long => return Ok(value),
            _ if text.get(at..).is_some_and(|rest| rest.starts_with(&triple)) => {
                chars.next();
                chars.next();
                return Ok(value);
            }
            c => value.push(c),
        }
    }
}

struct Reader {
    rest: Peekable<std::vec::IntoIter<(usize, Token)>>,
    end: usize,
}

impl Reader {
    fn next(&mut self) -> Result<(usize, Token), (usize, String)> {
        self.rest
            .next()
            .ok_or_else(|| (self.end, "the file ends in the middle of a call".to_owned()))
    }

    fn expect_sign(&mut self, sign: char) -> Result<usize, (usize, String)> {
        match self.next()? {
            (at, Token::Sign(found)) if found == sign => Ok(at),
            (at, _) => Err((at, format!("`{sign}` is expected here"))),
        }
    }

    fn accept(&mut self, sign: char) -> bool {
        self.rest.next_if(|(_, token)| *token == Token::Sign(sign)).is_some()
    }

    fn call(&mut self) -> Result<Call, (usize, String)> {
        let (at, token) = self.next()?;
        let Token::Name(name) = token else {
            return Err((at, "a call such as prefix_rule(…) is expected here".to_owned()));
        };
        if self.rest.peek().is_none_or(|(_, token)| *token != Token::Sign('(')) {
            return Err((
                at,
                format!("`{name}` is not understood: only calls are, such as prefix_rule(…)"),
            ));
        }
        self.expect_sign('(')?;
        let mut args: Vec<(String, StarlarkValue)> = Vec::new();
        while !self.accept(')') {
            let (at, token) = self.next()?;
            let Token::Name(key) = token else {
                return Err((at, "values are named here: key = value".to_owned()));
            };
            if args.iter().any(|(known, _)| *known == key) {
                return Err((at, format!("`{key}` is given twice")));
            }
            self.expect_sign('=')?;
            args.push((key, self.datum(0)?));
            if !self.accept(',') {
                self.expect_sign(')')?;
                break;
            }
        }
        Ok(Call { at, name, args })
    }

    fn datum(&mut self, depth: usize) -> Result<StarlarkValue, (usize, String)> {
        let (at, token) = self.next()?;
        match token {
            Token::Text(text) => Ok(StarlarkValue::Text(text)),
            Token::Sign('[') if depth < DEPTH => {
                let mut list = Vec::new();
                while !self.accept(']') {
                    list.push(self.datum(depth + 1)?);
                    if !self.accept(',') {
                        self.expect_sign(']')?;
                        break;
                    }
                }
                Ok(StarlarkValue::List(list))
            }
            _ => Err((at, "a string or a list of strings is expected here".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{StarlarkValue, read};

    #[test]
    fn calls_with_strings_and_lists() {
        let text = "# rules\nprefix_rule(\n  pattern = [\"git\", ['push', r\"p\\d\"],],\n  justification = \"\"\"two\nlines\"\"\",\n)\nx()\n";
        let calls = read(text).unwrap();
        let word = |text: &str| StarlarkValue::Text(text.to_owned());
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[0].name, "prefix_rule");
        assert_eq!(
            calls[0].args,
            [
                (
                    "pattern".to_owned(),
                    StarlarkValue::List(vec![
                        word("git"),
                        StarlarkValue::List(vec![word("push"), word("p\\d")])
                    ])
                ),
                ("justification".to_owned(), word("two\nlines")),
            ]
        );
    }

    #[test]
    fn anything_else_is_refused_where_it_stands() {
        for (text, at) in [
            ("x = 1", 4),
            ("x = \"\"", 0),
            ("load(\"x\")", 5),
            ("f(a = [\"x\"", 10),
            ("f(a = \"x)\n", 6),
            ("f(a = 1)", 6),
            ("f(a = \"\", a = \"\")", 10),
            ("f(a = b\"x\")", 6),
            ("f(a = g())", 6),
            ("f(a = \"\\x41\")", 7),
            ("def f(): pass", 7),
            ("def f", 0),
        ] {
            assert_eq!(read(text).unwrap_err().0, at, "{text}");
        }
        let deep = format!("f(a = {})", "[".repeat(100_000));
        assert!(read(&deep).is_err());
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "[a-z\"'\\\\(),=\\[\\]#\n é]{0,60}") {
            let _ = read(&text);
        }
    }
}
