//! Changes a file and keeps the rest of it, including comments: the new text is parsed as a run
//! would parse it, and then atomically replaces the old one.

use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table, TableLike};
use toolcrib_app::LockedFile;

use crate::config::key_path::KeyPath;
use crate::config::loader;
use crate::output::Failure;

/// A file that is being changed, locked against other writers.
pub(crate) struct ConfigEditor {
    path: PathBuf,
    file: LockedFile,
    document: DocumentMut,
}

impl ConfigEditor {
    /// Opens a file and locks it against other writers; a missing file counts as empty. A link
    /// stays a link.
    ///
    /// # Errors
    /// A file that cannot be locked or read, or is not TOML.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // Lock before reading: otherwise, later changes of others would be lost.
        let file = LockedFile::wait(real).map_err(|error| unwritable(path, &error))?;
        let text = match loader::read_file(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                let what = format!("{} cannot be read: {error}", path.display());
                return Err(Failure::configuration(what));
            }
        };
        // Faults of the file are reported in the same words as everywhere else.
        loader::parse_alone(path, &text)?;
        let document = text
            .parse()
            .map_err(|_| Failure::configuration(format!("{} is not TOML", path.display())))?;
        Ok(Self { path: path.to_owned(), file, document })
    }

    /// Sets a value.
    ///
    /// # Errors
    /// A key whose parent is not a table.
    pub(crate) fn set(&mut self, key: &KeyPath, value: &toml::Value) -> Result<(), Failure> {
        let wrong =
            || Failure::usage(format!("{key} cannot be set here; edit {}", self.path.display()));
        let mut value: toml_edit::Value = value.to_string().parse().map_err(|_| wrong())?;
        let (last, tables) = key.0.split_last().ok_or_else(wrong)?;
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for part in tables {
            let fresh = || {
                let mut fresh = Table::new();
                // The table has no header until it has a value.
                fresh.set_implicit(true);
                Item::Table(fresh)
            };
            table =
                table.entry(part).or_insert_with(fresh).as_table_like_mut().ok_or_else(|| {
                    Failure::usage(format!("{key} cannot be set: {part} is not a section"))
                })?;
        }
        match table.get_mut(last).and_then(Item::as_value_mut) {
            Some(old) => {
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            None => {
                table.insert(last, Item::Value(value));
            }
        }
        Ok(())
    }

    /// Removes a key, and sections that are empty afterwards; returns `false` if it does not exist.
    pub(crate) fn unset(&mut self, key: &KeyPath) -> bool {
        remove(self.document.as_table_mut(), &key.parts())
    }

    /// Returns the texts of a list at the top of the file.
    pub(crate) fn list(&mut self, name: &str) -> &mut Array {
        let item = self.document.entry(name).or_insert_with(|| toml_edit::value(Array::new()));
        if !item.is_array() {
            *item = toml_edit::value(Array::new());
        }
        match item.as_array_mut() {
            Some(list) => list,
            None => unreachable!("it was made a list"),
        }
    }

    /// Replaces the file, if `check` accepts it.
    ///
    /// # Errors
    /// The error of `check`, or a file that cannot be written; the old one stays.
    pub(crate) fn store(
        self,
        check: impl FnOnce(&Path, &str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let text = self.document.to_string();
        check(&self.path, &text)?;
        self.file.replace(&text).map_err(|error| unwritable(&self.path, &error))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::run(format!("{} cannot be written: {error}", path.display()))
}

fn remove(table: &mut dyn TableLike, key: &[&str]) -> bool {
    match key {
        [] => false,
        [last] => table.remove(last).is_some(),
        [first, rest @ ..] => {
            let Some(inner) = table.get_mut(first).and_then(Item::as_table_like_mut) else {
                return false;
            };
            let is_gone = remove(inner, rest);
            if is_gone && inner.is_empty() {
                table.remove(first);
            }
            is_gone
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn changes_at_the_same_time_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/config.toml");
        std::thread::scope(|scope| {
            for at in 0..12 {
                let path = &path;
                scope.spawn(move || {
                    let mut edit = ConfigEditor::open(path).unwrap();
                    edit.set(&KeyPath::parse(&format!("tools.t{at}.ask")).unwrap(), &true.into())
                        .unwrap();
                    edit.store(|_, _| Ok(())).unwrap();
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches("ask = true").count(), 12, "{text}");
    }

    fn edited(text: &str, change: impl FnOnce(&mut ConfigEditor)) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, text).unwrap();
        let mut edit = ConfigEditor::open(&path).unwrap();
        change(&mut edit);
        edit.store(|_, _| Ok(())).unwrap();
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "nothing is left beside it");
        fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn the_rest_of_the_file_stays_as_it_is() {
        let set = |text: &str, key: &str, value: toml::Value| {
            edited(text, |edit| edit.set(&KeyPath::parse(key).unwrap(), &value).unwrap())
        };
        let text = "# mine\npolicy = \"auto\" # loose\n\n[limits]\ncalls = 5\n";
        assert_eq!(
            set(text, "policy", "locked".into()),
            "# mine\npolicy = \"locked\" # loose\n\n[limits]\ncalls = 5\n"
        );
        assert_eq!(set(text, "limits.rounds", 7.into()), format!("{text}rounds = 7\n"));
        let tool = set("", "tools.read_file.ask", true.into());
        assert_eq!(tool, "[tools.read_file]\nask = true\n");
        let inline = set("limits = { calls = 5 }\n", "limits.rounds", 7.into());
        assert_eq!(inline, "limits = { calls = 5 , rounds = 7 }\n");
        let quoted = set("", "models.\"a*\".window", 7.into());
        assert_eq!(quoted, "[models.\"a*\"]\nwindow = 7\n");
    }

    #[test]
    fn a_key_is_taken_out_with_what_is_empty_then() {
        let unset = |text: &str, key: &str| {
            edited(text, |edit| {
                edit.unset(&KeyPath::parse(key).unwrap());
            })
        };
        let text = "policy = \"auto\"\n\n[tools.a]\nask = true\n";
        assert_eq!(unset(text, "tools.a.ask"), "policy = \"auto\"\n");
        assert_eq!(unset(text, "policy"), "\n[tools.a]\nask = true\n");
        assert_eq!(unset(text, "tools.b.ask"), text);
    }

    #[test]
    fn what_does_not_pass_the_check_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "policy = \"auto\"\n").unwrap();
        let mut edit = ConfigEditor::open(&path).unwrap();
        edit.set(&KeyPath::parse("policy").unwrap(), &5.into()).unwrap();
        let failed = edit.store(|path, text| loader::parse(path, text).map(|_| ()));
        assert_eq!(failed.unwrap_err().code, 3);
        assert_eq!(fs::read_to_string(&path).unwrap(), "policy = \"auto\"\n");
        fs::write(&path, "polcy = 1\n").unwrap();
        assert!(ConfigEditor::open(&path).is_err(), "a broken file is not touched");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_is_for_its_owner_and_a_link_stays_one() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/config.toml");
        let mut edit = ConfigEditor::open(&path).unwrap();
        edit.list("trusted_workspaces").push("/w");
        edit.store(|_, _| Ok(())).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "trusted_workspaces = [\"/w\"]\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        let link = folder.path().join("link.toml");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let mut edit = ConfigEditor::open(&link).unwrap();
        edit.unset(&KeyPath::parse("trusted_workspaces").unwrap());
        edit.store(|_, _| Ok(())).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
