//! Restores a backup. All files are first read, checked and staged beside their destination;
//! existing data is moved aside, never deleted.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use toolcrib_store::{ExclusiveLock, Inspection, OpenError};

use super::manifest::Manifest;
use super::{archive, create, members};
use crate::bootstrap;
use crate::output::Failure;

/// The result of a restore.
pub(crate) struct RestoreReport {
    /// The manifest of the backup.
    pub(crate) manifest: Manifest,
    /// The new locations of the existing data.
    pub(crate) aside: Vec<PathBuf>,
    /// Remarks for the person.
    pub(crate) remarks: Vec<String>,
}

/// Restores a backup; with `force` even if there is existing data.
///
/// # Errors
/// Exit code 3 for an invalid backup, 2 if existing data is in the way, 1 while a daemon runs
/// there. Nothing is changed in these cases.
pub(crate) fn restore(path: &Path, force: bool) -> Result<RestoreReport, Failure> {
    let state = bootstrap::state_folder()?;
    let config = bootstrap::config_folder().ok_or_else(|| {
        Failure::configuration("there is no home folder; set TOOLCRIB_HOME to a folder")
    })?;
    let _alone = lock_database(&state)?;
    let parent = state.parent().unwrap_or(Path::new("/"));
    let failed = |error: io::Error| Failure::run(format!("the backup cannot be put back: {error}"));
    private_folder(parent).map_err(failed)?;
    // Stage on the same disk, so that a rename installs the data in one step.
    let staged = tempfile::Builder::new().prefix(".restore-").tempdir_in(parent).map_err(failed)?;
    let manifest = archive::read(path, Some(staged.path()))
        .map_err(|error| Failure::configuration(format!("{}: {error}", path.display())))?;
    check_members(path, &manifest, staged.path())?;
    let places = RestorePaths { state, config, staged: staged.path().to_owned() };
    places.check(&manifest)?;
    if !force {
        places.check_free()?;
    }
    let mut remarks = Vec::new();
    if !manifest.keys {
        places.keys(&mut remarks).map_err(failed)?;
    }
    if !manifest.left_out.is_empty() {
        let names = manifest.left_out.join(", ");
        remarks.push(format!("the backup was made without keys; set these again: {names}"));
    }
    let aside = places.install().map_err(failed)?;
    Ok(RestoreReport { manifest, aside, remarks })
}

/// Checks that the archive contains only the files that its manifest lists.
fn check_members(path: &Path, manifest: &Manifest, staged: &Path) -> Result<(), Failure> {
    let refuse = |what: &str| {
        let path = path.display();
        Err(Failure::configuration(format!("{path}: {what}; nothing was put back")))
    };
    if let Some(name) = members::foreign_member(manifest) {
        return refuse(&format!("it holds {name}, which its manifest does not announce"));
    }
    let config = staged.join("config/config.toml");
    if manifest.keys || !config.exists() {
        return Ok(());
    }
    let mut keys = Vec::new();
    create::without_keys(&fs::read_to_string(config)?, &mut keys);
    match keys.first() {
        None => Ok(()),
        Some(key) => refuse(&format!(
            "its configuration has the key {key}, and its manifest says that it has no keys"
        )),
    }
}

/// Locks the database, so that no daemon runs on it or starts.
fn lock_database(state: &Path) -> Result<ExclusiveLock, Failure> {
    ExclusiveLock::acquire(&state.join("toolcrib.db")).map_err(|error| match error {
        OpenError::InUse { pid, .. } => {
            let pid = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            Failure::run(format!("a daemon works there{pid}; end it with `toolcrib stop` first"))
        }
        error => Failure::run(error.to_string()),
    })
}

fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

struct RestorePaths {
    state: PathBuf,
    config: PathBuf,
    staged: PathBuf,
}

impl RestorePaths {
    /// Checks that this program can use the database.
    fn check(&self, manifest: &Manifest) -> Result<(), Failure> {
        let database = self.staged.join("state/toolcrib.db");
        if manifest.store.is_none() {
            return Ok(());
        }
        let survey = Inspection::read(&database).map_err(|error| {
            Failure::configuration(format!("the database of the backup: {error}"))
        })?;
        if survey.version > survey.known {
            return Err(Failure::configuration(format!(
                "the backup was made by Toolcrib {}, whose database this one ({}) does not know; use a newer Toolcrib",
                manifest.toolcrib,
                env!("CARGO_PKG_VERSION")
            )));
        }
        match survey.problems.first() {
            Some(problem) => Err(Failure::configuration(format!(
                "the database of the backup is damaged: {problem}"
            ))),
            None => Ok(()),
        }
    }

    /// Checks that there is no existing data.
    fn check_free(&self) -> Result<(), Failure> {
        let config = self.names()?.into_iter().map(|name| self.config.join(name));
        let database =
            [self.state.join("toolcrib.db"), self.state.join("vault"), self.state.join("audit")];
        match database.into_iter().chain(config).find(|path| path.symlink_metadata().is_ok()) {
            Some(path) => Err(Failure::usage(format!(
                "{} is there already; with --force it is moved aside",
                path.display()
            ))),
            None => Ok(()),
        }
    }

