//! The part of a text that fits into a result.

/// Returns at most `max` characters from `offset`, and the total number of characters. The part
/// ends with a paragraph, a line or a word if one ends in its second half.
pub(crate) fn excerpt(text: &str, offset: usize, max: usize) -> (&str, usize) {
    let total = text.chars().count();
    let from = byte_at(text, offset);
    let rest = text.get(from..).unwrap_or_default();
    let end = byte_at(rest, max);
    let part = rest.get(..end).unwrap_or_default();
    if end == rest.len() {
        return (part, total);
    }
    let least = byte_at(part, max - max / 2);
    let tail = part.get(least..).unwrap_or_default();
    let cut = ["\n\n", "\n", " "].iter().find_map(|mark| Some(tail.rfind(mark)? + mark.len()));
    let end = cut.map_or(end, |cut| least + cut);
    (part.get(..end).unwrap_or(part), total)
}

fn byte_at(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_part_ends_where_a_paragraph_does() {
        for (text, offset, max, expected) in [
            ("short", 0, 100, "short"),
            ("one two\n\nthree four", 0, 12, "one two\n\n"),
            ("aaaa bbbb cccc dddd", 0, 12, "aaaa bbbb "),
            ("aaaaaaaaaaaaaaaaaaa", 0, 12, "aaaaaaaaaaaa"),
            ("ä".repeat(30).as_str(), 20, 100, &*"ä".repeat(10)),
            ("abc", 9, 10, ""),
        ] {
            assert_eq!(excerpt(text, offset, max).0, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn parts_give_the_whole_text(text in "[a-z \nü]{0,300}", max in 1usize..40) {
            let (mut offset, mut whole) = (0, String::new());
            loop {
                let (part, total) = excerpt(&text, offset, max);
                prop_assert!(part.chars().count() <= max);
                whole.push_str(part);
                offset += part.chars().count();
                if offset >= total { break; }
                prop_assert!(!part.is_empty());
            }
            prop_assert_eq!(whole, text);
        }
    }
}
