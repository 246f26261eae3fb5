//! `toolcrib audit export --bundle`: both verifiers accept a bundle, and both detect each kind of
//! edit.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{TestEnv, json as parsed};

/// An environment with two calls, a rule, and a bundle of them in the workspace.
struct Bundled {
    env: TestEnv,
    files: Vec<(String, String)>,
}

impl Bundled {
    fn new() -> Self {
        let env = TestEnv::new();
        env.run(&["rules", "add", "deny", "Bash(scp:*)", "--reason", "nothing is sent"]).code(0);
        env.write("old.txt", "old");
        let (_, code) = env.call("delete_file", &json!({"path": "old.txt"}), &["--policy", "auto"]);
        assert_eq!(code, 0);
        let (_, code) = env.call("read_file", &json!({"path": "notes.md"}), &[]);
        assert_eq!(code, 0);
        env.run(&["audit", "export", "--bundle", "audit.tar"]).code(0).says(&["records to"]);
        let mut archive = tar::Archive::new(fs::File::open(env.root().join("audit.tar")).unwrap());
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().to_str().unwrap().to_owned();
            let mut text = String::new();
            std::io::Read::read_to_string(&mut entry, &mut text).unwrap();
            (path, text)
        });
        Self { files: entries.collect(), env }
    }

    fn key(&self) -> PathBuf {
        self.env.outside().join("home/state/audit/audit-key.pub")
    }

    /// Returns the path of the only file that contains these words.
    fn holding(&self, folder: &str, words: &str) -> &str {
        let fits =
            |(path, text): &&(String, String)| path.starts_with(folder) && text.contains(words);
        &self.files.iter().find(fits).unwrap_or_else(|| panic!("{words} in {folder}")).0
    }

    /// Verifies a bundle of these files with both verifiers; returns their exit codes and findings.
    fn verify(&self, files: &[(String, String)], with_key: bool) -> ([i32; 2], String) {
        let path = self.env.root().join("edited.tar");
        let mut tar = tar::Builder::new(fs::File::create(&path).unwrap());
        for (path, text) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        tar.finish().unwrap();
        self.verify_file("edited.tar", with_key)
    }

    fn verify_file(&self, file: &str, with_key: bool) -> ([i32; 2], String) {
        let key = self.key();
        let with: &[&str] = if with_key { &["--key", key.to_str().unwrap()] } else { &[] };
        let ended =
            self.env.run(&[&["audit", "verify", "--json", "--bundle", file], with].concat());
        // The folder has only the verifier and the bundle: Toolcrib is not available.
        let script = self.env.root().join("verify.py");
        fs::write(&script, &self.files.iter().find(|(path, _)| path == "verify.py").unwrap().1)
            .unwrap();
        let other = Command::new("python3")
            .arg("-I")
            .arg(script)
            .arg(self.env.root().join(file))
            .args(with)
            .output()
            .expect("the verifier of bundles needs python3");
        let said = String::from_utf8_lossy(&other.stdout).into_owned();
        let codes = [ended.code, other.status.code().unwrap()];
        (codes, format!("{}\n{said}{}", ended.stdout, String::from_utf8_lossy(&other.stderr)))
    }
}

/// Recomputes the list of checksums, as an attacker would.
fn with_new_sums(files: &[(String, String)]) -> Vec<(String, String)> {
    let mut sums = String::new();
    for (path, text) in files.iter().filter(|(path, _)| !path.starts_with("SHA256SUMS")) {
        let digest: String =
            Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        sums += &format!("{digest}  {path}\n");
    }
    let mut files = files.to_vec();
    for (path, text) in &mut files {
        if path == "SHA256SUMS" {
            text.clone_from(&sums);
        }
    }
    files
}

fn edit(
    files: &[(String, String)],
    path: &str,
    change: impl Fn(&str) -> String,
) -> Vec<(String, String)> {
    let mut files = files.to_vec();
    let (_, text) = files.iter_mut().find(|(own, _)| own == path).unwrap();
    let changed = change(text);
    assert_ne!(changed, *text, "{path} is not changed");
    *text = changed;
    files
}

#[test]
fn a_bundle_is_proven_by_both_verifiers() {
    let bundled = Bundled::new();
    for with_key in [true, false] {
        let (codes, said) = bundled.verify_file("audit.tar", with_key);
        assert_eq!(codes, [0, 0], "{said}");
    }
    let (codes, said) = bundled.verify(&bundled.files, true);
    assert_eq!(codes, [0, 0], "equal files in another archive: {said}");
    let text = bundled.env.run(&["audit", "verify", "--bundle", "audit.tar"]).code(0).stdout;
    assert!(text.contains("compare them with a copy") && text.ends_with("sound\n"), "{text}");
    assert!(bundled.holding("rules/", "nothing is sent").ends_with(".json"));
    let used = bundled.env.run(&["audit", "tail", "--json", "-n", "50"]).code(0).stdout;
    let records = crate::support::lines(&used);
    let hashes = records.iter().filter_map(|row| row["record"]["definition_hash"].as_str());
    for hash in hashes {
        let path = format!("tools/{hash}.json");
        assert!(bundled.files.iter().any(|(own, _)| *own == path), "{path}");
    }
}

#[test]
fn a_bundle_of_the_same_audit_has_the_same_bytes() {
    let bundled = Bundled::new();
    bundled.env.run(&["audit", "export", "--bundle", "again.tar", "--json"]).code(0);
    let read = |name: &str| fs::read(bundled.env.root().join(name)).unwrap();
    assert_eq!(read("audit.tar"), read("again.tar"));
}

