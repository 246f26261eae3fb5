//! Creates a backup.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, TableLike};
use toolcrib_core::{Clock as _, SystemClock};
use toolcrib_store::{Inspection, copy};

use super::archive::{self, Writer};
use super::manifest::{FORMAT, Manifest};
use super::members::{self, ARTIFACTS, DATABASE, EXTRA_FILES, FOLDERS, KEY_FILES, SEALED};
use crate::bootstrap;
use crate::command::config::is_secret;
use crate::config::{self, ConfigPaths, Env, KeyPath};
use crate::output::Failure;

/// Maximum depth of nested folders.
const DEPTH: usize = 16;

/// The result of a backup.
pub(crate) struct BackupReport {
    /// The manifest of the backup.
    pub(crate) manifest: Manifest,
    /// Remarks for the person.
    pub(crate) remarks: Vec<String>,
}

/// Creates a backup in a new file, or with `replace` instead of an existing one.
///
/// # Errors
/// A file that cannot be read or written; no new file exists in that case.
pub(crate) fn create(path: &Path, keys: bool, replace: bool) -> Result<BackupReport, Failure> {
    if !replace && path.symlink_metadata().is_ok() {
        return Err(Failure::usage(format!(
            "{} is there already; --force writes over it",
            path.display()
        )));
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    let partial = PathBuf::from(name);
    let taken = write(&partial, keys).and_then(|taken| {
        // Verify the file with the code that `restore` uses.
        let read = archive::read(&partial, None);
        let read = read
            .map_err(|error| Failure::run(format!("the backup cannot be read again: {error}")))?;
        if read != taken.manifest {
            return Err(Failure::run("the backup is not what was written: the disk is not sound"));
        }
        fs::rename(&partial, path).map_err(|error| unwritable(path, &error))?;
        Ok(taken)
    });
    if taken.is_err() {
        let _ = fs::remove_file(&partial);
    }
    taken
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::run(format!("{} cannot be written: {error}", path.display()))
}

fn write(partial: &Path, keys: bool) -> Result<BackupReport, Failure> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(partial);
    let mut writer = Writer::new(file.map_err(|error| unwritable(partial, &error))?);
    let mut remarks = Vec::new();
    let state = bootstrap::state_folder()?;
    let failed = |error: io::Error| Failure::run(format!("the backup failed: {error}"));
    for name in
        EXTRA_FILES.into_iter().chain([SEALED]).chain(KEY_FILES.into_iter().filter(|_| keys))
    {
        writer.add(&state.join(name), &format!("state/{name}")).map_err(failed)?;
    }
    let store = database(&mut writer, &state, &mut remarks)?;
    for name in FOLDERS {
        let to = format!("state/{name}");
        add_folder(&mut writer, &state.join(name), &to, &|_| true).map_err(failed)?;
    }
    let left_out = configuration(&mut writer, &state, keys, &mut remarks)?;
    let manifest = Manifest {
        format: FORMAT,
        toolcrib: env!("CARGO_PKG_VERSION").to_owned(),
        store,
        made_at: SystemClock.now_ms(),
        keys,
        left_out,
        files: Vec::new(),
    };
    let manifest = writer.finish(manifest).map_err(failed)?;
    Ok(BackupReport { manifest, remarks })
}

/// Adds the database in a consistent state, and then its artifacts: artifacts that are stored
/// meanwhile are unknown to the database, but none is missing.
fn database(
    writer: &mut Writer,
    state: &Path,
    remarks: &mut Vec<String>,
) -> Result<Option<i32>, Failure> {
    if bootstrap::is_shared()? {
        remarks.push(
            "the database is shared (TOOLCRIB_DATABASE_URL) and not in this backup; use pg_dump"
                .to_owned(),
        );
        return Ok(None);
    }
    let database = bootstrap::database_path()?;
    if !database.exists() {
        remarks.push("there is no database yet".to_owned());
        return Ok(None);
    }
    let failed = |error: io::Error| Failure::run(format!("the backup failed: {error}"));
    // Stage the copy beside the original, where there is space for it, and where no other user may
    // read it.
    let staged = tempfile::Builder::new().prefix(".backup-").tempdir_in(state).map_err(failed)?;
    let copied = staged.path().join(DATABASE);
    let store = |error: toolcrib_store::OpenError| Failure::run(error.to_string());
    copy(&database, &copied).map_err(store)?;
    let survey = Inspection::read(&copied).map_err(store)?;
    if let Some(problem) = survey.problems.first() {
        return Err(Failure::run(format!(
            "the database is damaged ({problem}), so its copy would be no backup; `toolcrib doctor` says more"
        )));
    }
    writer.add(&copied, &format!("state/{DATABASE}")).map_err(failed)?;
    let to = format!("state/{ARTIFACTS}");
    let is_whole = |name: &str| !name.starts_with("partial-");
    add_folder(writer, &state.join(ARTIFACTS), &to, &is_whole).map_err(failed)?;
    Ok(Some(survey.version))
}

