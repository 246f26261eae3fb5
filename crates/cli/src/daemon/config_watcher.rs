//! Watches the files of a daemon's configuration, and reloads them without a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use tokio::sync::Notify;
use toolcrib_server::FolderWatcher;

use super::server_host::CliHost;
use crate::clap_args::WorkspaceArgs;
use crate::config::{self, Config, ConfigPaths, Env};
use crate::output::Failure;
use crate::{bootstrap, rule_layers};

/// Shortest time between two checks of the files. With [`SETTLE`] it is 100 ms: a disabled MCP
/// server must stop as soon as a disabled tool.
const INTERVAL: Duration = Duration::from_millis(50);
/// Time in which an editor that writes a file in several steps finishes.
const SETTLE: Duration = Duration::from_millis(50);
/// Longest time between two checks: the system does not notify of changes that another machine
/// makes in a network file system.
const LONGEST: Duration = Duration::from_secs(10);
/// Maximum number of files of one folder that are checked; a folder of agents or skills has fewer.
const ENTRIES: usize = 10_000;

/// Metadata of a file: modification time, length, and inode, because editors replace the old file
/// by a new one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileStamp {
    changed: (i64, i64),
    length: u64,
    inode: u64,
}

/// The files of a configuration, by path.
pub(crate) type FileStamps = BTreeMap<PathBuf, FileStamp>;

/// Reloads everything whenever a file has changed, or `asked` is notified. Runs until it is
/// dropped.
pub(super) async fn reload_on_change(host: Arc<CliHost>, asked: Arc<Notify>) {
    let started = FolderWatcher::new(Vec::new());
    let mut watcher = started.inspect_err(warn_that_files_are_polled).ok();
    let mut changes = watcher.as_ref().map(FolderWatcher::changes).unwrap_or_default();
    // Watched first: a change between the two is then found in the stamps.
    watch_folders(watcher.as_mut(), &host.config_paths());
    let mut before = stamps_of(&host.config_paths());
    loop {
        let changed = async {
            changes.next_within(INTERVAL, LONGEST).await;
            tokio::time::sleep(SETTLE).await;
        };
        let is_asked = tokio::select! {
            () = asked.notified() => true,
            () = changed => false,
        };
        let now = stamps_of(&host.config_paths());
        if !is_asked && now == before {
            continue;
        }
        before = now;
        log_reload(host.reload_config().await);
        // The new configuration may have other folders, and a folder may be new.
        watch_folders(watcher.as_mut(), &host.config_paths());
    }
}

fn watch_folders(watcher: Option<&mut FolderWatcher>, paths: &[ConfigPath]) {
    if let Some(watcher) = watcher
        && let Err(error) = watcher.watch(folders(paths))
    {
        warn_that_files_are_polled(&error);
    }
}

fn warn_that_files_are_polled(error: &io::Error) {
    tracing::warn!(%error, "changes of the configuration are noticed after some seconds");
}

fn log_reload(read: Result<toolcrib_server::Reloaded, Failure>) {
    match read {
        Ok(reloaded) => {
            tracing::info!("the configuration was read again");
            if !reloaded.needs_restart.is_empty() {
                let names = reloaded.needs_restart.join(", ");
                tracing::warn!("a restart is needed for: {names}");
            }
            for remark in &reloaded.remarks {
                tracing::warn!("{remark}");
            }
        }
        Err(failure) => {
            let why = failure.message;
            tracing::error!("the changed configuration is not used, all is as before: {why}");
        }
    }
}

/// A file or folder of a configuration. It need not exist.
pub(super) struct ConfigPath {
    path: PathBuf,
    /// Number of levels below a folder whose content counts.
    levels: u32,
}

