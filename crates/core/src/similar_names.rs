//! Suggestions of similar names for an unknown name, for models and people.

/// Longer names are not compared: the edit distance costs time quadratic in the length, and the
/// text is untrusted.
const MAX_NAME_BYTES: usize = 200;
/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;

/// Returns up to three of `names` similar to `asked`, closest first: by edit distance, or because
/// one contains the other.
pub fn similar_names<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let contains = |asked: &str, name: &str| {
        asked.len() >= 3 && name.len() >= 3 && (name.contains(asked) || asked.contains(name))
    };
    closest(asked, names, contains)
}

/// Returns up to three of `names` of which `asked` may be a typo, closest first: by edit distance
/// alone. For keys in files, where a name that contains another one means something else.
pub fn likely_typos<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    closest(asked, names, |_, _| false)
}

/// Rewords serde's "`wrong`, expected one of `a`, `b`" for people; `what` is the kind of name.
#[must_use]
pub fn unknown_name(what: &str, names: &str) -> String {
    let mut quoted = names.split('`').skip(1).step_by(2);
    let wrong = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.collect();
    match likely_typos(wrong, known.iter().copied()).first() {
        Some(near) => format!("unknown {what} `{wrong}`, did you mean `{near}`?"),
        None => format!("unknown {what} `{wrong}`; known are {}", known.join(", ")),
    }
}

fn closest<'a>(
    asked: &str,
    names: impl Iterator<Item = &'a str>,
    is_like: impl Fn(&str, &str) -> bool,
) -> Vec<&'a str> {
    if asked.len() > MAX_NAME_BYTES {
        return Vec::new();
    }
    let asked = asked.to_lowercase();
    let mut near: Vec<(usize, &str)> = names
        .map(|name| (name.to_lowercase(), name))
        .map(|(lower, name)| (strsim::damerau_levenshtein(&asked, &lower), lower, name))
        .filter(|(distance, lower, _)| is_close(*distance, &asked, lower) || is_like(&asked, lower))
        .map(|(distance, _, name)| (distance, name))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

/// Returns whether at most two of five characters differ.
fn is_close(distance: usize, asked: &str, name: &str) -> bool {
    distance * 5 <= asked.chars().count().max(name.chars().count()) * 2
}

#[cfg(test)]
mod tests {
    use super::{likely_typos, similar_names};

    #[test]
    fn near_names() {
        let names = ["read_file", "write_file", "find_files", "get_current_time"];
        let near = similar_names("Raed_file", names.into_iter());
        assert_eq!(near, ["read_file", "find_files", "write_file"]);
        assert_eq!(similar_names("file", names.into_iter()).len(), 3);
        assert_eq!(likely_typos("file", names.into_iter()), Vec::<&str>::new());
        assert!(similar_names("weather", names.into_iter()).is_empty());
        assert_eq!(likely_typos("Raed", ["Read", "Bash"].into_iter()), ["Read"]);
        assert!(similar_names(&"x".repeat(1_000_000), names.into_iter()).is_empty());
    }
}
