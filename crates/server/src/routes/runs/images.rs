//! Images of a person's message.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_builtins::image_type::{MAX_IMAGE_BYTES, image_type};
use toolcrib_core::Blob;

use crate::problem::Problem;

/// An image in a message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewImage {
    /// `image/png`, `image/jpeg`, `image/webp` or `image/gif`.
    media_type: String,
    /// The bytes in base64. The limit on requests applies, too (`[server] body_bytes`).
    data: String,
}

/// Maximum number of images in a message.
const IMAGES: usize = 8;
/// The media types that providers accept.
const MEDIA_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// Decodes and checks the images of a message.
pub(super) fn decode_images(images: &[NewImage]) -> Result<Vec<Blob>, Problem> {
    if images.len() > IMAGES {
        return Err(Problem::invalid(format!("a message has at most {IMAGES} images")));
    }
    images.iter().map(NewImage::blob).collect()
}

impl NewImage {
    fn blob(&self) -> Result<Blob, Problem> {
        let media_type = self.media_type.as_str();
        if !MEDIA_TYPES.contains(&media_type) {
            let words = "images are image/png, image/jpeg, image/webp or image/gif";
            return Err(Problem::invalid(words));
        }
        let data = BASE64_STANDARD.decode(&self.data);
        let data = data.map_err(|_| Problem::invalid("the data of an image is base64"))?;
        if data.len() > MAX_IMAGE_BYTES {
            return Err(Problem::invalid("an image has at most 5,000,000 bytes"));
        }
        if image_type(&data) != Some(media_type) {
            return Err(Problem::invalid(format!("the data of an image is not {media_type}")));
        }
        Ok(Blob { media_type: media_type.to_owned(), data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_what_it_says() {
        let check = |media_type: &str, data: &[u8], expected: bool| {
            let data = BASE64_STANDARD.encode(data);
            let image = NewImage { media_type: media_type.to_owned(), data };
            assert_eq!(image.blob().is_ok(), expected, "{media_type}");
        };
        check("image/png", b"\x89PNG\r\n\x1a\nrest", true);
        check("image/jpeg", b"\xff\xd8\xff\xe0", true);
        check("image/jpeg", b"\x89PNG\r\n\x1a\n", false);
        check("image/webp", b"RIFF\x24\0\0\0WAVEfmt ", false);
        check("image/svg+xml", b"<svg/>", false);
        check("image/png", b"", false);
        check("image/png", &[0; MAX_IMAGE_BYTES + 1], false);
        let image = NewImage { media_type: "image/png".to_owned(), data: "no base64!".to_owned() };
        assert!(image.blob().is_err());
    }

    #[test]
    fn a_message_has_at_most_eight_images() {
        let data = BASE64_STANDARD.encode(b"GIF89a");
        let image = NewImage { media_type: "image/gif".to_owned(), data };
        assert_eq!(decode_images(&vec![image.clone(); IMAGES]).unwrap().len(), IMAGES);
        assert!(decode_images(&vec![image; IMAGES + 1]).is_err());
    }
}