#[test]
fn nothing_secret_is_in_a_bundle() {
    let bundled = Bundled::new();
    let key = fs::read(bundled.env.outside().join("home/state/audit/audit-key.pk8")).unwrap();
    let bytes = fs::read(bundled.env.root().join("audit.tar")).unwrap();
    // The seed of the private key, in PKCS#8 after 16 bytes of header (RFC 8410).
    let seed = &key[16..48];
    assert!(!bytes.windows(seed.len()).any(|window| window == seed));
    let env = &bundled.env;
    env.feed(&["secret", "set", "shop"], "hunter2-hunter2").code(0);
    env.run(&["rules", "add", "deny", "Bash(curl hunter2-hunter2)"]).code(0);
    env.run(&["audit", "export", "--bundle", "audit.tar"]).code(0);
    let bytes = fs::read(env.root().join("audit.tar")).unwrap();
    assert!(!bytes.windows(15).any(|window| window == b"hunter2-hunter2"));
    assert_eq!(bundled.verify_file("audit.tar", true).0, [0, 0]);
}

#[test]
fn both_verifiers_find_each_kind_of_edit() {
    let bundled = Bundled::new();
    let all = &bundled.files;
    let records = bundled.holding("audit/", "\"record\"").to_owned();
    let checkpoints = bundled.holding("audit/", "\"checkpoint\"").to_owned();
    let rule = bundled.holding("rules/", "nothing is sent").to_owned();
    let tool = bundled.holding("tools/", "\"delete_file\"").to_owned();
    let without = |path: &str| -> Vec<(String, String)> {
        all.iter().filter(|(own, _)| own != path).cloned().collect()
    };
    let flip = |text: &str, after: &str| {
        let at = text.find(after).unwrap() + after.len();
        let digit = if &text[at..=at] == "0" { "1" } else { "0" };
        format!("{}{digit}{}", &text[..at], &text[at + 1..])
    };
    let edits: Vec<(&str, Vec<(String, String)>)> = vec![
        ("a record", edit(all, &records, |text| text.replace("read_file", "real_file"))),
        ("a hash", edit(all, &records, |text| flip(text, "\"hash\":\""))),
        (
            "a removed record",
            edit(all, &records, |text| {
                text.lines().skip(1).map(|line| line.to_owned() + "\n").collect()
            }),
        ),
        (
            "the newest record",
            edit(all, &records, |text| {
                let lines: Vec<&str> = text.lines().collect();
                let last = lines.iter().rposition(|line| line.contains("\"record\"")).unwrap();
                let kept = lines.iter().enumerate().filter(|(at, _)| *at != last);
                kept.map(|(_, line)| (*line).to_owned() + "\n").collect()
            }),
        ),
        ("a checkpoint", edit(all, &checkpoints, |text| flip(text, "\"head\":\""))),
        ("a signature", edit(all, &checkpoints, |text| flip(text, "\"signature\":\""))),
        (
            "a removed checkpoint",
            edit(all, &checkpoints, |text| {
                let kept = text.lines().filter(|line| !line.contains("\"checkpoint\""));
                kept.map(|line| line.to_owned() + "\n").collect()
            }),
        ),
        ("a key", edit(all, "keys.pub", |text| flip(text, ""))),
        ("an anchor", edit(all, "anchors.jsonl", |text| flip(text, "\"head\":\""))),
        ("the text of a rule", edit(all, &rule, |text| text.replace("scp:", "sftp:"))),
        ("a definition", edit(all, &tool, |text| text.replace("delete", "remove"))),
        ("a removed rule", without(&rule)),
        ("the removed audit", without(&records)),
        ("an added file", [all.clone(), vec![("rules/x.json".into(), "{}".into())]].concat()),
    ];
    for (what, files) in edits {
        // An attacker can recompute the list of checksums, but cannot sign it.
        for (files, with_key) in [(with_new_sums(&files), true), (files, false)] {
            let (codes, said) = bundled.verify(&files, with_key);
            assert_eq!(codes, [1, 1], "{what}, {with_key}: {said}");
        }
    }
    let manifest = edit(all, "SHA256SUMS", |text| flip(text, ""));
    let signature = edit(all, "SHA256SUMS.sig", |text| flip(text, " "));
    for files in [manifest, signature, without("SHA256SUMS"), without("SHA256SUMS.sig")] {
        let (codes, said) = bundled.verify(&files, true);
        assert_eq!(codes, [1, 1], "{said}");
    }
}

#[test]
fn a_bundle_that_another_key_signed_needs_a_key_from_elsewhere() {
    let (bundled, other) = (Bundled::new(), Bundled::new());
    fs::copy(other.env.root().join("audit.tar"), bundled.env.root().join("other.tar")).unwrap();
    assert_eq!(bundled.verify_file("other.tar", false).0, [0, 0], "it is consistent");
    let (codes, said) = bundled.verify_file("other.tar", true);
    assert_eq!(codes, [1, 1], "{said}");
    assert!(said.contains("forged_checkpoint") && said.contains("manifest"), "{said}");
}

#[test]
fn what_is_no_bundle_is_said() {
    let env = TestEnv::new();
    env.run(&["audit", "verify", "--bundle", "none.tar"]).code(3).says(&["none.tar"]);
    let text = env.run(&["audit", "verify", "--bundle", "notes.md"]);
    assert_ne!(text.code, 0, "{text:?}");
    // Without records, an empty bundle is valid.
    env.run(&["audit", "export", "--bundle", "empty.tar"]).code(0);
    let found: Value =
        parsed(&env.run(&["audit", "verify", "--json", "--bundle", "empty.tar"]).code(0).stdout);
    assert_eq!((&found["sound"], &found["bundle"]["chains"]), (&json!(true), &json!([])));
    env.run(&["audit", "export", "--bundle", "a.tar", "--since", "3"]).code(2);
}
