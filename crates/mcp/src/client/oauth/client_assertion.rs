//! Signed client assertions (RFC 7523 2.2, `private_key_jwt`).
#![deny(clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::json;

use super::AuthError;

/// Validity of an assertion in seconds.
const ASSERTION_TTL: u64 = 60;

enum Key {
    P256(EcdsaKeyPair),
    Rsa(RsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

fn no_key() -> AuthError {
    AuthError::Configuration(
        "its private_key is not a PKCS#8 key of P-256, RSA or Ed25519 in PEM form".to_owned(),
    )
}

impl Key {
    fn read(pem: &str, random: &SystemRandom) -> Result<Self, AuthError> {
        let inner = pem
            .split_once("-----BEGIN PRIVATE KEY-----")
            .and_then(|(_, rest)| rest.split_once("-----END PRIVATE KEY-----"));
        let (inner, _) = inner.ok_or_else(no_key)?;
        let packed: String = inner.split_ascii_whitespace().collect();
        let der = STANDARD.decode(packed).map_err(|_| no_key())?;
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, random) {
            return Ok(Self::P256(key));
        }
        if let Ok(key) = RsaKeyPair::from_pkcs8(&der) {
            return Ok(Self::Rsa(key));
        }
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map(Self::Ed25519).map_err(|_| no_key())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::P256(_) => "ES256",
            Self::Rsa(_) => "RS256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    fn sign(&self, message: &[u8], random: &SystemRandom) -> Result<Vec<u8>, AuthError> {
        let failed = |_| AuthError::Configuration("its private_key cannot sign".to_owned());
        match self {
            Self::P256(key) => Ok(key.sign(random, message).map_err(failed)?.as_ref().to_vec()),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
            Self::Ed25519(key) => Ok(key.sign(message).as_ref().to_vec()),
        }
    }
}

/// Creates a one-time assertion of `client` for the authorization server `audience`; `id` must be
/// unique, `now` is in seconds since 1970.
pub(super) fn client_assertion(
    pem: &str,
    client: &str,
    audience: &str,
    id: &str,
    now: u64,
) -> Result<String, AuthError> {
    let random = SystemRandom::new();
    let key = Key::read(pem, &random)?;
    let header = json!({"alg": key.algorithm(), "typ": "client-authentication+jwt"});
    let claims = json!({
        "iss": client, "sub": client, "aud": audience, "jti": id, "iat": now, "exp": now + ASSERTION_TTL,
    });
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(&header), part(&claims));
    let signature = key.sign(message.as_bytes(), &random)?;
    Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, KeyPair as _, UnparsedPublicKey};

    use super::*;

    fn pem(der: &[u8]) -> String {
        format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(der)
        )
    }

    #[test]
    fn a_statement_is_signed_with_the_key_that_is_given() {
        let random = SystemRandom::new();
        let alg = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let p256 = EcdsaKeyPair::generate_pkcs8(alg, &random).unwrap();
        let public = EcdsaKeyPair::from_pkcs8(alg, p256.as_ref(), &random).unwrap();
        let public =
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public.public_key().as_ref().to_vec());
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let ed_public = Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap();
        let ed_public = UnparsedPublicKey::new(&ED25519, ed_public.public_key().as_ref().to_vec());
        for (der, public, name) in
            [(p256.as_ref(), public, "ES256"), (ed.as_ref(), ed_public, "EdDSA")]
        {
            let text = client_assertion(&pem(der), "me", "https://l.org", "1", 5).unwrap();
            let (message, signature) = text.rsplit_once('.').unwrap();
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            public.verify(message.as_bytes(), &signature).unwrap();
            let (header, claims) = message.split_once('.').unwrap();
            let read = |part: &str| -> serde_json::Value {
                serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
            };
            assert_eq!(read(header)["alg"], name);
            let claims = read(claims);
            assert_eq!((&claims["iss"], &claims["sub"]), (&json!("me"), &json!("me")));
            assert_eq!((&claims["aud"], &claims["exp"]), (&json!("https://l.org"), &json!(65)));
        }
    }

    #[test]
    fn what_is_no_key_is_not_repeated() {
        for bad in
            ["", "secret words", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"]
        {
            let error = client_assertion(bad, "me", "a", "1", 0).unwrap_err();
            assert!(
                matches!(&error, AuthError::Configuration(words) if !words.contains("secret words"))
            );
        }
    }
}
