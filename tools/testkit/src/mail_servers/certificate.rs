//! A certificate of a server on loopback.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Makes a certificate for 127.0.0.1 and its key in a folder; returns their paths.
///
/// # Panics
/// If `openssl` does not make one.
#[must_use]
pub fn certificate(folder: &Path) -> (PathBuf, PathBuf) {
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=mail"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&cert)
        .stderr(Stdio::null())
        .status();
    assert!(made.is_ok_and(|status| status.success()), "openssl made no certificate");
    (cert, key)
}
