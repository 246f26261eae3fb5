//! Splits a query into needs.
//!
//! "Book a table for two. Also, what is the weather on Friday?" asks for two tools, and the average
//! vector of both sentences is close to neither.

use super::tokenize::has_words;

/// Maximum number of needs; later sentences only count as part of the whole query.
pub(crate) const MAX_NEEDS: usize = 8;
/// Minimum words of a sentence that is a need; shorter ones are "Hello!", "Thanks." and
/// abbreviations.
const LEAST_WORDS: usize = 3;

/// A query in parts, which together are the whole query.
pub(crate) struct QueryParts<'a> {
    /// Each part in order, with the number of its need, if it is one.
    pub(crate) parts: Vec<(&'a str, Option<usize>)>,
    /// Number of needs; 0 if the whole query is one need.
    pub(crate) needs: usize,
}

impl<'a> QueryParts<'a> {
    /// Splits a query into sentences; sentences that are long enough are needs.
    pub(crate) fn split(query: &'a str) -> Self {
        let (mut rest, mut parts, mut needs) = (query, Vec::new(), 0);
        while !rest.is_empty() && needs < MAX_NEEDS {
            let (sentence, tail) = rest.split_at(end_of_sentence(rest));
            let need = has_words(sentence, LEAST_WORDS).then_some(needs);
            needs += usize::from(need.is_some());
            parts.push((sentence, need));
            rest = tail;
        }
        if !rest.is_empty() {
            parts.push((rest, None));
        }
        if needs == 0 || parts.len() == 1 {
            return Self { parts: vec![(query, None)], needs: 0 };
        }
        Self { parts, needs }
    }
}

/// Returns the offset of the first sentence's end: after `.`, `!`, `?` or `;` followed by a blank,
/// at a line end, or after a Chinese or Japanese full stop.
fn end_of_sentence(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let blank_next = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if matches!(c, '\n' | '。' | '！' | '？' | '；')
            || (matches!(c, '.' | '!' | '?' | ';') && blank_next)
        {
            return at + c.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts the needs of a query; an empty list if the whole query is one need.
    fn check(query: &str, expected: &[&str]) {
        let parts = QueryParts::split(query);
        let needs: Vec<&str> =
            parts.parts.iter().filter(|(_, need)| need.is_some()).map(|(p, _)| p.trim()).collect();
        assert_eq!(needs, expected, "{query}");
        assert_eq!(needs.len(), parts.needs, "{query}");
        let whole: String = parts.parts.iter().map(|(part, _)| *part).collect();
        assert_eq!(whole, query, "nothing is lost");
    }

    #[test]
    fn sentences_are_needs() {
        check(
            "Book a table. Also, is it raining in Oslo? Thanks!",
            &["Book a table.", "Also, is it raining in Oslo?"],
        );
        check(
            "read file.txt now\nwrite it back please",
            &["read file.txt now", "write it back please"],
        );
        check("明天天气怎么样？帮我订一张票。", &["明天天气怎么样？", "帮我订一张票。"]);
        check("Hello! What is the weather?", &["What is the weather?"]);
    }

    #[test]
    fn one_sentence_is_one_whole() {
        for query in ["what is the weather", "convert 3.5 km to miles", "", "Hi. Go!", "...", " "] {
            check(query, &[]);
        }
    }

    #[test]
    fn a_long_list_of_sentences_is_bounded() {
        let many = "One more small need. ".repeat(10_000);
        let parts = QueryParts::split(&many);
        assert_eq!((parts.needs, parts.parts.len()), (MAX_NEEDS, MAX_NEEDS + 1));
    }
}
