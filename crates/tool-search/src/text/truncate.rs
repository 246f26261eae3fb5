//! Truncating texts.

/// The first `bytes` bytes of a text, cut at a character boundary.
pub(crate) fn truncate(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::truncate;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(truncate("plain", 99), "plain");
        assert_eq!(truncate("plain", 2), "pl");
        assert_eq!(truncate("größe", 3), "gr");
        assert_eq!(truncate("größe", 4), "grö");
        assert_eq!(truncate("€", 2), "");
    }
}
