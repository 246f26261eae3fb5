//! The media type of an image, by the first bytes of its file.

/// Largest image that models are shown, in bytes: the limit for one image of Anthropic's Messages
/// API, the lowest of the providers' limits.
pub const MAX_IMAGE_BYTES: usize = 5_000_000;

/// Returns the media type of an image that all providers accept, by its marks: PNG (RFC 2083, 3.1),
/// JPEG (T.81, B.1.1.3: SOI and the next marker), GIF87a and GIF89a, and WebP (RFC 9649, 2.4).
/// `None` for any other content.
#[must_use]
pub fn image_type(content: &[u8]) -> Option<&'static str> {
    let is_webp =
        || content.starts_with(b"RIFF") && content.get(8..12).is_some_and(|form| form == b"WEBP");
    if content.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if content.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if content.starts_with(b"GIF87a") || content.starts_with(b"GIF89a") {
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
            assert_eq!(image_type(head), expected, "{head:?}");
        }
    }
}
