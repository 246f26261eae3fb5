//! Verification of detached OpenPGP signatures, version 4 with RSA (RFC 4880 section 5.2.3), which
//! Alpine publishes next to its archives.
//!
//! The RSA arithmetic comes from ring, which TLS already uses. A complete OpenPGP library would add
//! about ninety crates and a second RSA implementation for this one kind of signature.
#![deny(clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents,
};

use super::release::Signer;

const BEGIN: &str = "-----BEGIN PGP SIGNATURE-----";
const END: &str = "-----END PGP SIGNATURE-----";

/// Maximum bytes of a signature file; a signature of 4096 bits has 833.
pub(super) const MOST_BYTES: usize = 16 * 1024;

/// Why a signature is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SignatureError {
    #[error("it is not an OpenPGP signature of a kind that is known")]
    Unreadable,
    #[error("its signature is not one of the release key")]
    Wrong,
}

/// Checks that one of the signatures in this text is by the signer and valid for the data.
pub(super) fn verify(data: &[u8], text: &[u8], signer: &Signer) -> Result<(), SignatureError> {
    let bytes = unarmored(text).ok_or(SignatureError::Unreadable)?;
    let key = (unhex(&signer.modulus), unhex(&signer.exponent));
    let (Some(modulus), Some(exponent)) = key else { return Err(SignatureError::Wrong) };
    let key = RsaPublicKeyComponents { n: modulus.as_slice(), e: exponent.as_slice() };
    let mut rest = bytes.as_slice();
    let mut found = SignatureError::Unreadable;
    while !rest.is_empty() {
        let (body, after) = packet(rest).ok_or(SignatureError::Unreadable)?;
        rest = after;
        let Some(signature) = Signature::read(body) else { continue };
        found = SignatureError::Wrong;
        let message = [data, &signature.trailer()].concat();
        let number = signature.padded(modulus.len());
        if key.verify(signature.hash, &message, &number).is_ok() {
            return Ok(());
        }
    }
    Err(found)
}

/// A parsed signature of a file.
struct Signature<'a> {
    hash: &'static RsaParameters,
    /// The part of the packet that is hashed.
    hashed: &'a [u8],
    number: &'a [u8],
}

impl<'a> Signature<'a> {
    /// Parses the body of a packet: version, type, algorithms, two lists of subpackets (the first
    /// one is hashed), two bytes of the hash for early rejection, and the signature value.
    fn read(body: &'a [u8]) -> Option<Self> {
        let [4, 0x00, 1 | 3, hash, ..] = body else { return None };
        let hash = match hash {
            8 => &RSA_PKCS1_2048_8192_SHA256,
            9 => &RSA_PKCS1_2048_8192_SHA384,
            10 => &RSA_PKCS1_2048_8192_SHA512,
            _ => return None,
        };
        let (_, rest) = body.split_at_checked(4)?;
        let (length, rest) = short(rest)?;
        let (hashed, _) = body.split_at_checked(6 + length)?;
        let (_, rest) = rest.split_at_checked(length)?;
        let (length, rest) = short(rest)?;
        let (_, rest) = rest.split_at_checked(length)?;
        let (_, rest) = short(rest)?;
        let (bits, rest) = short(rest)?;
        let (number, _) = rest.split_at_checked(bits.div_ceil(8))?;
        Some(Self { hash, hashed, number })
    }

    /// Returns the bytes hashed after the file.
    fn trailer(&self) -> Vec<u8> {
        let length = u32::try_from(self.hashed.len()).unwrap_or(u32::MAX);
        [self.hashed, &[4, 0xFF], &length.to_be_bytes()].concat()
    }

    /// Pads the signature value to the key's length.
    fn padded(&self, length: usize) -> Vec<u8> {
        let zeros = length.saturating_sub(self.number.len());
        [&vec![0; zeros], self.number].concat()
    }
}

fn short(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<2>()?;
    Some((usize::from(u16::from_be_bytes(*number)), rest))
}

/// Returns the body of the first packet, and the rest (RFC 4880 section 4.2).
fn packet(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (length, rest) = match (tag & 0xC0, tag & 0x03) {
        (0xC0, _) => {
            let (first, rest) = rest.split_first()?;
            match first {
                0..=191 => (usize::from(*first), rest),
                192..=223 => {
                    let (second, rest) = rest.split_first()?;
                    ((usize::from(*first) - 192) * 256 + usize::from(*second) + 192, rest)
                }
                255 => long(rest)?,
                _ => return None,
            }
        }
        (0x80, 0) => rest.split_first().map(|(length, rest)| (usize::from(*length), rest))?,
        (0x80, 1) => short(rest)?,
        (0x80, 2) => long(rest)?,
        _ => return None,
    };
    rest.split_at_checked(length)
}

fn long(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((usize::try_from(u32::from_be_bytes(*number)).ok()?, rest))
}

/// Decodes ASCII armor; data without armor is returned unchanged.
fn unarmored(text: &[u8]) -> Option<Vec<u8>> {
    if text.first().is_some_and(|byte| byte & 0x80 != 0) {
        return Some(text.to_vec());
    }
    let text = std::str::from_utf8(text).ok()?.replace('\r', "");
    let (_, inner) = text.split_once(BEGIN)?;
    let (inner, _) = inner.split_once(END)?;
    // Headers end with an empty line. The last line is a checksum, which is redundant with a
    // signature.
    let (_, lines) = inner.split_once("\n\n")?;
    let lines = lines.lines().take_while(|line| !line.starts_with('='));
    STANDARD.decode(lines.map(str::trim).collect::<String>()).ok()
}

/// Decodes hexadecimal digits.
pub(super) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
