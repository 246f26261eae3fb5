//! Ids as people type them: a beginning that no other has is enough, and what is mistyped is answered with the nearest.

use std::fmt::Display;

use crate::output::Failure;

/// Digits that are shown at least, behind the word that says the kind.
const DIGITS: usize = 10;
/// Near ids that are offered.
const NEAR: usize = 3;

/// What was found for a shortened id.
pub(super) enum Found<T> {
    /// It is this one.
    One(T),
    /// It fits all of these.
    Several(Vec<T>),
    /// It fits none; these are near.
    None(Vec<T>),
}

/// Looks for an id that begins like this; the word that says its kind may be left out.
pub(super) fn find<T: Copy + Display>(text: &str, known: &[T]) -> Found<T> {
    let text = text.trim().to_ascii_lowercase();
    let begins = |id: &T| {
        let id = id.to_string();
        let bare = id.split_once('_').map_or(id.as_str(), |(_, digits)| digits);
        !text.is_empty() && (id.starts_with(&text) || bare.starts_with(&text))
    };
    let fitting: Vec<T> = known.iter().copied().filter(begins).collect();
    match fitting.as_slice() {
        [one] => Found::One(*one),
        [] => Found::None(near(&text, known)),
        _ => Found::Several(fitting),
    }
}

/// The ids that look most like this.
pub(super) fn near<T: Copy + Display>(text: &str, known: &[T]) -> Vec<T> {
    let mut near: Vec<(usize, T)> = known
        .iter()
        .map(|id| {
            let full = id.to_string();
            let bare = full.split_once('_').map_or(full.as_str(), |(_, digits)| digits);
            let typed = text.split_once('_').map_or(text, |(_, digits)| digits);
            let cut: String = bare.chars().take(typed.chars().count()).collect();
            (strsim::levenshtein(&cut, typed), *id)
        })
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(NEAR).map(|(_, id)| id).collect()
}

/// Why a shortened id means nothing.
pub(super) fn failure<T: Display>(what: &str, text: &str, found: Found<T>, list: &str) -> Failure {
    let text = crate::terminal::one_line(text);
    let lines = |ids: Vec<T>| ids.iter().map(|id| format!("\n  {id}")).collect::<String>();
    match found {
        Found::Several(ids) => {
            let count = ids.len();
            let some: Vec<T> = ids.into_iter().take(10).collect();
            Failure::usage(format!("{text} is the beginning of {count} ids:{}", lines(some)))
        }
        Found::None(near) if !near.is_empty() => Failure::not_found(format!(
            "there is no {what} {text}; `toolcrib {list}` shows what there is. The nearest:{}",
            lines(near)
        )),
        Found::One(_) | Found::None(_) => Failure::not_found(format!(
            "there is no {what} {text}; `toolcrib {list}` shows what there is"
        )),
    }
}

/// The shortest beginning of an id that none of the others has.
pub(super) fn short<T: Display>(id: &T, all: &[T]) -> String {
    let id = id.to_string();
    let kind = id.find('_').map_or(0, |at| at + 1);
    let common = |other: &T| {
        let other = other.to_string();
        id.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
    };
    let needed = all.iter().map(common).filter(|same| *same < id.len()).max().unwrap_or(0) + 1;
    id.chars().take(needed.max(kind + DIGITS)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 3] = ["appr_0193aa00ff01", "appr_0193aa00ff02", "appr_0193bb00ff01"];

    #[test]
    fn a_beginning_that_no_other_has_is_enough() {
        let one = |text: &str| match find(text, &KNOWN) {
            Found::One(id) => id,
            Found::Several(ids) => panic!("{text} fits {ids:?}"),
            Found::None(_) => panic!("{text} fits none"),
        };
        assert_eq!(one("appr_0193b"), KNOWN[2]);
        assert_eq!(one("0193B"), KNOWN[2]);
        assert_eq!(one("appr_0193aa00ff02"), KNOWN[1]);
        assert!(matches!(find("appr_0193a", &KNOWN), Found::Several(ids) if ids.len() == 2));
        assert!(matches!(find("", &KNOWN), Found::None(_)));
        assert!(matches!(find("appr_0193bc", &KNOWN), Found::None(near) if near[0] == KNOWN[2]));
    }

    #[test]
    fn short_ids_are_those_that_are_found() {
        for id in KNOWN {
            let short = short(&id, &KNOWN);
            assert!(matches!(find(&short, &KNOWN), Found::One(found) if found == id), "{short}");
        }
        assert_eq!(short(&KNOWN[2], &KNOWN), "appr_0193bb00ff");
    }
}
