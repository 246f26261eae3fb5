//! The media type of an image, by the first bytes of its file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Number of bytes that tell the type: the longest mark, that of WebP.
const HEAD_BYTES: usize = 12;

/// Returns the media type of an image that models and browsers show; `None` for any other file.
/// The position in the file stays unchanged.
///
/// # Errors
/// The error of the file system.
pub(crate) fn image_type(file: &File) -> io::Result<Option<&'static str>> {
    let mut head = [0; HEAD_BYTES];
    let read = file.read_at(&mut head, 0)?;
    Ok(head.get(..read).and_then(type_of_head))
}

/// The marks of PNG (RFC 2083, 3.1), JPEG (T.81, B.1.1.3: SOI and the next marker), GIF87a and
/// GIF89a, and WebP (RFC 9649, 2.4).
fn type_of_head(head: &[u8]) -> Option<&'static str> {
    let is_webp =
        || head.starts_with(b"RIFF") && head.get(8..12).is_some_and(|form| form == b"WEBP");
    if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if head.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
        Some("image/gif")
    } else {
        is_webp().then_some("image/webp")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_marks_are_images() {
        for (head, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\x0d"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a\x01\0", Some("image/gif")),
            (b"RIFF\x24\0\0\0WEBP", Some("image/webp")),
            (b"RIFF\x24\0\0\0WAVE", None),
            (b"\x89PNG\n", None),
            (b"<svg xmlns=", None),
            (b"", None),
        ] {
            assert_eq!(type_of_head(head), expected, "{head:?}");
        }
    }
}
