//! Changes of the files that a daemon was set up from: they are read again without a restart.

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

/// How often files are looked at: a person who saves one does not wait longer than that.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often the file of MCP servers is looked at: a server that is switched off must end as soon
/// as a tool that is switched off.
const SERVERS_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Files of one folder that are looked at; more are no agents and skills.
const ENTRIES: usize = 10_000;

/// What is known of a file without reading it: when it was changed, how long it is, and which one
/// it is, since editors put a new file into the place of the old one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileStamp {
    changed: (i64, i64),
    length: u64,
    inode: u64,
}

/// The files of a configuration, by path.
pub(crate) type FileStamps = BTreeMap<PathBuf, FileStamp>;

/// Reads everything again whenever a file has changed, or `asked` says so. Runs until it is
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
        // What is written in two steps is read when it is whole: a file that is half there is
        // wrong, and read again a second later.
        before = now;
        log_reload(host.reload_config().await);
    }
}

/// Waits until the file of MCP servers is another than it was.
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

/// Everything that a configuration comes from: files of all layers, of rules, of agents and skills,
/// of tools, and the vault.
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

/// A folder and what is in it, so many levels deep.
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
