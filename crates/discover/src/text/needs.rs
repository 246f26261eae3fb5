//! One query, several needs: "Book a table for two. Also, what is the weather on Friday?" asks for two tools, and the average of both
//! sentences is close to neither.

use super::words::has_words;

/// Needs of one query that are looked at; the sentences behind them count with the whole query only.
pub(crate) const MOST: usize = 8;
/// Words from which a sentence can be a need of its own; shorter ones are "Hello!", "Thanks." and abbreviations.
const LEAST_WORDS: usize = 3;

/// The sentences of a query that can stand alone, at most [`MOST`]; the whole query when there are none.
pub(crate) fn needs(query: &str) -> Vec<&str> {
    let mut needs: Vec<&str> =
        sentences(query).filter(|s| has_words(s, LEAST_WORDS)).take(MOST).collect();
    if needs.is_empty() {
        needs.push(query);
    }
    needs
}

/// Cuts behind `.`, `!`, `?` or `;` with a blank after it, at line ends, and behind the full stops of Chinese and Japanese.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let blank_next = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
            if matches!(c, '\n' | '。' | '！' | '？' | '；')
                || (matches!(c, '.' | '!' | '?' | ';') && blank_next)
            {
                let (sentence, tail) = rest.split_at(at + c.len_utf8());
                rest = tail;
                return Some(sentence.trim());
            }
        }
        Some(std::mem::take(&mut rest).trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: &[&str]) {
        assert_eq!(needs(query), expected, "{query}");
    }

    #[test]
    fn sentences_are_needs() {
        check("what is the weather", &["what is the weather"]);
        check(
            "Book a table. Also, is it raining in Oslo? Thanks!",
            &["Book a table.", "Also, is it raining in Oslo?"],
        );
        check("convert 3.5 km to miles", &["convert 3.5 km to miles"]);
        check("read file.txt now\nwrite it back please", &["read file.txt now", "write it back please"]);
        check("明天天气怎么样？帮我订一张票。", &["明天天气怎么样？", "帮我订一张票。"]);
    }

    #[test]
    fn there_is_always_a_need() {
        check("", &[""]);
        check("Hi. Go!", &["Hi. Go!"]);
        check("...", &["..."]);
    }

    #[test]
    fn a_long_list_of_sentences_is_bounded() {
        let many = "One more small need. ".repeat(10_000);
        assert_eq!(needs(&many).len(), MOST);
    }
}
