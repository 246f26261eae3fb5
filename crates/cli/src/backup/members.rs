//! The files of a backup: those that are saved, and those that are restored from an archive that
//! others may have written.

use super::manifest::Manifest;

/// Name of the database in the state folder.
pub(super) const DATABASE: &str = "toolcrib.db";
/// The folder of the database's artifacts in the state folder.
pub(super) const ARTIFACTS: &str = "toolcrib.db.artifacts";
/// Folders of the state folder that are saved, besides the database and its artifacts.
pub(super) const FOLDERS: [&str; 1] = ["undo"];
/// Files of the state folder that are saved. The anchors precede the database, because they must
/// not be ahead of its records.
pub(super) const EXTRA_FILES: [&str; 5] = [
    "audit/anchors.jsonl",
    "audit/audit-key.pub",
    "audit/former-keys.pub",
    "audit/other-keys.pub",
    "STOP",
];
/// Sealed secrets, which cannot be read without the key.
pub(super) const SEALED: &str = "vault/secrets.json";
/// Files that contain keys.
pub(super) const KEY_FILES: [&str; 3] =
    ["vault/secrets.key", "audit/audit-key.pk8", "daemon/token"];
/// Folders of the configuration folder that are saved.
const CONFIG_FOLDERS: [&str; 5] = ["tools", "agents", "skills", "kits", "guides"];

/// Returns whether a file or folder with this name, directly in the configuration folder, is saved.
pub(super) fn is_config_name(name: &str) -> bool {
    CONFIG_FOLDERS.contains(&name) || name.ends_with(".toml") || name.ends_with(".md")
}

/// Returns the first file that a backup with this manifest must not contain: a key in a backup
/// without keys, a database in a backup without one, or any other file, such as a write-ahead log
/// that would change the database.
pub(super) fn foreign_member(manifest: &Manifest) -> Option<&str> {
    let paths = manifest.files.iter().map(|file| file.path.as_str());
    paths.into_iter().find(|path| !is_member(manifest, path))
}

fn is_member(manifest: &Manifest, path: &str) -> bool {
    let within = |folder: &str, rest: &str| {
        rest.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    if let Some(name) = path.strip_prefix("state/") {
        let is_stored = name == DATABASE || within(ARTIFACTS, name);
        return (is_stored && manifest.store.is_some())
            || (KEY_FILES.contains(&name) && manifest.keys)
            || name == SEALED
            || EXTRA_FILES.contains(&name)
            || FOLDERS.iter().any(|folder| within(folder, name));
    }
    let name = path.strip_prefix("config/").unwrap_or_default();
    name.split('/').next().is_some_and(is_config_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::manifest::{Entry, FORMAT};

    #[test]
    fn only_what_the_manifest_announces_is_a_member() {
        let check = |path: &str, keys: bool, store: Option<i32>, expected: bool| {
            let manifest = Manifest {
                format: FORMAT,
                toolcrib: "0.1.0".to_owned(),
                store,
                made_at: 0,
                keys,
                left_out: Vec::new(),
                files: vec![Entry { path: path.to_owned(), bytes: 0, sha256: String::new() }],
            };
            assert_eq!(foreign_member(&manifest).is_none(), expected, "{path} {keys} {store:?}");
        };
        for key in KEY_FILES {
            check(&format!("state/{key}"), false, Some(7), false);
            check(&format!("state/{key}"), true, Some(7), true);
        }
        for path in ["state/toolcrib.db", "state/toolcrib.db.artifacts/ab/cd"] {
            check(path, false, Some(7), true);
            check(path, false, None, false);
        }
        for path in ["state/vault/secrets.json", "state/undo/1/a", "config/agents/x.md"] {
            check(path, false, None, true);
        }
        for path in ["state/toolcrib.db-wal", "state/undo", "config/.ssh/id", "state/daemon/socket"]
        {
            check(path, true, Some(7), false);
        }
    }
}