/// Returns all paths of a configuration: files of all layers, rules, agents, skills and tools, and
/// the vault.
pub(super) fn config_paths(world: &WorkspaceArgs, config: &Config) -> Vec<ConfigPath> {
    let workspace = world.root.first().map(PathBuf::as_path);
    let env = Env::from_process();
    let ConfigPaths { managed, user, project } = config::ConfigPaths::locate(&env, workspace);
    let rules = rule_layers::list_rule_files(workspace, config).into_iter().map(|place| place.path);
    let servers = bootstrap::mcp_file().map(|file| file.path);
    // The opt-ins of the phone decide about its tools. Files of other accounts change with the
    // vault.
    let phone = bootstrap::config_folder().map(|folder| folder.join("sms.toml"));
    let files = managed.into_iter().chain(user).chain(project).chain(servers).chain(rules);
    let files = files.chain(phone);
    let folders = bootstrap::library_folders(workspace, config);
    let library = [folders.agents, folders.skills, folders.kits, folders.guides];
    let own = bootstrap::config_folder().map(|folder| folder.join("tools"));
    let project =
        workspace.map(|workspace| workspace.join(bootstrap::PROJECT_FOLDER).join("tools"));
    let tools = own.into_iter().chain(project).chain(world.tools.iter().cloned());
    let folders = library.into_iter().flatten().map(|folder| folder.path).chain(tools);
    let vault = bootstrap::open_vault().ok().map(|vault| vault.folder().to_owned());
    let with_levels = |levels| move |path| ConfigPath { path, levels };
    files
        .map(with_levels(0))
        .chain(folders.map(with_levels(2)))
        .chain(vault.map(with_levels(1)))
        .collect()
}

/// Returns the stamps of all files of a configuration that exist.
pub(crate) fn stamps(world: &WorkspaceArgs, config: &Config) -> FileStamps {
    stamps_of(&config_paths(world, config))
}

fn stamps_of(paths: &[ConfigPath]) -> FileStamps {
    let mut stamps = FileStamps::new();
    for ConfigPath { path, levels } in paths {
        visit(path, *levels, &mut |path| add_file(path, &mut stamps));
    }
    stamps
}

/// Returns the existing folders in which a change of these paths shows.
fn folders(paths: &[ConfigPath]) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    for ConfigPath { path, levels } in paths {
        // The folder that contains the path, or will contain the one that does.
        folders.extend(path.ancestors().skip(1).find(|path| path.is_dir()).map(Path::to_owned));
        if let Some(levels) = levels.checked_sub(1) {
            visit(path, levels, &mut |path| {
                if path.is_dir() {
                    folders.insert(path.to_owned());
                }
            });
        }
    }
    folders
}

/// Visits a path, and the content of a folder this many levels deep.
fn visit(path: &Path, levels: u32, see: &mut impl FnMut(&Path)) {
    see(path);
    let Some(below) = levels.checked_sub(1) else { return };
    let Ok(entries) = fs::read_dir(path) else { return };
    for entry in entries.flatten().take(ENTRIES) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        visit(&entry.path(), if is_folder { below } else { 0 }, see);
    }
}

fn add_file(path: &Path, stamps: &mut FileStamps) {
    if let Ok(found) = fs::metadata(path) {
        let changed = (found.mtime(), found.mtime_nsec());
        let stamp = FileStamp { changed, length: found.len(), inode: found.ino() };
        stamps.insert(path.to_owned(), stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_any_kind_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let seen = || stamps_of(&[ConfigPath { path: folder.path().to_owned(), levels: 2 }]);
        let mut before = seen();
        let mut changed = |what: &str| {
            let now = seen();
            assert_ne!(before, now, "{what}");
            before = now;
        };
        let file = folder.path().join("agents/one.md");
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, "a").unwrap();
        changed("a new file");
        fs::write(&file, "ab").unwrap();
        changed("more in it");
        let other = folder.path().join("agents/.one.tmp");
        fs::write(&other, "cd").unwrap();
        let times =
            fs::FileTimes::new().set_modified(fs::metadata(&file).unwrap().modified().unwrap());
        fs::File::options().append(true).open(&other).unwrap().set_times(times).unwrap();
        fs::rename(&other, &file).unwrap();
        changed("another file of the same length and time");
        fs::remove_file(&file).unwrap();
        changed("no file");
        assert_eq!(before, seen());
    }

    #[test]
    fn the_watched_folders_are_those_in_which_a_change_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("skills/one/deep")).unwrap();
        fs::write(path("skills/one/SKILL.md"), "").unwrap();
        let paths = [("config.toml", 0), ("skills", 2), ("missing/agents", 2)]
            .map(|(name, levels)| ConfigPath { path: path(name), levels });
        let watched = ["", "skills", "skills/one"].map(path);
        assert_eq!(
            folders(&paths),
            BTreeSet::from(watched.map(|path| path.components().collect()))
        );
    }
}
