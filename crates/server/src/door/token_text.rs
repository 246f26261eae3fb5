//! What a token looks like: `tcb_`, 256 random bits, and a checksum, so that scanners of secrets know one when they see it and a slip of the
//! pen is no try. As a pattern: `tcb_[A-Za-z0-9_-]{49}`.
#![deny(clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};

/// What every token begins with.
const PREFIX: &str = "tcb_";
/// Characters of 256 bits in base64.
const BITS_CHARS: usize = 43;
/// Characters of the checksum: 32 bits in base64.
const CHECK_CHARS: usize = 6;

/// The system gives no random bits.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the system gives no random bits")]
pub(crate) struct NoRandom;

/// A new token.
pub(crate) fn fresh() -> Result<String, NoRandom> {
    let bits = random::<32>()?;
    Ok(format!("{PREFIX}{bits}{}", check_of(&bits)))
}

/// This many random bytes from the system, as text.
pub(crate) fn random<const BYTES: usize>() -> Result<String, NoRandom> {
    let mut bytes = [0; BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandom)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Whether a text is a token, of whomever. What is none is refused without being looked for.
pub(crate) fn is_token(text: &str) -> bool {
    let Some((bits, check)) = text
        .strip_prefix(PREFIX)
        .filter(|rest| rest.len() == BITS_CHARS + CHECK_CHARS)
        .and_then(|rest| rest.split_at_checked(BITS_CHARS))
    else {
        return false;
    };
    check == check_of(bits)
}

/// The first 32 bits of the SHA-256 of what stands before.
fn check_of(bits: &str) -> String {
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
    fn a_token_is_known_and_a_slip_in_it_too() {
        let token = fresh().unwrap();
        assert!(is_token(&token), "{token}");
        assert_ne!(token, fresh().unwrap());
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
        fn no_other_text_is_one(text in "(tcb_)?[A-Za-z0-9_\u{e9}-]{40,60}") {
            prop_assert!(!is_token(&text));
        }
    }
}
