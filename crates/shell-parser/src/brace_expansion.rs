//! Brace expansion (`{a,b}`, `{1..3}`), which bash performs before every other expansion.
#![deny(clippy::indexing_slicing)]

use crate::token::Atom;

/// Maximum opening braces in one word.
const MAX_OPEN: usize = 128;
/// Maximum words that one word can expand to.
const MAX_WORDS: usize = 1024;
/// Maximum characters of all words that one word can expand to.
const MAX_ATOMS: usize = 1 << 16;
/// Maximum nesting of braces.
const MAX_DEPTH: usize = 16;

/// A limit of this module was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMany;

/// Returns the words that a word expands to; one if it has no brace expansion.
pub(crate) fn expand(atoms: &[Atom]) -> Result<Vec<Vec<Atom>>, TooMany> {
    let open = atoms.iter().filter(|atom| **atom == Atom::Bare('{')).count();
    if open == 0 {
        return Ok(vec![atoms.to_vec()]);
    }
    if open > MAX_OPEN {
        return Err(TooMany);
    }
    words(atoms, 0)
}

fn words(atoms: &[Atom], depth: usize) -> Result<Vec<Vec<Atom>>, TooMany> {
    if depth > MAX_DEPTH {
        return Err(TooMany);
    }
    for (open, _) in atoms.iter().enumerate().filter(|(_, atom)| **atom == Atom::Bare('{')) {
        let inside = atoms.get(open.saturating_add(1)..).unwrap_or_default();
        let Some((length, commas)) = closing(inside) else { continue };
        let body = inside.get(..length).unwrap_or_default();
        let middles = if commas.is_empty() {
            match sequence(body)? {
                Some(middles) => middles,
                // Bash may pair this brace with the next closing one.
                None if closing(inside.get(length.saturating_add(1)..).unwrap_or_default())
                    .is_some() =>
                {
                    return Err(TooMany);
                }
                None => continue,
            }
        } else {
            alternatives(body, &commas, depth)?
        };
        let front = atoms.get(..open).unwrap_or_default();
        let rest = inside.get(length.saturating_add(1)..).unwrap_or_default();
        return product(front, &middles, &words(rest, depth.saturating_add(1))?);
    }
    Ok(vec![atoms.to_vec()])
}

/// Returns the position of the closing brace, and of the commas at this level.
fn closing(inside: &[Atom]) -> Option<(usize, Vec<usize>)> {
    let (mut depth, mut commas) = (0_usize, Vec::new());
    for (i, atom) in inside.iter().enumerate() {
        match atom {
            Atom::Bare('{') => depth = depth.saturating_add(1),
            Atom::Bare('}') if depth == 0 => return Some((i, commas)),
            Atom::Bare('}') => depth = depth.saturating_sub(1),
            Atom::Bare(',') if depth == 0 => commas.push(i),
            _ => {}
        }
    }
    None
}

fn alternatives(body: &[Atom], commas: &[usize], depth: usize) -> Result<Vec<Vec<Atom>>, TooMany> {
    let mut found = Vec::new();
    let mut from = 0;
    for end in commas.iter().copied().chain([body.len()]) {
        let part = body.get(from..end).unwrap_or_default();
        found.append(&mut words(part, depth.saturating_add(1))?);
        from = end.saturating_add(1);
    }
    Ok(found)
}

fn product(
    front: &[Atom],
    middles: &[Vec<Atom>],
    rests: &[Vec<Atom>],
) -> Result<Vec<Vec<Atom>>, TooMany> {
    if middles.len().saturating_mul(rests.len()) > MAX_WORDS {
        return Err(TooMany);
    }
    let (mut found, mut size) = (Vec::new(), 0_usize);
    for middle in middles {
        for rest in rests {
            let word = [front, middle, rest].concat();
            size = size.saturating_add(word.len());
            if size > MAX_ATOMS {
                return Err(TooMany);
            }
            found.push(word);
        }
    }
    Ok(found)
}

