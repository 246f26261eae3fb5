//! What is signed: a request with its method, path, time, nonce and body; a response with its
//! status, the nonce of its request, and its body.

use ring::digest;

/// Header with the Unix time in seconds.
pub const TIMESTAMP_HEADER: &str = "x-toolcrib-timestamp";
/// Header with the nonce.
pub const NONCE_HEADER: &str = "x-toolcrib-nonce";
/// Header with the signature, in base64.
pub const SIGNATURE_HEADER: &str = "x-toolcrib-signature";
/// Maximum difference between the time of a request and the clock of its receiver, in seconds.
pub const SIGNATURE_WINDOW_S: i64 = 60;

/// First line of what a request signs; its version.
const REQUEST: &str = "toolcrib-request-v1";
/// First line of what a response signs. It differs, so that neither passes as the other.
const RESPONSE: &str = "toolcrib-response-v1";

/// A signed request of an app or device.
#[derive(Debug, Clone, Copy)]
pub struct InboundRequest<'a> {
    /// Method, such as `POST`.
    pub method: &'a str,
    /// Path and query, as sent.
    pub path: &'a str,
    /// Value of [`TIMESTAMP_HEADER`].
    pub timestamp: &'a str,
    /// Value of [`NONCE_HEADER`].
    pub nonce: &'a str,
    /// Value of [`SIGNATURE_HEADER`].
    pub signature: &'a str,
    /// The body.
    pub body: &'a [u8],
}

impl InboundRequest<'_> {
    /// Returns the signed text.
    pub(crate) fn message(&self) -> Vec<u8> {
        request_message(self.method, self.path, self.timestamp, self.nonce, self.body)
    }
}

/// Returns the text that a request signs.
pub(crate) fn request_message(
    method: &str,
    path: &str,
    timestamp: &str,
    nonce: &str,
    body: &[u8],
) -> Vec<u8> {
    [REQUEST, method, path, timestamp, nonce, &sha256_hex(body)].join("\n").into_bytes()
}

/// Returns the text that a response signs.
pub(crate) fn response_message(status: u16, nonce: &str, body: &[u8]) -> Vec<u8> {
    [RESPONSE, &status.to_string(), nonce, &sha256_hex(body)].join("\n").into_bytes()
}

/// Returns a SHA-256 in hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let hash = digest::digest(&digest::SHA256, bytes);
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signed_texts_are_those_of_the_documentation() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let request = request_message("GET", "/health", "1700000000", "abc", b"");
        let expected = format!("toolcrib-request-v1\nGET\n/health\n1700000000\nabc\n{empty}");
        assert_eq!(String::from_utf8(request).unwrap(), expected);
        let response = response_message(200, "abc", b"");
        let expected = format!("toolcrib-response-v1\n200\nabc\n{empty}");
        assert_eq!(String::from_utf8(response).unwrap(), expected);
    }
}
