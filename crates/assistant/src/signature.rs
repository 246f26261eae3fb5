//! Signatures of webhooks, sent and received: HMAC-SHA256 (RFC 2104) over the Unix time in seconds,
//! a dot, and the body. The signature covers the time, so that an old request cannot be sent again
//! with a new time.

use ring::hmac::{self, HMAC_SHA256, Key};

/// Header with the Unix time in seconds.
pub const TIMESTAMP_HEADER: &str = "X-Toolcrib-Timestamp";
/// Header with the signature.
pub const SIGNATURE_HEADER: &str = "X-Toolcrib-Signature";
/// Prefix of a signature.
const PREFIX: &str = "sha256=";

/// Signs a body at this time; the signature has its prefix.
#[must_use]
pub fn sign(key: &[u8], seconds: i64, body: &[u8]) -> String {
    let tag = hmac::sign(&Key::new(HMAC_SHA256, key), &signed(seconds, body));
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{PREFIX}{hex}")
}

/// Returns whether a signature belongs to this body at this time. The comparison takes the same
/// time for every wrong signature.
#[must_use]
pub fn is_valid(key: &[u8], seconds: i64, body: &[u8], signature: &str) -> bool {
    let hex = signature.trim().strip_prefix(PREFIX).unwrap_or_default();
    let Some(tag) = bytes_of(hex) else { return false };
    hmac::verify(&Key::new(HMAC_SHA256, key), &signed(seconds, body), &tag).is_ok()
}

/// Returns the signed bytes.
fn signed(seconds: i64, body: &[u8]) -> Vec<u8> {
    [seconds.to_string().as_bytes(), b".", body].concat()
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_its_key_time_and_body_only() {
        // `printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac key`
        let known = "sha256=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03";
        let made = sign(b"key", 1_700_000_000, br#"{"a":1}"#);
        assert_eq!(made, known);
        assert!(is_valid(b"key", 1_700_000_000, br#"{"a":1}"#, &made));
        for (key, seconds, body, signature) in [
            ("key", 1_700_000_001, r#"{"a":1}"#, made.as_str()),
            ("key", 1_700_000_000, r#"{"a":2}"#, made.as_str()),
            ("kex", 1_700_000_000, r#"{"a":1}"#, made.as_str()),
            ("key", 1_700_000_000, r#"{"a":1}"#, "sha256="),
            ("key", 1_700_000_000, r#"{"a":1}"#, "sha256=zz"),
            ("key", 1_700_000_000, r#"{"a":1}"#, ""),
        ] {
            assert!(!is_valid(key.as_bytes(), seconds, body.as_bytes(), signature), "{signature}");
        }
    }
}