/// Expands `1..3`, `03..1..2` or `a..e`; `None` if it is not a sequence.
fn sequence(body: &[Atom]) -> Result<Option<Vec<Vec<Atom>>>, TooMany> {
    let bare = |atom: &Atom| match atom {
        Atom::Bare(c) => Some(*c),
        _ => None,
    };
    let Some(text) = body.iter().map(bare).collect::<Option<String>>() else { return Ok(None) };
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, "1"),
        [first, last, step] => (*first, *last, *step),
        _ => return Ok(None),
    };
    let Ok(step) = step.parse::<i64>() else { return Ok(None) };
    let step = step.checked_abs().ok_or(TooMany)?.max(1);
    if let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let width =
            if is_padded(first) || is_padded(last) { first.len().max(last.len()) } else { 0 };
        let texts = numbers(from, to, step)?.into_iter().map(|n| padded(n, width));
        return Ok(Some(texts.map(|text| text.chars().map(Atom::Bare).collect()).collect()));
    }
    let letter = |text: &str| match text.as_bytes() {
        [c] if c.is_ascii_alphabetic() => Some(*c),
        _ => None,
    };
    let (Some(from), Some(to)) = (letter(first), letter(last)) else { return Ok(None) };
    if from.is_ascii_lowercase() != to.is_ascii_lowercase() {
        // The characters between `Z` and `a` are brackets, a backslash and a backtick, which have
        // syntactic meaning.
        return Err(TooMany);
    }
    let numbers = numbers(i64::from(from), i64::from(to), step)?;
    let char = |n: i64| vec![Atom::Bare(char::from(u8::try_from(n).unwrap_or_default()))];
    Ok(Some(numbers.into_iter().map(char).collect()))
}

fn is_padded(number: &str) -> bool {
    let digits = number.trim_start_matches(['-', '+']);
    digits.len() > 1 && digits.starts_with('0')
}

fn padded(number: i64, width: usize) -> String {
    format!("{number:0width$}")
}

fn numbers(from: i64, to: i64, step: i64) -> Result<Vec<i64>, TooMany> {
    let distance = from.abs_diff(to) / step.unsigned_abs();
    if usize::try_from(distance).is_ok_and(|distance| distance < MAX_WORDS) {
        let step = if from <= to { step } else { step.saturating_neg() };
        let count = i64::try_from(distance).map_err(|_| TooMany)?;
        return Ok((0..=count).map(|i| from.saturating_add(step.saturating_mul(i))).collect());
    }
    Err(TooMany)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expected: &str) {
        let atoms: Vec<Atom> = word.chars().map(Atom::Bare).collect();
        let text = |atoms: &Vec<Atom>| {
            atoms.iter().map(|a| if let Atom::Bare(c) = a { *c } else { '?' }).collect::<String>()
        };
        let found =
            expand(&atoms).map(|words| words.iter().map(text).collect::<Vec<_>>().join(" "));
        assert_eq!(found.as_deref().unwrap_or("TOO MANY"), expected, "{word}");
    }

    #[test]
    fn as_bash_expands_them() {
        check("a", "a");
        check("{rm,-rf,x}", "rm -rf x");
        check("a{b,c}d", "abd acd");
        check("a{b,c}{d,e}", "abd abe acd ace");
        check("{a,{b,c}}", "a b c");
        check("{a}", "{a}");
        check("{}", "{}");
        check("{a{b,c}d}", "{abd} {acd}");
        check("{a{b,c}", "{ab {ac");
        check("{a,b}}", "a} b}");
        check("{{a,b}},c}", "TOO MANY");
        check("{a}{b,c}", "{a}b {a}c");
        check("{1..3}", "1 2 3");
        check("{3..1}", "3 2 1");
        check("{01..3}", "01 02 03");
        check("{-1..1}", "-1 0 1");
        check("{1..9..4}", "1 5 9");
        check("{a..e..2}", "a c e");
        check("{1..a}", "{1..a}");
        check("{,a}b", "b ab");
        check("{1..100000}", "TOO MANY");
        check(&"{a,b}".repeat(11), "TOO MANY");
    }
}
