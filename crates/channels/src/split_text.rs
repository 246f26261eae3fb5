//! Splits a text into messages below the limit of a service.

/// Maximum messages of one text.
const MAX_PARTS: usize = 10;
/// Space for the note at the end of a text that is too long.
const NOTE: &str = "\n\n[The rest is in the conversation on the page.]";

/// Splits a text into messages of at most `max` UTF-16 code units, which is how Telegram counts, at
/// the end of a paragraph, a line or a word where possible. A text of more than ten messages ends
/// with a note.
#[must_use]
pub fn split_text(text: &str, max: usize) -> Vec<String> {
    let max = max.max(NOTE.len() * 2);
    let mut rest = text.trim();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let is_last = parts.len() + 1 == MAX_PARTS;
        let room = fitting(rest, max);
        if room == rest.len() {
            parts.push(rest.to_owned());
            break;
        }
        if is_last {
            let end = fitting(rest, max - NOTE.len());
            let (kept, _) = rest.split_at_checked(end).unwrap_or((rest, ""));
            parts.push(format!("{}{NOTE}", kept.trim_end()));
            break;
        }
        let (head, _) = rest.split_at_checked(room).unwrap_or((rest, ""));
        let half = head.len() / 2;
        let end = ["\n\n", "\n", " "]
            .iter()
            .find_map(|end| head.rfind(end).filter(|at| *at > half))
            .unwrap_or(room);
        let (head, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
        parts.push(head.trim_end().to_owned());
        rest = tail.trim_start();
    }
    parts
}

/// Returns the number of bytes of the longest beginning with at most `max` UTF-16 code units.
fn fitting(text: &str, max: usize) -> usize {
    let mut units = 0;
    for (at, c) in text.char_indices() {
        units += c.len_utf16();
        if units > max {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, max: usize, expected: usize) {
        let parts = split_text(text, max);
        assert_eq!(
            parts.len(),
            expected,
            "{:?}",
            parts.iter().map(String::len).collect::<Vec<_>>()
        );
        for part in &parts {
            let units = part.encode_utf16().count();
            assert!(units <= max && !part.trim().is_empty(), "{units} > {max}");
        }
    }

    #[test]
    fn every_part_is_below_the_limit_whatever_the_text() {
        check("", 4096, 0);
        check(" \n ", 4096, 0);
        check("short", 4096, 1);
        check(&"x".repeat(4096), 4096, 1);
        check(&"x".repeat(4097), 4096, 2);
        // Outside the basic plane, Telegram counts two for each.
        check(&"😀".repeat(2049), 4096, 2);
        check(&"word ".repeat(2_000), 4096, 3);
        check(&"x".repeat(1_000_000), 4096, MAX_PARTS);
    }

    #[test]
    fn a_text_is_split_between_paragraphs_and_nothing_is_lost() {
        let text = format!("{}\n\n{}", "a ".repeat(1_500), "b ".repeat(1_500));
        let parts = split_text(&text, 4096);
        assert!(parts[0].ends_with('a') && parts[1].starts_with('b'), "{parts:?}");
        let rest = split_text(&"x".repeat(1_000_000), 4096);
        assert!(rest.last().unwrap().ends_with(NOTE));
    }
}
