//! Names near to one that was not found.

/// Up to three of `names` that are close to `asked`, the closest first: by edit distance, or because one contains the other.
pub(crate) fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // A name of a hostile length is not worth comparing.
    if asked.len() > 200 {
        return Vec::new();
    }
    let asked = asked.to_lowercase();
    let mut scored: Vec<(usize, &str)> = names.filter_map(|name| score(&asked, name)).collect();
    scored.sort_unstable();
    scored.dedup();
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

fn score<'a>(asked: &str, name: &'a str) -> Option<(usize, &'a str)> {
    let distance = strsim::damerau_levenshtein(asked, name);
    let longest = asked.chars().count().max(name.chars().count());
    let contains =
        asked.len() >= 3 && name.len() >= 3 && (name.contains(asked) || asked.contains(name));
    (distance * 5 <= longest * 2 || contains).then_some((distance, name))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_names() {
        let names = ["read_file", "write_file", "find_files", "get_current_time"];
        assert_eq!(
            nearest("raed_file", names.into_iter()),
            ["read_file", "find_files", "write_file"]
        );
        assert_eq!(nearest("file", names.into_iter()).len(), 3);
        assert!(nearest("weather", names.into_iter()).is_empty());
        assert!(nearest(&"x".repeat(1_000_000), names.into_iter()).is_empty());
    }
}
