//! Watches the files of a daemon's configuration, and reloads them without a restart.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::server_host::CliHost;
use crate::clap_args::WorkspaceArgs;
use crate::config::{self, Config, ConfigPaths, Env};
use crate::output::Failure;
use crate::{bootstrap, rule_layers};

/// Interval for checking files: a person who saves one waits no longer than that.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Interval for checking the file of MCP servers: a disabled server must stop as soon as a disabled
/// tool.
const SERVERS_POLL_INTERVAL: Duration = Duration::from_millis(100);
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
    let mut before = host.stamps();
    loop {
        let is_asked = tokio::select! {
            () = asked.notified() => true,
            () = tokio::time::sleep(POLL_INTERVAL) => false,
            () = servers_changed(&before) => false,
        };
        let now = host.stamps();
        if !is_asked && now == before {
            continue;
        }
        // A file that is written in two steps is invalid in between, and is read again a second
        // later.
        before = now;
        log_reload(host.reload_config().await);
    }
}

/// Waits until the file of MCP servers has changed.
async fn servers_changed(before: &FileStamps) {
    let Some(file) = bootstrap::mcp_file() else { return std::future::pending().await };
    loop {
        tokio::time::sleep(SERVERS_POLL_INTERVAL).await;
        let mut now = FileStamps::new();
        add_file(&file.path, &mut now);
        if now.get(&file.path) != before.get(&file.path) {
            return;
        }
    }
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

/// Returns the stamps of all files of a configuration: files of all layers, rules, agents, skills
/// and tools, and the vault.
pub(crate) fn stamps(world: &WorkspaceArgs, config: &Config) -> FileStamps {
    let workspace = world.root.first().map(PathBuf::as_path);
    let env = Env::from_process();
    let ConfigPaths { managed, user, project } = config::ConfigPaths::locate(&env, workspace);
    let rules = rule_layers::list_rule_files(workspace, config).into_iter().map(|place| place.path);
    let mut stamps = FileStamps::new();
    let servers = bootstrap::mcp_file().map(|file| file.path);
    for path in managed.into_iter().chain(user).chain(project).chain(servers).chain(rules) {
        add_file(&path, &mut stamps);
    }
    let folders = bootstrap::library_folders(workspace, config);
    let all = [folders.agents, folders.skills, folders.kits, folders.guides];
    for folder in all.iter().flatten() {
        add_folder(&folder.path, 2, &mut stamps);
    }
    let own = bootstrap::config_folder().map(|folder| folder.join("tools"));
    let project =
        workspace.map(|workspace| workspace.join(bootstrap::PROJECT_FOLDER).join("tools"));
    for folder in own.into_iter().chain(project).chain(world.tools.iter().cloned()) {
        add_folder(&folder, 2, &mut stamps);
    }
    if let Ok(vault) = bootstrap::open_vault() {
        add_folder(vault.folder(), 1, &mut stamps);
    }
    stamps
}

/// Adds a folder with its content, this many levels deep.
fn add_folder(folder: &Path, levels: u32, stamps: &mut FileStamps) {
    add_file(folder, stamps);
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().take(ENTRIES) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && levels > 1 {
            add_folder(&entry.path(), levels - 1, stamps);
        } else {
            add_file(&entry.path(), stamps);
        }
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
        let seen = || {
            let mut stamps = FileStamps::new();
            add_folder(folder.path(), 2, &mut stamps);
            stamps
        };
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
}
