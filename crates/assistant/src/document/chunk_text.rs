//! Splits text into chunks: a pure function. Concatenating the chunks gives the text.

/// Maximum characters of a chunk: about 200 words, the amount that one vector can represent.
pub(super) const MAX_CHARS: usize = 900;
/// A chunk ends at the end of a paragraph after at least this many characters.
const MIN_CHARS: usize = 400;

/// Splits a text into chunks, each with the index of its first character.
pub(super) fn split(text: &str) -> Vec<(u32, &str)> {
    let (mut pieces, mut rest, mut start) = (Vec::new(), text, 0_u32);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(end_of_piece(rest));
        pieces.push((start, piece));
        start = start.saturating_add(u32::try_from(piece.chars().count()).unwrap_or(u32::MAX));
        rest = after;
    }
    pieces
}

/// Returns the bytes of the first chunk: it ends with a paragraph, a line, a sentence or a word, if
/// one ends late enough.
fn end_of_piece(text: &str) -> usize {
    let Some((most, _)) = text.char_indices().nth(MAX_CHARS) else { return text.len() };
    let least = text.char_indices().nth(MIN_CHARS).map_or(0, |(at, _)| at);
    let tail = text.get(least..most).unwrap_or_default();
    let end =
        ["\n\n", "\n", ". ", " "].iter().find_map(|mark| Some(tail.rfind(mark)? + mark.len()));
    end.map_or(most, |end| least + end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pieces_end_with_paragraphs() {
        let paragraph = format!("{}\n\n", "word ".repeat(90));
        let text = paragraph.repeat(3);
        let pieces = split(&text);
        assert_eq!(pieces.len(), 3);
        assert!(pieces.iter().all(|(_, piece)| *piece == paragraph));
        assert_eq!(pieces[1].0, 452);
        assert_eq!(split(""), []);
    }

    proptest! {
        #[test]
        fn they_are_the_text(text in "[a-zü .\n]{0,3000}") {
            let pieces = split(&text);
            let whole: String = pieces.iter().map(|(_, piece)| *piece).collect();
            prop_assert_eq!(&whole, &text);
            for (start, piece) in pieces {
                prop_assert!(piece.chars().count() <= MAX_CHARS && !piece.is_empty());
                let from: String = text.chars().skip(start as usize).collect();
                prop_assert!(from.starts_with(piece));
            }
        }
    }
}