    /// Returns the names in the configuration folder that are restored.
    fn names(&self) -> Result<Vec<std::ffi::OsString>, Failure> {
        let entries = match fs::read_dir(self.staged.join("config")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let names: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.file_name())).collect();
        Ok(names?)
    }

    /// Keeps existing keys for a backup without keys, if they belong to it: it is then restored on
    /// the machine where it was created. Otherwise, the sealed files are stored aside, and the
    /// records that the old keys signed are verified with their public keys.
    fn keys(&self, remarks: &mut Vec<String>) -> io::Result<()> {
        let staged = self.staged.join("state");
        private_folder(&staged)?;
        for name in ["vault/secrets.key", "daemon/token"] {
            copy_if_missing(&self.state.join(name), &staged.join(name))?;
        }
        let sealed = staged.join("vault/secrets.json");
        if sealed.exists() && !staged.join("vault/secrets.key").exists() {
            private_folder(&staged.join("vault-without-key"))?;
            fs::rename(&sealed, staged.join("vault-without-key/secrets.json"))?;
            let place = self.state.join("vault-without-key/secrets.json");
            remarks.push(format!(
                "the secrets are sealed with a key that is not in the backup: move {} and its secrets.key into {}, or set them again with `toolcrib secret set`",
                place.display(),
                self.state.join("vault").display()
            ));
        }
        let public = staged.join("audit/audit-key.pub");
        if !public.exists() {
            return Ok(());
        }
        let own = self.state.join("audit/audit-key.pub");
        let is_own = fs::read(&own).ok() == Some(fs::read(&public)?);
        if is_own {
            copy_if_missing(
                &self.state.join("audit/audit-key.pk8"),
                &staged.join("audit/audit-key.pk8"),
            )?;
        }
        if !staged.join("audit/audit-key.pk8").exists() {
            let former = staged.join("audit/former-keys.pub");
            let mut keys = fs::read_to_string(&former).or_else(absent)?;
            keys.push_str(&fs::read_to_string(&public)?);
            if !keys.ends_with('\n') {
                keys.push('\n');
            }
            fs::write(&former, keys)?;
            fs::remove_file(&public)?;
        }
        Ok(())
    }

    /// Moves existing data aside, and the staged data to its destination.
    fn install(&self) -> io::Result<Vec<PathBuf>> {
        let mark = Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
        let mut aside = Vec::new();
        if self.staged.join("state").exists() {
            let is_empty = fs::read_dir(&self.state).is_ok_and(|mut entries| {
                entries.all(|entry| entry.is_ok_and(|entry| is_lock(&entry)))
            });
            let old = sibling_path(&self.state, &mark)?;
            if self.state.exists() {
                fs::rename(&self.state, &old)?;
            }
            fs::rename(self.staged.join("state"), &self.state).inspect_err(|_| {
                // Restore the former state.
                let _ = fs::rename(&old, &self.state);
            })?;
            if is_empty {
                let _ = fs::remove_dir_all(&old);
            } else if old.exists() {
                aside.push(old);
            }
        }
        let names = self.names().map_err(|failure| io::Error::other(failure.message))?;
        if names.is_empty() {
            return Ok(aside);
        }
        private_folder(&self.config)?;
        let old = sibling_path(&self.config.join("configuration"), &mark)?;
        for name in names {
            let place = self.config.join(&name);
            if place.symlink_metadata().is_ok() {
                private_folder(&old)?;
                fs::rename(&place, old.join(&name))?;
            }
            move_file(&self.staged.join("config").join(&name), &place)?;
        }
        if old.exists() {
            aside.push(old);
        }
        Ok(aside)
    }
}

/// Returns whether an entry is the lock that this command holds.
fn is_lock(entry: &fs::DirEntry) -> bool {
    entry.file_name() == "toolcrib.db.lock"
}

fn absent(error: io::Error) -> io::Result<String> {
    if error.kind() == io::ErrorKind::NotFound { Ok(String::new()) } else { Err(error) }
}

/// Returns a name that does not exist yet.
fn sibling_path(path: &Path, mark: &str) -> io::Result<PathBuf> {
    for at in 0..1000 {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".before-{mark}"));
        if at > 0 {
            name.push(format!("-{at}"));
        }
        let path = PathBuf::from(name);
        if path.symlink_metadata().is_err() {
            return Ok(path);
        }
    }
    Err(io::Error::other("too many old ones are beside it"))
}

/// Copies a file of the owner, if it exists and its destination does not.
fn copy_if_missing(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_file() || to.exists() {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        private_folder(parent)?;
    }
    fs::copy(from, to).map(drop)
}

/// Moves a file or folder, even to another disk.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => copy_all(from, to),
        done => done,
    }
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    private_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
