//! The name that was probably meant: for models and people that ask for one that does not exist.

/// A name of a hostile length is not worth comparing.
const LONGEST: usize = 200;
/// Names that are offered.
const OFFERED: usize = 3;

/// Up to three of `names` that are close to `asked`, the closest first: by edit distance, or because one contains the other.
pub fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let contains = |asked: &str, name: &str| {
        asked.len() >= 3 && name.len() >= 3 && (name.contains(asked) || asked.contains(name))
    };
    closest(asked, names, contains)
}

/// Up to three of `names` that `asked` is a slip of the pen of, the closest first: by edit distance alone. For keys of files, where a word
/// inside another one means something else.
pub fn slips<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    closest(asked, names, |_, _| false)
}

fn closest<'a>(
    asked: &str,
    names: impl Iterator<Item = &'a str>,
    is_like: impl Fn(&str, &str) -> bool,
) -> Vec<&'a str> {
    if asked.len() > LONGEST {
        return Vec::new();
    }
    let asked = asked.to_lowercase();
    let mut near: Vec<(usize, &str)> = names
        .map(|name| (strsim::damerau_levenshtein(&asked, name), name))
        .filter(|(distance, name)| is_close(*distance, &asked, name) || is_like(&asked, name))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(OFFERED).map(|(_, name)| name).collect()
}

/// At most two letters in five differ.
fn is_close(distance: usize, asked: &str, name: &str) -> bool {
    distance * 5 <= asked.chars().count().max(name.chars().count()) * 2
}

#[cfg(test)]
mod tests {
    use super::{nearest, slips};

    #[test]
    fn near_names() {
        let names = ["read_file", "write_file", "find_files", "get_current_time"];
        let near = nearest("Raed_file", names.into_iter());
        assert_eq!(near, ["read_file", "find_files", "write_file"]);
        assert_eq!(nearest("file", names.into_iter()).len(), 3);
        assert_eq!(slips("file", names.into_iter()), Vec::<&str>::new());
        assert!(nearest("weather", names.into_iter()).is_empty());
        assert!(nearest(&"x".repeat(1_000_000), names.into_iter()).is_empty());
    }
}
