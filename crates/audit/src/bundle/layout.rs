//! Names of the files in a bundle, and the content that its signature covers.

/// Text for people: purpose of the bundle, and how to verify it.
pub(super) const README: &str = "README.txt";
/// The verifier, which needs no part of Toolcrib.
pub(super) const VERIFIER: &str = "verify.py";
/// Public keys, one per line.
pub(super) const KEYS: &str = "keys.pub";
/// Checkpoints from outside the database, as JSON lines.
pub(super) const ANCHORS: &str = "anchors.jsonl";
/// Folder of the rules in force, named by the SHA-256 of their text.
pub(super) const RULES: &str = "rules/";
/// Folder of the tool definitions in force, named by their definition hash, to which records refer.
pub(super) const TOOLS: &str = "tools/";
/// Folder of the export, in parts: concatenated in the order of their names, they are one export.
pub(super) const RECORDS: &str = "audit/";
/// The list of SHA-256 sums, in the format of `sha256sum`.
pub(super) const MANIFEST: &str = "SHA256SUMS";
/// A public key and its signature of the list, separated by a space.
pub(super) const SIGNATURE: &str = "SHA256SUMS.sig";

/// Text of [`README`].
pub(super) const README_TEXT: &str = "\
This is an audit bundle of Toolcrib. It proves itself without Toolcrib:

    python3 verify.py BUNDLE.tar --key audit-key.pub

Take audit-key.pub from the operator of the machine, not from this bundle. verify.py says at its
top what it verifies; read it, it is one file.

audit/          the records and checkpoints, as JSON lines
keys.pub        the public keys that signed, as the exporting machine knows them
anchors.jsonl   checkpoints that were kept outside the database
rules/          the rules in force at the export, named by the SHA-256 of their text
tools/          the tool definitions in force at the export, named by the `definition_hash` that
                records name
SHA256SUMS      the SHA-256 of each file; `sha256sum -c SHA256SUMS` in the unpacked folder
SHA256SUMS.sig  a public key, and its Ed25519 signature of the line `toolcrib audit bundle 1`
                followed by SHA256SUMS
";

/// Returns the signed bytes.
pub(super) fn signing_payload(manifest: &[u8]) -> Vec<u8> {
    [b"toolcrib audit bundle 1\n", manifest].concat()
}

/// Returns the digest in the name of a rule file or tool definition; `None` for other files.
pub(super) fn named_digest(path: &str) -> Option<&str> {
    let name = path.strip_prefix(RULES).or_else(|| path.strip_prefix(TOOLS))?;
    Some(name.strip_suffix(".json").unwrap_or(name))
}
