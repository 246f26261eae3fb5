//! Tests of signature verification, with GnuPG as the reference.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::*;
use crate::userland::release::Release;

/// Returns the fingerprint of a key (RFC 4880 section 12.2).
fn fingerprint(signer: &Signer) -> String {
    let number = |digits: &str| {
        let bytes = unhex(digits).unwrap();
        let bits = bytes.len() * 8 - bytes.first().map_or(0, |byte| byte.leading_zeros() as usize);
        [&u16::try_from(bits).unwrap().to_be_bytes()[..], &bytes].concat()
    };
    let body = [
        &[4][..],
        &signer.created.to_be_bytes(),
        &[1],
        &number(&signer.modulus),
        &number(&signer.exponent),
    ]
    .concat();
    let length = u16::try_from(body.len()).unwrap().to_be_bytes();
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[&[0x99][..], &length, &body].concat());
    hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect()
}

#[test]
fn the_key_of_the_release_is_the_one_that_alpine_names() {
    let signer = Release::pinned().signer.unwrap();
    assert_eq!(fingerprint(&signer), "0482D84022F52DF1C4E7CD43293ACD0907D9495A");
    assert_eq!(signer.fingerprint, fingerprint(&signer));
}

/// Creates a GnuPG home with a new key; returns the key.
fn gnupg(home: &Path, bits: &str) -> Option<Signer> {
    if Command::new("gpg").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("NOT TRIED: there is no gpg on this host");
        return None;
    }
    let made = gpg(home, &["--quick-gen-key", "Somebody <s@example.com>", bits, "sign", "never"]);
    assert!(made.0, "{}", String::from_utf8_lossy(&made.1));
    let key = gpg(home, &["--export"]).1;
    let (body, _) = packet(&key)?;
    let (created, numbers) = body.get(1..)?.split_first_chunk::<4>()?;
    let (bits, rest) = short(numbers.get(1..)?)?;
    let (modulus, rest) = rest.split_at_checked(bits.div_ceil(8))?;
    let (bits, rest) = short(rest)?;
    let (exponent, _) = rest.split_at_checked(bits.div_ceil(8))?;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut signer = Signer {
        fingerprint: String::new(),
        created: u32::from_be_bytes(*created),
        modulus: hex(modulus),
        exponent: hex(exponent),
    };
    signer.fingerprint = fingerprint(&signer);
    Some(signer)
}

fn gpg(home: &Path, args: &[&str]) -> (bool, Vec<u8>) {
    let output = Command::new("gpg")
        .args(["--batch", "--yes", "--passphrase", "", "--pinentry-mode", "loopback", "--homedir"])
        .arg(home)
        .args(args)
        .output()
        .unwrap();
    (output.status.success(), output.stdout)
}

#[test]
fn what_gnupg_signed_holds_and_nothing_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let Some(signer) = gnupg(home, "rsa2048") else { return };
    let listed = String::from_utf8(gpg(home, &["--list-keys"]).1).unwrap();
    assert!(listed.contains(&signer.fingerprint), "{listed}");
    let data = home.join("data");
    fs::write(&data, b"an archive").unwrap();
    let sign = |args: &[&str]| {
        let fixed = ["--output", "-", "--detach-sign"];
        let (_, signature) = gpg(home, &[args, &fixed, &[data.to_str().unwrap()]].concat());
        signature
    };
    for hash in ["SHA256", "SHA384", "SHA512"] {
        for armor in ["--armor", "--no-armor"] {
            let signature = sign(&[armor, "--digest-algo", hash]);
            let check = |data: &[u8]| verify(data, &signature, &signer);
            assert_eq!(check(b"an archive"), Ok(()), "{hash} {armor}");
            assert_eq!(check(b"an archivE"), Err(SignatureError::Wrong), "{hash} {armor}");
            let released = Release::pinned().signer.unwrap();
            assert_eq!(verify(b"an archive", &signature, &released), Err(SignatureError::Wrong));
        }
    }
    let weak = sign(&["--digest-algo", "SHA1", "--allow-weak-digest-algos"]);
    assert_eq!(verify(b"an archive", &weak, &signer), Err(SignatureError::Unreadable));
    let text = sign(&["--armor", "--textmode"]);
    assert!(verify(b"an archive", &text, &signer).is_err(), "it signs a text, not a file");
    // GnuPG's background processes keep the folder open.
    let _ = Command::new("gpgconf").arg("--homedir").arg(home).args(["--kill", "all"]).status();
}

#[test]
fn what_is_no_signature_is_refused() {
    let signer = Release::pinned().signer.unwrap();
    for text in [
        "",
        "<html>not found</html>",
        BEGIN,
        "-----BEGIN PGP SIGNATURE-----\n\n!!\n-----END PGP SIGNATURE-----",
    ] {
        assert_eq!(
            verify(b"data", text.as_bytes(), &signer),
            Err(SignatureError::Unreadable),
            "{text}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), first in 0x80u8..) {
        let signer = Release::pinned().signer.unwrap();
        prop_assert!(verify(b"data", &bytes, &signer).is_err());
        let packet = [&[first][..], &[4, 0, 1, 8], &bytes].concat();
        prop_assert!(verify(b"data", &packet, &signer).is_err());
    }
}