/// Adds the person's configuration folder, without the state folder inside it and without keys;
/// returns the configuration keys that were left out.
fn configuration(
    writer: &mut Writer,
    state: &Path,
    keys: bool,
    remarks: &mut Vec<String>,
) -> Result<Vec<String>, Failure> {
    let failed = |error: io::Error| Failure::run(format!("the backup failed: {error}"));
    let env = Env::from_process();
    let user = ConfigPaths::locate(&env, None).user;
    let mut left_out = Vec::new();
    if let Some(path) = user.as_deref().filter(|path| path.exists()) {
        let text = config::read_file(path)
            .map_err(|error| Failure::run(format!("{} cannot be read: {error}", path.display())))?;
        let text = if keys { text } else { without_keys(&text, &mut left_out) };
        writer.add_text(text.as_bytes(), "config/config.toml").map_err(failed)?;
    }
    let Some(folder) = bootstrap::config_folder() else { return Ok(left_out) };
    // A broken configuration is also saved; its key files are then unknown.
    let key_files = match config::load(&env, None) {
        Ok(config) => config.key_files(&env),
        Err(failure) if !keys => return Err(failure),
        Err(_) => Vec::new(),
    };
    let same = |one: &Path, other: &Path| {
        one == other
            || one
                .canonicalize()
                .is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
    };
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let is_other = same(&path, state) || user.as_deref().is_some_and(|user| same(&path, user));
        let is_kept = members::is_config_name(&name);
        if is_other || name == "config.toml" {
            continue;
        }
        if !is_kept {
            remarks.push(format!("{} is not kept: it is none of ours", path.display()));
            continue;
        }
        let is_key = |path: &Path| !keys && key_files.iter().any(|key| same(key, path));
        let to = format!("config/{name}");
        if path.is_dir() {
            let wanted = |_: &str| true;
            add_folder_except(writer, &path, &to, &wanted, &is_key).map_err(failed)?;
        } else if !is_key(&path) {
            writer.add(&path, &to).map_err(failed)?;
        }
    }
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        remarks.push(format!("left out, because they hold keys: {names}"));
    }
    Ok(left_out)
}

/// Returns the text of a configuration without the values that are keys.
pub(super) fn without_keys(text: &str, left_out: &mut Vec<String>) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else {
        // A text that cannot be parsed may contain keys anywhere.
        left_out.push("everything: the file is not TOML".to_owned());
        return String::new();
    };
    strip(document.as_table_mut(), &KeyPath::default(), left_out);
    document.to_string()
}

fn strip(table: &mut dyn TableLike, at: &KeyPath, left_out: &mut Vec<String>) {
    let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        let key = KeyPath(at.0.iter().cloned().chain([name.clone()]).collect());
        let Some(item) = table.get_mut(&name) else { continue };
        match item.as_table_like_mut() {
            Some(inner) => strip(inner, &key, left_out),
            None if is_secret(&key) => {
                table.remove(&name);
                left_out.push(key.to_string());
            }
            None => strip_list(item, &key, left_out),
        }
    }
}

/// Removes keys from tables in lists.
fn strip_list(item: &mut Item, at: &KeyPath, left_out: &mut Vec<String>) {
    if let Some(tables) = item.as_array_of_tables_mut() {
        tables.iter_mut().for_each(|table| strip(table, at, left_out));
    }
}

fn add_folder(
    writer: &mut Writer,
    from: &Path,
    to: &str,
    is_wanted: &dyn Fn(&str) -> bool,
) -> io::Result<()> {
    add_folder_except(writer, from, to, is_wanted, &|_| false)
}

fn add_folder_except(
    writer: &mut Writer,
    from: &Path,
    to: &str,
    is_wanted: &dyn Fn(&str) -> bool,
    is_key: &dyn Fn(&Path) -> bool,
) -> io::Result<()> {
    let mut walk = Walk { writer, is_wanted, is_key, inside: HashSet::new() };
    walk.folder(from, to, DEPTH)
}

/// Adds a folder with its content, following links.
struct Walk<'a> {
    writer: &'a mut Writer,
    is_wanted: &'a dyn Fn(&str) -> bool,
    is_key: &'a dyn Fn(&Path) -> bool,
    /// The enclosing folders: a link to one of them would never end.
    inside: HashSet<PathBuf>,
}

impl Walk<'_> {
    fn folder(&mut self, from: &Path, to: &str, levels: usize) -> io::Result<()> {
        let Ok(real) = from.canonicalize() else { return Ok(()) };
        if levels == 0 || !self.inside.insert(real.clone()) {
            return Ok(());
        }
        let mut entries: Vec<_> = fs::read_dir(from)?.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (name, path) = (entry.file_name(), entry.path());
            let Some(name) = name.to_str().filter(|name| (self.is_wanted)(name)) else { continue };
            let to = format!("{to}/{name}");
            match fs::metadata(&path) {
                Ok(found) if found.is_dir() => self.folder(&path, &to, levels - 1)?,
                Ok(found) if found.is_file() && !(self.is_key)(&path) => {
                    self.writer.add(&path, &to)?;
                }
                // A socket, or a dangling link.
                _ => {}
            }
        }
        self.inside.remove(&real);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_the_configuration_are_left_out() {
        let text = "policy = \"auto\" # mine\n\n[providers.acme]\nkind = \"openai-compatible\"\nkey = \"sk-1\"\nheaders = { X-Team = \"blue\" }\n\n[providers.b]\nkey = { secret = \"ACME\" }\n\n[tools.x.config]\nPASS = \"p\"\nMAIL = { secret = \"MAIL\" }\n\n[[hooks]]\nevent = \"guard\"\ncommand = \"./x\"\n";
        let mut left_out = Vec::new();
        let kept = without_keys(text, &mut left_out);
        for secret in ["sk-1", "blue", "\"p\""] {
            assert!(!kept.contains(secret), "{kept}");
        }
        for other in ["policy = \"auto\" # mine", "kind", "\"ACME\"", "\"MAIL\"", "./x"] {
            assert!(kept.contains(other), "{other}: {kept}");
        }
        assert_eq!(
            left_out,
            ["providers.acme.key", "providers.acme.headers.X-Team", "tools.x.config.PASS"]
        );
        assert_eq!(without_keys("key = [", &mut left_out), "");
    }
}
