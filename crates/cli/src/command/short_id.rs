//! Shortened ids in lists; `toolcrib_ops::id_prefix` resolves them.

use std::fmt::Display;

/// Minimum number of displayed digits, after the prefix of the kind.
const MIN_DIGITS: usize = 10;

/// Returns the shortest prefix of an id that no other id has.
pub(super) fn shorten<T: Display>(id: &T, all: &[T]) -> String {
    let id = id.to_string();
    let kind = id.find('_').map_or(0, |at| at + 1);
    let common = |other: &T| {
        let other = other.to_string();
        id.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
    };
    let needed = all.iter().map(common).filter(|same| *same < id.len()).max().unwrap_or(0) + 1;
    id.chars().take(needed.max(kind + MIN_DIGITS)).collect()
}

#[cfg(test)]
mod tests {
    use toolcrib_ops::{Resource, id_prefix};

    use super::*;

    const KNOWN: [&str; 3] = ["appr_0193aa00ff01", "appr_0193aa00ff02", "appr_0193bb00ff01"];

    #[test]
    fn short_ids_are_those_that_are_found() {
        for id in KNOWN {
            let short = shorten(&id, &KNOWN);
            let found = id_prefix::resolve(Resource::Approval, &short, &KNOWN).unwrap();
            assert_eq!(found, id, "{short}");
        }
        assert_eq!(shorten(&KNOWN[2], &KNOWN), "appr_0193bb00ff");
    }
}
