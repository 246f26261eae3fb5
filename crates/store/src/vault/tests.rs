//! Tests of the vault: round trips, refusals, and interrupted writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Barrier;

use super::*;

fn name(text: &str) -> SecretName {
    text.parse().unwrap()
}

fn secret(text: &str) -> Secret {
    Secret::new(text).ok().unwrap()
}

fn values(vault: &Vault) -> BTreeMap<String, String> {
    let all = vault.read().unwrap_or_else(|error| panic!("{error}"));
    all.iter().map(|(name, value)| (name.to_string(), value.expose().to_owned())).collect()
}

fn error<T>(result: Result<T, VaultError>) -> VaultError {
    result.err().expect("it is refused")
}

#[test]
fn secrets_are_kept_sealed_listed_replaced_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::in_folder(folder.path().join("state/vault"));
    assert!(vault.list().unwrap().is_empty() && vault.read().unwrap().is_empty());
    assert!(!vault.remove(&name("a")).unwrap());
    assert!(!vault.folder().exists(), "looking makes nothing");
    assert!(!vault.set(&name("b.KEY"), &secret("value-of-b\nline two"), 7).unwrap());
    assert!(!vault.set(&name("a"), &secret("value-of-a-1"), 8).unwrap());
    assert!(vault.set(&name("a"), &secret("value-of-a-2"), 9).unwrap());
    let listed = vault.list().unwrap();
    let listed: Vec<_> = listed.iter().map(|row| (row.name.as_str(), row.set_at)).collect();
    assert_eq!(listed, [("a", 9), ("b.KEY", 7)]);
    let all = values(&Vault::in_folder(vault.folder()));
    assert_eq!((&*all["a"], &*all["b.KEY"]), ("value-of-a-2", "value-of-b\nline two"));
    for file in fs::read_dir(vault.folder()).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("value-of"));
    }
    assert!(matches!(
        error(vault.set(&name("A"), &secret("value-of-a-3"), 10)),
        VaultError::NearlyThere { existing } if existing == "a"
    ));
    assert!(vault.remove(&name("a")).unwrap() && !vault.remove(&name("a")).unwrap());
    assert_eq!(values(&vault).len(), 1);
}

#[test]
fn rows_cannot_be_swapped_dated_or_changed() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::in_folder(folder.path().join("v"));
    vault.set(&name("one"), &secret("first value"), 1).unwrap();
    vault.set(&name("two"), &secret("second value"), 1).unwrap();
    let path = vault.file();
    let good = fs::read_to_string(&path).unwrap();
    let check = |bad: String, wanted: &str| {
        assert_ne!(bad, good);
        fs::write(&path, &bad).unwrap();
        let said = error(vault.read()).to_string();
        assert!(said.contains(wanted), "{wanted}: {said}");
        assert!(vault.set(&name("new"), &secret("a new value"), 2).is_err(), "{wanted}");
        assert!(vault.rotate().is_err(), "{wanted}");
        assert_eq!(fs::read_to_string(&path).unwrap(), bad, "left as it was");
    };
    let swapped = good.replace("\"one\"", "\"x\"").replace("\"two\"", "\"one\"");
    check(swapped.replace("\"x\"", "\"two\""), "does not open");
    check(good.replace("\"set_at\": 1", "\"set_at\": 2"), "does not open");
    check(good[..good.len() / 2].to_owned(), "damaged");
    check(good.replace("\"version\": 1", "\"version\": 2"), "update to use it");
    check(good.replace("\"sealed\"", "\"Sealed\""), "damaged");
    check(good.replace("\"one\"", "\"o n e\""), "damaged");
    fs::write(&path, &good).unwrap();
    assert_eq!(values(&vault).len(), 2);
}

#[test]
fn another_key_no_key_and_a_damaged_one_are_told_apart_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::in_folder(folder.path().join("v"));
    vault.set(&name("one"), &secret("first value"), 1).unwrap();
    let (key, file) = (fs::read(vault.key()).unwrap(), fs::read(vault.file()).unwrap());
    let refused = |wanted: &str| {
        for error in [
            error(vault.read()),
            error(vault.set(&name("two"), &secret("second value"), 2)),
            error(vault.rotate()),
        ] {
            assert!(error.to_string().contains(wanted), "{wanted}: {error}");
        }
        assert_eq!(fs::read(vault.file()).unwrap(), file);
        assert_eq!(vault.list().unwrap().len(), 1, "the names need no key");
    };
    fs::remove_file(vault.key()).unwrap();
    refused("secrets.json (1): put a copy of the key back");
    assert!(vault.seal("text").is_err() && !vault.key().exists());
    let other = Keys { current: Key::fresh().unwrap(), previous: None };
    private_files::write(&vault.key(), other.text().as_bytes()).unwrap();
    refused("the key beside it is another one");
    for damaged in [&b""[..], &key[..key.len() - 2], b"\xff\xfe"] {
        fs::write(vault.key(), damaged).unwrap();
        refused("secrets.key is damaged");
        assert_eq!(fs::read(vault.key()).unwrap(), damaged);
    }
    fs::write(vault.key(), &key).unwrap();
    assert_eq!(values(&vault)["one"], "first value");
    fs::remove_file(vault.key()).unwrap();
    assert!(vault.remove(&name("one")).unwrap(), "a lost secret can be removed");
    vault.set(&name("two"), &secret("second value"), 2).unwrap();
}

