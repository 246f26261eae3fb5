//! The format of a token: `tcb_`, 256 random bits, and a checksum, so that secret scanners
//! recognize a token and a typo is detected. As a pattern: `tcb_[A-Za-z0-9_-]{49}`.
#![deny(clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};

/// Prefix of every token.
const PREFIX: &str = "tcb_";
/// Number of characters of 256 bits in base64.
const BITS_CHARS: usize = 43;
/// Number of characters of the checksum: 32 bits in base64.
const CHECK_CHARS: usize = 6;

/// The system did not provide random bits.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the system provides no random bits")]
pub(crate) struct RandomUnavailable;

/// Generates a token.
pub(crate) fn generate() -> Result<String, RandomUnavailable> {
    let bits = random_base64::<32>()?;
    Ok(format!("{PREFIX}{bits}{}", checksum(&bits)))
}

/// Returns this many random bytes from the system, in base64.
pub(crate) fn random_base64<const BYTES: usize>() -> Result<String, RandomUnavailable> {
    let mut bytes = [0; BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| RandomUnavailable)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns whether a text has the format of a token. Other texts are refused without a lookup.
pub(crate) fn is_token(text: &str) -> bool {
    let Some((bits, check)) = text
        .strip_prefix(PREFIX)
        .filter(|rest| rest.len() == BITS_CHARS + CHECK_CHARS)
        .and_then(|rest| rest.split_at_checked(BITS_CHARS))
    else {
        return false;
    };
    check == checksum(bits)
}

/// Returns the first bits of the SHA-256 of the random part, in base64.
fn checksum(bits: &str) -> String {
    let hash = Sha256::digest(bits.as_bytes());
    let mut check = URL_SAFE_NO_PAD.encode(hash);
    check.truncate(CHECK_CHARS);
    check
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_token_is_recognized_and_a_typo_detected() {
        let token = generate().unwrap();
        assert!(is_token(&token), "{token}");
        assert_ne!(token, generate().unwrap());
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            assert!(!is_token(&String::from_utf8(bytes).unwrap()), "{at}");
        }
        for wrong in ["", "tcb_", "tcb", &token[..52], &format!("{token}A"), &format!(" {token}")] {
            assert!(!is_token(wrong), "{wrong:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn no_other_text_is_a_token(text in "(tcb_)?[A-Za-z0-9_\u{e9}-]{40,60}") {
            prop_assert!(!is_token(&text));
        }
    }
}
