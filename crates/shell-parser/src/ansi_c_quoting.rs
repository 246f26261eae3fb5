//! ANSI-C quoting (`$'…'`): decodes the escapes of bash.
#![deny(clippy::indexing_slicing)]

/// Returns the text between the quotes with its escapes decoded; `None` if versions or locales of
/// bash differ (NUL, control letters, `\x{`, bytes that are not UTF-8).
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        let Some((&letter, after)) = rest.split_first() else {
            bytes.push(first);
            break;
        };
        rest = after;
        match letter {
            b'a' => bytes.push(7),
            b'b' => bytes.push(8),
            b'e' | b'E' => bytes.push(27),
            b'f' => bytes.push(12),
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'v' => bytes.push(11),
            b'\\' | b'\'' | b'"' | b'?' => bytes.push(letter),
            b'0'..=b'7' => {
                let more = digits(rest, 8, 2);
                let text = [&[letter], more].concat();
                rest = rest.get(more.len()..).unwrap_or_default();
                bytes.push(u8::try_from(number(&text, 8)? & 0xff).ok().filter(|byte| *byte != 0)?);
            }
            b'x' => {
                let found = digits(rest, 16, 2);
                rest = rest.get(found.len()..).unwrap_or_default();
                bytes.push(u8::try_from(number(found, 16)?).ok().filter(|byte| *byte != 0)?);
            }
            b'u' | b'U' => {
                let found = digits(rest, 16, if letter == b'u' { 4 } else { 8 });
                rest = rest.get(found.len()..).unwrap_or_default();
                let char = char::from_u32(number(found, 16)?).filter(|c| *c != '\0')?;
                bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            }
            b'c' => return None,
            _ => bytes.extend_from_slice(&[b'\\', letter]),
        }
    }
    String::from_utf8(bytes).ok()
}

fn digits(rest: &[u8], radix: u32, most: usize) -> &[u8] {
    let count = rest.iter().take(most).take_while(|b| char::from(**b).is_digit(radix)).count();
    rest.get(..count).unwrap_or_default()
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_as_bash_does() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        };
        check(r"rm", Some("rm"));
        check(r"\x72m", Some("rm"));
        check(r"\162\155", Some("rm"));
        check(r"\u0072m", Some("rm"));
        check(r"\U00000072m", Some("rm"));
        check(r"\x7", Some("\u{7}"));
        check(r"a\'b", Some("a'b"));
        check(r"a\nb\tc", Some("a\nb\tc"));
        check(r"\q", Some(r"\q"));
        check(r"\xc3\xa9", Some("é"));
        check(r"\xc3", None);
        check(r"a\0b", None);
        check(r"\ca", None);
        check(r"\x", None);
        check(r"\x{72}", None);
    }
}
