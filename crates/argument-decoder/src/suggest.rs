//! Suggestions for misspelled names, for "did you mean".
#![deny(clippy::indexing_slicing)]

/// Longest name compared: the comparison is quadratic in the length.
const LONGEST: usize = 64;
/// Maximum number of names compared.
const MOST: usize = 500;

/// Returns the most probable intended name, if one is similar enough: equal except for case and
/// separators, or with at most a third of its letters (and at least one) different.
pub(super) fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if wrong.len() > LONGEST {
        return None;
    }
    let wrong_letters = letters(wrong);
    let scored = names.take(MOST).filter(|name| name.len() <= LONGEST).filter_map(|name| {
        let known = letters(name);
        let distance = strsim::generic_damerau_levenshtein(&wrong_letters, &known);
        let allowed = (wrong_letters.len().max(known.len()) / 3).max(1);
        let near = distance <= allowed && distance < known.len();
        near.then_some((distance, name))
    });
    scored.min().map(|(_, name)| name)
}

fn letters(name: &str) -> Vec<char> {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' ' | '.'))
        .flat_map(char::to_lowercase)
        .collect()
}
