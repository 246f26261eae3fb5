//! The name that was probably meant.

/// The known name nearest to a wrong one, if it is near at all: at most one edit for every three letters, and at most three; or the wrong
/// one is the beginning of it.
pub(crate) fn nearest<'n>(
    wrong: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let limit = (wrong.chars().count() / 3).clamp(1, 3);
    let distance = |name: &str| {
        let begins = wrong.len() >= 3 && name.starts_with(wrong);
        if begins { 1 } else { strsim::damerau_levenshtein(wrong, name) }
    };
    let distances = known.into_iter().map(|name| (distance(name), name));
    distances.filter(|(distance, _)| *distance <= limit).min().map(|(_, name)| name)
}
