//! Numbers: the strict JSON grammar, and the text forms that convert without loss.
#![deny(clippy::indexing_slicing)]

use serde_json::Number;

/// The largest magnitude up to which every whole `f64` is exactly one integer (2^53).
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The meaning of a number token.
#[derive(Debug)]
pub(super) enum NumberToken {
    /// A number in JSON notation.
    Strict(Number),
    /// A number in the notation of another language, with one reading.
    Foreign(Number),
    /// Zero, for a number that is too small for a 64-bit float: every JSON parser reads it as zero.
    Underflow(Number),
    /// A number that does not fit into a 64-bit integer or float.
    OutOfRange(&'static str),
}

/// Reads one number token: by RFC 8259 §6, or with a plus sign, digit separators or no digit before
/// its point. The error states the replacement.
pub(super) fn parse(token: &str) -> Result<NumberToken, &'static str> {
    if is_json_number(token) {
        return parse_strict(token);
    }
    let foreign =
        plain_number(token).filter(|plain| is_json_number(plain)).ok_or_else(|| advice(token))?;
    Ok(match parse_strict(&foreign)? {
        NumberToken::Strict(number) => NumberToken::Foreign(number),
        other => other,
    })
}

fn parse_strict(token: &str) -> Result<NumberToken, &'static str> {
    if token.bytes().any(|b| matches!(b, b'.' | b'e' | b'E')) {
        return match parse_float(token) {
            Some(number) => Ok(NumberToken::Strict(number)),
            None => Ok(Number::from_f64(0.0).filter(|_| vanishes(token)).map_or(
                NumberToken::OutOfRange("is too large for a 64-bit float"),
                NumberToken::Underflow,
            )),
        };
    }
    if token == "-0" {
        return Number::from_f64(-0.0).map(NumberToken::Strict).ok_or("Send 0.");
    }
    Ok(parse_integer(token)
        .map_or(NumberToken::OutOfRange("does not fit into 64 bits"), NumberToken::Strict))
}

/// Returns the JSON notation of a token such as `+1`, `1_000` or `.5`.
fn plain_number(token: &str) -> Option<String> {
    let (sign, rest) = match token.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", token.strip_prefix('+').unwrap_or(token)),
    };
    let mut plain = sign.to_owned();
    if rest.starts_with('.') {
        plain.push('0');
    }
    // A separator is valid only between digits.
    let bytes = rest.as_bytes();
    for (at, &b) in bytes.iter().enumerate() {
        let is_digit =
            |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        match b {
            b'_' if is_digit(at.checked_sub(1)) && is_digit(at.checked_add(1)) => {}
            b'_' => return None,
            b => plain.push(char::from(b)),
        }
    }
    Some(plain)
}

/// Returns whether a number is too small for a float.
fn vanishes(token: &str) -> bool {
    token.parse::<f64>().is_ok_and(|float| float == 0.0)
}

/// Returns the number of which this is the canonical decimal text: no sign but `-`, no leading
/// zero, no exponent, and, for a fraction, digits that the nearest float prints again.
pub(super) fn canonical(text: &str) -> Option<Number> {
    if text == "-0" || !is_json_number(text) || text.bytes().any(|b| matches!(b, b'e' | b'E')) {
        return None;
    }
    let Some((_, fraction)) = text.split_once('.') else { return parse_integer(text) };
    let number = parse_float(text)?;
    let shortest = format!("{}", number.as_f64()?);
    let trimmed = text.trim_end_matches('0');
    let trimmed =
        if fraction.bytes().all(|b| b == b'0') { trimmed.trim_end_matches('.') } else { trimmed };
    (shortest == trimmed).then_some(number)
}

/// Returns the integer that equals a whole float, if it is exact.
pub(super) fn whole(number: &Number) -> Option<Number> {
    if !number.is_f64() {
        return None;
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() <= EXACT).then(|| Number::from(float as i64))
}

fn parse_integer(token: &str) -> Option<Number> {
    let unsigned = token.parse::<u64>().ok().map(Number::from);
    unsigned.or_else(|| token.parse::<i64>().ok().map(Number::from))
}

fn parse_float(token: &str) -> Option<Number> {
    let float: f64 = token.parse().ok()?;
    let mantissa = token.split(['e', 'E']).next().unwrap_or_default();
    let vanished = float == 0.0 && mantissa.bytes().any(|b| matches!(b, b'1'..=b'9'));
    if vanished { None } else { Number::from_f64(float) }
}

fn is_json_number(token: &str) -> bool {
    let rest = token.strip_prefix('-').unwrap_or(token);
    let (rest, exponent) = match rest.split_once(['e', 'E']) {
        Some((rest, exponent)) => (rest, Some(exponent)),
        None => (rest, None),
    };
    let (whole, fraction) = match rest.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (rest, None),
    };
    let exponent_ok = exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent_ok
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn advice(token: &str) -> &'static str {
    let unsigned = token.strip_prefix(['+', '-']).unwrap_or(token);
    if unsigned.starts_with(['I', 'N', 'i', 'n']) {
        return "JSON has no NaN or Infinity. Send a finite number, null, or leave the parameter out.";
    }
    if unsigned.starts_with("0x")
        || unsigned.starts_with("0X")
        || unsigned.starts_with("0b")
        || unsigned.starts_with("0o")
    {
        return "JSON numbers are decimal. Send the decimal digits, or the text as a string in double quotes.";
    }
    if unsigned.contains('_') {
        return "JSON numbers have no digit separators. Send the digits only.";
    }
    if token.starts_with('+') {
        return "JSON numbers have no plus sign. Send the digits without it.";
    }
    if unsigned.starts_with('.')
        || unsigned.contains("..")
        || unsigned.ends_with('.')
        || unsigned.contains(".e")
    {
        return "A JSON number has digits on both sides of the point, such as 0.5 or 5.0.";
    }
    if digits(unsigned) {
        return "JSON numbers have no leading zeros. Send the digits without them, or a string in double quotes if the zeros matter.";
    }
    "This is not a JSON number. Send decimal digits, or put text into double quotes."
}
