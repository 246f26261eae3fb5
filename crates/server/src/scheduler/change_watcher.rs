//! Watches the workspace for tasks that run when a file changes.
//!
//! Invariants
//! - A task's own changes do not start it again: changes while it runs are ignored.
//! - A task is started at most once a minute; changes until then are one event.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use globset::{GlobBuilder, GlobMatcher};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use toolcrib_app::StateChanges;
use toolcrib_core::{
    Clock as _, StoreError, SystemClock, TaskEvent, TaskId, TaskStatus, TaskTrigger, canonical_json,
};

use crate::run_supervisor::RunSupervisor;

/// Interval for reading the tasks.
const LOOK: Duration = Duration::from_secs(5);
/// Time during which changes are collected into one event.
const SETTLE: Duration = Duration::from_secs(1);
/// Minimum time between two events of one task.
const GAP: Duration = Duration::from_secs(60);
/// Maximum number of paths in an event.
const MAX_PATHS: usize = 50;
/// Maximum number of changes in the queue; more are dropped, and the next change still starts the
/// task.
const MAX_WAITING: usize = 10_000;
/// The owner of the workspace.
const OWNER: &str = "";

/// A task that a change starts.
struct Watch {
    matcher: GlobMatcher,
    is_running: bool,
    changed: BTreeSet<String>,
    first_change: Option<Instant>,
    last_event: Option<Instant>,
}

/// Starts tasks on changes until the daemon is told to stop.
pub(crate) async fn run_change_watcher(supervisor: &RunSupervisor, mut changes: StateChanges) {
    let Some(root) = supervisor.toolcrib().workspace_folder() else { return };
    let mut watches: HashMap<TaskId, Watch> = HashMap::new();
    let mut watcher: Option<(RecommendedWatcher, mpsc::Receiver<PathBuf>)> = None;
    let mut last_look: Option<Instant> = None;
    loop {
        if last_look.is_none_or(|at| at.elapsed() >= LOOK) {
            last_look = Some(Instant::now());
            if let Err(error) = read_tasks(supervisor, &mut watches).await {
                tracing::warn!(%error, "tasks could not be read");
            }
            match (watches.is_empty(), watcher.is_some()) {
                (true, true) => watcher = None,
                (false, false) => watcher = watch(&root),
                _ => {}
            }
        }
        if let Some((_, changes)) = &mut watcher {
            while let Ok(path) = changes.try_recv() {
                note(&mut watches, &root, &path);
            }
        }
        start_due(supervisor, &mut watches).await;
        let wait = async {
            if watches.is_empty() {
                changes.next(LOOK).await;
            } else {
                tokio::time::sleep(SETTLE).await;
            }
        };
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => return,
            () = wait => {}
        }
    }
}

/// Reads the tasks that a change starts.
async fn read_tasks(
    supervisor: &RunSupervisor,
    watches: &mut HashMap<TaskId, Watch>,
) -> Result<(), StoreError> {
    let all = supervisor.stores().tasks.tasks(OWNER).await?;
    let mut kept = HashMap::new();
    for task in all {
        let TaskTrigger::Change { glob } = &task.trigger else { continue };
        if !matches!(task.status, TaskStatus::Pending | TaskStatus::Running) {
            continue;
        }
        let is_running = task.status == TaskStatus::Running;
        let known = watches.remove(&task.id);
        let Some(matcher) = matcher(glob) else { continue };
        let fresh = Watch {
            matcher,
            is_running,
            changed: BTreeSet::new(),
            first_change: None,
            last_event: None,
        };
        kept.insert(task.id, Watch { is_running, ..known.unwrap_or(fresh) });
    }
    *watches = kept;
    Ok(())
}

/// Compiles a glob: `*` stays within a folder, `**` does not.
fn matcher(glob: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(glob).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher())
}

fn watch(root: &Path) -> Option<(RecommendedWatcher, mpsc::Receiver<PathBuf>)> {
    let (send, changes) = mpsc::channel(MAX_WAITING);
    let made = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let Ok(event) = event else { return };
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        for path in event.paths {
            let _ = send.try_send(path);
        }
    });
    let started = made.and_then(|mut watcher| {
        watcher.watch(root, RecursiveMode::Recursive)?;
        Ok(watcher)
    });
    match started {
        Ok(watcher) => Some((watcher, changes)),
        Err(error) => {
            tracing::warn!(%error, "the workspace cannot be watched; tasks on changes do not run");
            None
        }
    }
}

fn note(watches: &mut HashMap<TaskId, Watch>, root: &Path, path: &Path) {
    let Ok(below) = path.strip_prefix(root) else { return };
    // Git writes files of its own at every command.
    if below.components().any(|part| part.as_os_str() == ".git") {
        return;
    }
    for watch in watches.values_mut() {
        if !watch.is_running && watch.matcher.is_match(below) && watch.changed.len() < MAX_WAITING {
            watch.changed.insert(below.display().to_string());
            watch.first_change.get_or_insert_with(Instant::now);
        }
    }
}

async fn start_due(supervisor: &RunSupervisor, watches: &mut HashMap<TaskId, Watch>) {
    for (id, watch) in watches {
        let has_settled = watch.first_change.is_some_and(|at| at.elapsed() >= SETTLE);
        let may_start = watch.last_event.is_none_or(|at| at.elapsed() >= GAP);
        if !has_settled || !may_start {
            continue;
        }
        let paths = std::mem::take(&mut watch.changed);
        watch.first_change = None;
        watch.last_event = Some(Instant::now());
        watch.is_running = true;
        let event = event(*id, &paths);
        if let Err(error) = supervisor.toolcrib().tasks().add_event(OWNER, *id, event).await {
            tracing::warn!(task = %id, %error, "a change could not start its task");
        }
    }
}

fn event(id: TaskId, paths: &BTreeSet<String>) -> TaskEvent {
    let at = SystemClock.now_ms();
    let mut text = "These files changed:".to_owned();
    for path in paths.iter().take(MAX_PATHS) {
        let shown: String = path.chars().filter(|c| !c.is_control()).take(300).collect();
        text += &format!("\n{shown}");
    }
    if paths.len() > MAX_PATHS {
        text += &format!("\nand {} more", paths.len() - MAX_PATHS);
    }
    let (id, time) = (id.to_string(), at.to_string());
    let hash = canonical_json::sha256_parts(&["change", &id, &time, &text]);
    TaskEvent { key: format!("change-{}", hash.get(..32).unwrap_or_default()), at, text }
}
