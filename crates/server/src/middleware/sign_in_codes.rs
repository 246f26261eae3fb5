//! Codes with which a browser signs in: each is used once, within a minute.
//!
//! The address that `toolcrib open` gives to a browser has a code in its fragment. A browser keeps
//! addresses in its history, so a code must be worthless once the page has used it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_core::TokenHash;

use super::token_cache::Credential;
use super::token_format::{self, RandomUnavailable};

/// How long a code is valid: a browser that starts cold needs some seconds.
pub(crate) const CODE_LIFETIME: Duration = Duration::from_secs(60);
/// Codes that are valid at once; beyond that, the oldest is dropped.
const MAX_CODES: usize = 64;

/// Unused codes by their hash.
#[derive(Default)]
pub(crate) struct SignInCodes {
    by_hash: Mutex<HashMap<TokenHash, (Credential, Instant)>>,
}

impl SignInCodes {
    /// Makes a code for a session of this credential.
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

    /// The credential of a code, which is not valid any more afterwards.
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
