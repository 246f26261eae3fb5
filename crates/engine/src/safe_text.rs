//! Prepares short texts that are not results for a model: masked, sanitized, bounded.

use toolcrib_core::{Obstacle, ToolError, defaults};
use toolcrib_sanitizer::{sanitize, truncate};

use crate::secrets::Secrets;

/// Masks, sanitizes and shortens the texts of an error, which may repeat a file name, a header or a
/// secret from outside.
pub(crate) fn sanitize_error(secrets: &Secrets, mut error: ToolError) -> ToolError {
    error.message = sanitize_text(secrets, error.message);
    error.detail = error.detail.map(|detail| sanitize_text(secrets, detail));
    error.for_people = error.for_people.map(|text| sanitize_text(secrets, text));
    if let Some(Obstacle::Address { target }) = error.obstacle.as_deref_mut() {
        *target = sanitize_text(secrets, std::mem::take(target));
    }
    error
}

pub(crate) fn sanitize_text(secrets: &Secrets, text: String) -> String {
    let masked = secrets.mask(text);
    let harmless = sanitize(&masked, "text/plain").text;
    // Decoding may have revealed a secret that could not be seen before.
    let harmless = secrets.mask(harmless.into_owned());
    truncate(&harmless, defaults::ERROR_CHARS).text.into_owned()
}
