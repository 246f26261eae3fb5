//! Resolves ids that are shortened to a prefix.

use std::fmt::Display;

use crate::error::{OpError, Resource};

/// Maximum number of similar ids in an error.
const SUGGESTION_LIMIT: usize = 3;

/// Returns the prefix of an id that a person typed or copied, without the ellipsis after a
/// shortened id.
#[must_use]
pub fn typed_prefix(text: &str) -> String {
    let text = text.trim();
    text.trim_end_matches('…').trim_end_matches("...").to_ascii_lowercase()
}

/// Returns the only id that starts with `text`; its type prefix (`call_`, `run_`, ...) is optional,
/// and an ellipsis may follow.
///
/// # Errors
/// [`OpError::Ambiguous`], or [`OpError::NotFound`] with the nearest ids.
pub fn resolve<T: Copy + Display>(what: Resource, text: &str, known: &[T]) -> Result<T, OpError> {
    let begin = typed_prefix(text);
    let fits = |id: &T| {
        let id = id.to_string();
        !begin.is_empty() && (id.starts_with(&begin) || without_prefix(&id).starts_with(&begin))
    };
    let fitting: Vec<T> = known.iter().copied().filter(fits).collect();
    match fitting.as_slice() {
        [one] => Ok(*one),
        [] => Err(OpError::NotFound {
            what,
            name: text.to_owned(),
            near: nearest(&begin, known).iter().map(T::to_string).collect(),
        }),
        several => Err(OpError::Ambiguous {
            what,
            prefix: text.to_owned(),
            ids: several.iter().map(T::to_string).collect(),
        }),
    }
}

/// Returns the ids whose start has the smallest edit distance to `text`.
#[must_use]
pub fn nearest<T: Copy + Display>(text: &str, known: &[T]) -> Vec<T> {
    let typed = without_prefix(text);
    let mut near: Vec<(usize, T)> = known
        .iter()
        .map(|id| {
            let full = id.to_string();
            let cut: String = without_prefix(&full).chars().take(typed.chars().count()).collect();
            (strsim::levenshtein(&cut, typed), *id)
        })
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(SUGGESTION_LIMIT).map(|(_, id)| id).collect()
}

fn without_prefix(id: &str) -> &str {
    id.split_once('_').map_or(id, |(_, digits)| digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 3] = ["appr_0193aa00ff01", "appr_0193aa00ff02", "appr_0193bb00ff01"];

    #[test]
    fn a_beginning_that_only_one_id_has_resolves() {
        let resolve = |text: &str| resolve(Resource::Approval, text, &KNOWN);
        assert_eq!(resolve("appr_0193b").unwrap(), KNOWN[2]);
        assert_eq!(resolve("0193B").unwrap(), KNOWN[2]);
        assert_eq!(resolve("appr_0193aa00ff02").unwrap(), KNOWN[1]);
        assert_eq!(resolve("appr_0193b…").unwrap(), KNOWN[2]);
        assert_eq!(resolve("appr_0193b...").unwrap(), KNOWN[2]);
        let several = resolve("appr_0193a").unwrap_err();
        assert!(matches!(several, OpError::Ambiguous { ids, .. } if ids.len() == 2));
        assert!(matches!(resolve("").unwrap_err(), OpError::NotFound { .. }));
        let near = resolve("appr_0193bc").unwrap_err();
        assert!(matches!(near, OpError::NotFound { near, .. } if near[0] == KNOWN[2]));
    }
}
