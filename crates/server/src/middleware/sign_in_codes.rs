//! Codes for signing in a browser: each is valid for one use within a minute.
//!
//! The address that `toolcrib open` passes to a browser contains a code in its fragment. A browser
//! keeps addresses in its history, so a code must be worthless once the page has used it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_core::TokenHash;

use super::token_cache::Credential;
use super::token_format::{self, RandomUnavailable};

/// Lifetime of a code: a browser needs some seconds for a cold start.
pub(crate) const CODE_LIFETIME: Duration = Duration::from_secs(60);
/// Maximum number of valid codes; beyond that, the oldest is removed.
const MAX_CODES: usize = 64;

/// Unused codes by their hash.
#[derive(Default)]
pub(crate) struct SignInCodes {
    by_hash: Mutex<HashMap<TokenHash, (Credential, Instant)>>,
}

impl SignInCodes {
    /// Creates a code for a session of this credential.
    pub(crate) fn make(&self, credential: Credential) -> Result<String, RandomUnavailable> {
        let code = token_format::random_base64::<32>()?;
        let mut codes = self.by_hash.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, (_, made)| made.elapsed() < CODE_LIFETIME);
        if codes.len() >= MAX_CODES {
            let oldest = codes.iter().min_by_key(|(_, (_, made))| *made);
            let oldest = oldest.map(|(hash, _)| hash.clone());
            oldest.and_then(|oldest| codes.remove(&oldest));
        }
        codes.insert(TokenHash::from_token(&code), (credential, Instant::now()));
        Ok(code)
    }

    /// Returns the credential of a code and invalidates the code.
    pub(crate) fn redeem(&self, code: &str) -> Option<Credential> {
        let mut codes = self.by_hash.lock().unwrap_or_else(PoisonError::into_inner);
        let (credential, made) = codes.remove(&TokenHash::from_token(code))?;
        (made.elapsed() < CODE_LIFETIME).then_some(credential)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_used_once_and_their_number_is_bounded() {
        let codes = SignInCodes::default();
        let first = codes.make(Credential::Machine).unwrap();
        assert_eq!(codes.redeem("x"), None);
        assert_eq!(codes.redeem(&first), Some(Credential::Machine));
        assert_eq!(codes.redeem(&first), None);
        let all: Vec<String> =
            (0..=MAX_CODES).map(|_| codes.make(Credential::Machine).unwrap()).collect();
        assert_eq!(codes.redeem(&all[0]), None);
        assert!(codes.redeem(&all[MAX_CODES]).is_some());
    }
}
