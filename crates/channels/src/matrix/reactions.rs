//! Matrix has no buttons: a person reacts with an emoji that stands for one.

/// Meaning and emoji. Clients add a variation selector to some.
const TABLE: &[(&str, &str)] = &[
    ("allow", "✅"),
    ("deny", "❌"),
    ("skip", "⏭"),
    ("opt0", "1️⃣"),
    ("opt1", "2️⃣"),
    ("opt2", "3️⃣"),
    ("opt3", "4️⃣"),
];

/// Returns the emoji of a button.
pub(super) fn emoji_of(data: &str) -> Option<&'static str> {
    TABLE.iter().find(|(meaning, _)| *meaning == data).map(|(_, emoji)| *emoji)
}

/// Returns the meaning of an emoji.
pub(super) fn meaning_of(emoji: &str) -> Option<&'static str> {
    let plain = |text: &str| text.replace('\u{fe0f}', "");
    let emoji = plain(emoji.trim());
    TABLE.iter().find(|(_, one)| plain(one) == emoji).map(|(meaning, _)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_emoji_is_read_with_and_without_its_variation_selector() {
        for (meaning, emoji) in TABLE {
            assert_eq!(emoji_of(meaning), Some(*emoji));
            for text in [(*emoji).to_owned(), emoji.replace('\u{fe0f}', "")] {
                assert_eq!(meaning_of(&text), Some(*meaning));
            }
        }
        assert_eq!(meaning_of("👍"), None);
    }
}
