//! Names near a wrong one, for "did you mean".
#![deny(clippy::indexing_slicing)]

/// Longest names compared: the comparison is quadratic in them.
const LONGEST: usize = 64;
/// Most names compared.
const MOST: usize = 500;

/// The name a mistyped one most probably stands for, if one is near enough: equal but for case and
/// separators, or at most a third of its letters (and at least one) off.
pub(super) fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if wrong.len() > LONGEST {
        return None;
    }
    let wrong_letters = letters(wrong);
    let scored = names.take(MOST).filter(|name| name.len() <= LONGEST).filter_map(|name| {
        let known = letters(name);
        let distance = distance(&wrong_letters, &known);
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

/// Edit distance where swapping two neighbours counts once.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut last_a = None;
    for (i, &ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        let mut last_b = None;
        for (j, &cb) in b.iter().enumerate() {
            let at =
                |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&above, j) + usize::from(ca != cb);
            let mut best = replaced.min(at(&above, j + 1) + 1).min(at(&row, j) + 1);
            if last_a == Some(cb) && last_b == Some(ca) && j > 0 {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
            last_b = Some(cb);
        }
        before = std::mem::replace(&mut above, row);
        last_a = Some(ca);
    }
    above.last().copied().unwrap_or_default()
}
