//! Names near to one that was not found, and the words that offer them.

/// Up to three of `names` that are close to `asked`, the closest first: by edit distance, or because one contains the other.
pub(super) fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let near = |name: &'a str| {
        let contains =
            asked.len() >= 3 && name.len() >= 3 && (name.contains(asked) || asked.contains(name));
        let distance = strsim::damerau_levenshtein(&asked.to_lowercase(), name);
        (contains || is_close(distance, asked, name)).then_some((distance, name))
    };
    closest(asked, names.filter_map(near))
}

/// The same by edit distance alone: for keys of files, where `tools` is no slip of `tools_required`.
pub(super) fn slips<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let near = |name: &'a str| {
        let distance = strsim::damerau_levenshtein(&asked.to_lowercase(), name);
        is_close(distance, asked, name).then_some((distance, name))
    };
    closest(asked, names.filter_map(near))
}

/// At most two in five characters differ: the measure that the engine uses for tool names.
fn is_close(distance: usize, asked: &str, name: &str) -> bool {
    distance * 5 <= asked.chars().count().max(name.chars().count()) * 2
}

fn closest<'a>(asked: &str, near: impl Iterator<Item = (usize, &'a str)>) -> Vec<&'a str> {
    // A name of a hostile length is not worth comparing.
    if asked.len() > 200 {
        return Vec::new();
    }
    let mut near: Vec<_> = near.collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// `; did you mean "a", "b"?`, or nothing.
pub(super) fn did_you_mean(names: &[&str]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("; did you mean {}?", quoted.join(", "))
}

/// A text as it is shown in a message: short.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{nearest, slips};

    #[test]
    fn near_names() {
        let names = ["read_file", "write_file", "find_files", "get_current_time"];
        let near = nearest("raed_file", names.into_iter());
        assert_eq!(near, ["read_file", "find_files", "write_file"]);
        assert_eq!(nearest("file", names.into_iter()).len(), 3);
        assert_eq!(slips("file", names.into_iter()), Vec::<&str>::new());
        assert!(nearest("weather", names.into_iter()).is_empty());
        assert!(nearest(&"x".repeat(1_000_000), names.into_iter()).is_empty());
    }
}
