//! Tokenizer: the words of folded text, and stop words.

use super::is_ideograph;

/// Returns the runs of letters and digits of a folded text, in order; an ideograph is a separate
/// word.
pub(crate) fn words(folded: &str) -> impl Iterator<Item = &str> {
    // Folding puts spaces around ideographs.
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Words without information about the need: articles, pronouns, auxiliaries, prepositions. They
/// are frequent in sentences and rare in tool descriptions, so their idf would outweigh the words
/// that matter.
const STOP_WORDS: &[&str] = &[
    "a", "am", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "he", "here", "how", "i", "if", "in", "is",
    "it", "its", "me", "my", "not", "of", "on", "or", "our", "please", "should", "so", "that",
    "the", "then", "there", "these", "they", "this", "those", "to", "was", "we", "were", "what",
    "when", "where", "which", "who", "whom", "why", "will", "with", "would", "you", "your",
];

/// Returns whether a folded word is ignored in queries.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Returns whether a text has at least `least` words; an ideograph counts as one.
pub(crate) fn has_words(text: &str, least: usize) -> bool {
    let runs = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let counted = runs.map(|run| match run.chars().filter(|c| is_ideograph(*c)).count() {
        0 => usize::from(!run.is_empty()),
        ideographs => ideographs,
    });
    // Lazily: a query may be long, and three words are found quickly.
    counted
        .scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        })
        .any(|sum| sum >= least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let got: Vec<&str> = words("what's the  utf8-name, 天  气 ?").collect();
        assert_eq!(got, ["what", "s", "the", "utf8", "name", "天", "气"]);
        assert_eq!(words(" ,.! ").count(), 0);
    }

    #[test]
    fn the_table_is_in_order_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("please") && is_stop_word("a") && !is_stop_word("weather"));
    }

    #[test]
    fn words_are_counted() {
        assert!(has_words("one two_2 three", 3));
        assert!(!has_words("one, two!", 3));
        assert!(has_words("天气好", 3));
        assert!(!has_words("", 1));
    }
}
