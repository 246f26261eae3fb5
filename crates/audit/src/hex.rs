//! Converts hexadecimal digits to bytes, strictly in the form that
//! [`toolcrib_core::canonical_json::hex`] writes: lower case, so that one value has one text.
#![deny(clippy::indexing_slicing)]

/// Parses exactly `N` bytes; `None` if the text is anything else.
pub(super) fn array<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let &[high, low] = pair else { return None };
        *byte = (digit(high)? << 4) | digit(low)?;
    }
    Some(bytes)
}

fn digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_one_text() {
        assert_eq!(array("00ff1a"), Some([0, 255, 26]));
        for text in ["00FF1A", "00ff1", "00ff1a0", "00ff1g", "+0ff1a", "00ffé"] {
            assert_eq!(array::<3>(text), None, "{text}");
        }
    }
}
