//! Putting a backup back. Everything is read, checked and laid out beside its place first; what is
//! there is moved aside, never deleted.

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

/// A backup that was put back.
pub(crate) struct RestoreReport {
    /// What it says of itself.
    pub(crate) manifest: Manifest,
    /// Where what was there before is now.
    pub(crate) aside: Vec<PathBuf>,
    /// What people should know of it.
    pub(crate) remarks: Vec<String>,
}

/// Puts a backup back; with `force` also where something is.
///
/// # Errors
/// Exit code 3 for what is no sound backup, 2 where something is in its way, 1 while a daemon works
/// there. Then everything is as it was.
pub(crate) fn restore(path: &Path, force: bool) -> Result<RestoreReport, Failure> {
    let state = bootstrap::state_folder()?;
    let config = bootstrap::config_folder().ok_or_else(|| {
        Failure::configuration("there is no home folder; set TOOLCRIB_HOME to a folder")
    })?;
    let _alone = lock_database(&state)?;
    let parent = state.parent().unwrap_or(Path::new("/"));
    let failed = |error: io::Error| Failure::run(format!("the backup cannot be put back: {error}"));
    private_folder(parent).map_err(failed)?;
    // On the same disk, so that it is moved into its place in one step.
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

/// The archive has nothing but what its manifest announces.
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

/// No daemon works on the database, and none begins to.
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
    /// The database can be used by this program.
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

    /// Nothing is there that is moved aside.
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

    /// What of the configuration folder is put back.
    fn names(&self) -> Result<Vec<std::ffi::OsString>, Failure> {
        let entries = match fs::read_dir(self.staged.join("config")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let names: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.file_name())).collect();
        Ok(names?)
    }

    /// A backup without keys takes those that are here, if they are: it is put back where it was
    /// made. Otherwise what is sealed with them is laid beside, and the records that they signed
    /// are verified with their public half.
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

    /// Moves what is there aside, and what is staged into its place.
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
                // As it was.
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

/// The lock that this very command holds.
fn is_lock(entry: &fs::DirEntry) -> bool {
    entry.file_name() == "toolcrib.db.lock"
}

fn absent(error: io::Error) -> io::Result<String> {
    if error.kind() == io::ErrorKind::NotFound { Ok(String::new()) } else { Err(error) }
}

/// A name that nothing has yet.
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

/// Copies a file of the owner's, if it is there and nothing is in its place.
fn copy_if_missing(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_file() || to.exists() {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        private_folder(parent)?;
    }
    fs::copy(from, to).map(drop)
}

/// Moves a file or folder, also to another disk.
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
