//! The name that was probably meant.

/// The known name nearest to a wrong one, if it is near at all: at most one edit for every three letters, and at most three.
pub(super) fn nearest<'n>(wrong: &str, known: &[&'n str]) -> Option<&'n str> {
    let limit = (wrong.chars().count() / 3).clamp(1, 3);
    let distances = known.iter().map(|name| (strsim::damerau_levenshtein(wrong, name), *name));
    distances.filter(|(distance, _)| *distance <= limit).min().map(|(_, name)| name)
}
