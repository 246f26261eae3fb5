//! Numbers and words: `true`, and the equivalents of other languages.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::argument_error::ArgumentError;
use super::changes::ChangeKind;
use super::number::{self, NumberToken};
use super::parser::{Parser, pointer};
use super::value_preview::shorten;

impl Parser<'_, '_> {
    pub(super) fn number(&mut self) -> Result<Value, ArgumentError> {
        let start = self.pos;
        let rest = self.text.get(start..).unwrap_or_default();
        let length = rest
            .bytes()
            .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-')))
            .unwrap_or(rest.len());
        let token = rest.get(..length).unwrap_or_default();
        self.pos += length;
        let read = number::parse(token).map_err(|fix| {
            ArgumentError::new(
                start,
                format!("{:?} where a value is needed", shorten(token, 60)),
                fix,
            )
        })?;
        Ok(Value::Number(match read {
            NumberToken::Strict(number) => number,
            NumberToken::Foreign(number) => {
                self.report(ChangeKind::NumberSyntax, || {
                    format!("{} was read as {number}", shorten(token, 60))
                });
                number
            }
            NumberToken::Underflow(zero) => {
                self.report(ChangeKind::Underflow, || {
                    format!(
                        "{} is too small for a 64-bit float and was read as 0",
                        shorten(token, 60)
                    )
                });
                zero
            }
            NumberToken::OutOfRange(why) => {
                let place = pointer(self.text, &self.path);
                let token = shorten(token, 60);
                self.out_of_range.get_or_insert_with(|| {
                    format!("{place}: the number {token} {why} and would be changed. Send a smaller number, or the digits as a string if the tool takes strings.")
                });
                0.into()
            }
        }))
    }

    pub(super) fn word(&mut self) -> Result<Value, ArgumentError> {
        let start = self.pos;
        let word = self.identifier();
        let value = match word {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "null" => return Ok(Value::Null),
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            "NaN" | "Infinity" => {
                return Err(ArgumentError::new(
                    start,
                    word,
                    "JSON has no NaN or Infinity. Send a finite number, null, or leave the parameter out.",
                ));
            }
            "undefined" => {
                return Err(ArgumentError::new(
                    start,
                    word,
                    "JSON has no undefined. Leave the parameter out, or send null.",
                ));
            }
            _ if self.depth == 0 => {
                return Err(ArgumentError::new(
                    start,
                    format!("the text {:?} instead of a JSON object", shorten(word, 40)),
                    "Send only the JSON object, without any words before it.",
                ));
            }
            _ => {
                return Err(ArgumentError::new(
                    start,
                    format!("{:?} without quotes", shorten(word, 40)),
                    "Put texts into double quotes, and send the whole object.",
                ));
            }
        };
        self.report(ChangeKind::PythonLiteral, || format!("{word} was read as {value}"));
        Ok(value)
    }
}