#[cfg(unix)]
#[test]
fn a_key_that_others_may_reach_is_refused_with_the_chmod() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::in_folder(folder.path().join("v"));
    vault.set(&name("one"), &secret("first value"), 1).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(vault.folder()), mode(&vault.key()), mode(&vault.file())),
        (0o700, 0o600, 0o600)
    );
    let check = |path: &Path, mode: u32, wanted: Option<&str>| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        match (vault.read(), wanted) {
            (Ok(_), None) => {}
            (Err(error @ VaultError::TooOpen { .. }), Some(wanted)) => {
                assert!(error.to_string().contains(wanted), "{error}");
            }
            (other, _) => panic!("{mode:o}: {:?}", other.err()),
        }
    };
    check(&vault.key(), 0o640, Some("chmod 600"));
    check(&vault.key(), 0o604, Some("chmod 600"));
    check(&vault.key(), 0o400, None);
    check(vault.folder(), 0o770, Some("chmod 700"));
    check(vault.folder(), 0o755, None);
}

#[test]
fn a_rotation_changes_the_key_and_keeps_everything_wherever_it_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::in_folder(folder.path().join("v"));
    assert_eq!(vault.rotate().unwrap(), 0);
    vault.set(&name("one"), &secret("first value"), 1).unwrap();
    vault.set(&name("two"), &secret("second value"), 2).unwrap();
    let sealed = vault.seal("waits").unwrap();
    let (key, file) = (fs::read(vault.key()).unwrap(), fs::read(vault.file()).unwrap());
    assert_eq!(vault.rotate().unwrap(), 2);
    assert_ne!(fs::read(vault.key()).unwrap(), key);
    let before = values(&vault);
    assert_eq!(before.len(), 2);
    assert_eq!(vault.list().unwrap()[1].set_at, 2);
    // Interrupted between the key and the file: the rows are still encrypted with the previous key.
    fs::write(vault.file(), &file).unwrap();
    assert_eq!(values(&vault), before);
    assert_eq!(vault.rotate().unwrap(), 2, "and the next rotation leaves none behind");
    assert_eq!(values(&vault), before);
    assert!(vault.open(&sealed).unwrap_err().0.contains("rotated away"));
    let sealed = vault.seal("waits").unwrap();
    vault.rotate().unwrap();
    assert_eq!(vault.open(&sealed).unwrap(), "waits");
}

#[test]
fn sealed_texts_open_again_and_only_whole() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::in_folder(folder.path().join("v"));
    assert!(vault.open("toolcrib-sealed-1.AAAA").is_err());
    let sealed = vault.seal("some text").unwrap();
    assert!(sealed.starts_with(SEALED) && sealed.is_ascii() && !sealed.contains("some"));
    assert_eq!(Vault::in_folder(vault.folder()).open(&sealed).unwrap(), "some text");
    assert_ne!(vault.seal("some text").unwrap(), sealed);
    for wrong in ["", "some text", SEALED, &sealed[..sealed.len() - 3], &format!("{sealed}AA")] {
        assert!(vault.open(wrong).is_err(), "{wrong}");
    }
    // A row of the file is not a sealed text, although the key is the same.
    vault.set(&name("one"), &secret("first value"), 1).unwrap();
    let row: serde_json::Value = serde_json::from_slice(&fs::read(vault.file()).unwrap()).unwrap();
    let bytes = |key: &str| {
        let text = row["secrets"]["one"][key].as_str().unwrap();
        base64::engine::general_purpose::STANDARD.decode(text).unwrap()
    };
    let forged = URL_SAFE_NO_PAD.encode([bytes("key"), bytes("sealed")].concat());
    assert!(vault.open(&format!("{SEALED}{forged}")).is_err());
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::in_folder(folder.path().join("v"));
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (vault, start) = (vault.clone(), &start);
            scope.spawn(move || {
                start.wait();
                let value = secret(&format!("value number {number}"));
                vault.set(&name(&format!("n{number}")), &value, number).unwrap();
                vault.seal("x").unwrap();
            });
        }
    });
    assert_eq!(values(&vault).len(), 8);
}
