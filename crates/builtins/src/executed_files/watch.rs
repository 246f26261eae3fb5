//! Checks the executed files that a sandboxed program left in the workspace.
//!
//! Git uses a repository without asking. Its configuration and hooks are therefore held unless they
//! are known to be harmless: the watch renames them, so that git does not find them. The programs
//! of the other rows ask the person themselves, or version control shows the change; the watch only
//! reports these files.
//!
//! A file is new or changed if its inode changed (`ctime`, which no program can set) since the
//! program started. A walk before the program finds every folder that git could treat as a
//! repository; a repository that appears later is checked completely.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::Write as _;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::git_config::suspicious_lines;
use super::git_folder::is_git_folder;
use super::table::{self, OnChange};

/// Maximum folders that one walk reads; further folders are not checked.
const MAX_FOLDERS: usize = 200_000;

/// Maximum bytes of a configuration that are read; those that git writes have some hundred bytes.
const MAX_CONFIG: u64 = 256 * 1024;

/// Maximum lag of a file system's clock, which ticks with the kernel every 1 to 10 ms.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// Suffix of held files.
const HELD: &str = ".held-by-toolcrib";

/// File names of configurations.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];

/// Watches the executed files below a set of folders.
#[derive(Debug)]
pub(crate) struct ExecutedFileWatch {
    folders: Vec<PathBuf>,
    /// Paths that sandboxed programs cannot change. Other programs made any change to them.
    read_only: Vec<PathBuf>,
    /// The repositories before the program, by identity, so that a moved repository is recognized.
    known: HashMap<Identity, Repository>,
    /// The `.git` files and links before the program.
    known_links: HashSet<Identity>,
    /// Whether no check has run since `known` and `known_links` were read.
    is_fresh: bool,
    /// Reported files with the time of their change, so that a change is not reported again for the
    /// next program, which may start before the clock ticks.
    reported: HashMap<PathBuf, (i64, i64)>,
    /// Start of the watched period minus [`CLOCK_TICK`]: seconds and nanoseconds since 1970.
    since: (i64, i64),
}

/// Device and inode.
type Identity = (u64, u64);

/// A repository before the program.
#[derive(Debug)]
struct Repository {
    /// The contents of its [`CONFIGS`].
    configs: HashMap<&'static str, Vec<u8>>,
    /// Names and inodes of its hooks.
    hooks: HashSet<(OsString, u64)>,
}

/// A finding after a program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Finding {
    /// The file was renamed, so that git does not find it.
    Held(String),
    /// The file could not be renamed, or its former content could not be restored.
    NotHeld(String),
    /// The file changed. The program that executes it, and when, follow.
    Changed(String, &'static str, &'static str),
}

/// Renders the findings as sentences; `None` if there are none.
pub(crate) fn note(findings: &BTreeSet<Finding>) -> Option<String> {
    let sentence = |finding: &Finding| match finding {
        Finding::Held(path) => format!(
            "{path} was set aside (renamed to end in {HELD}), because git would execute commands from it outside of the sandbox. Tell the user, who can put it back after reading it."
        ),
        Finding::NotHeld(path) => format!(
            "git would execute commands from {path} outside of the sandbox, and it could not be set aside. Tell the user not to use git there before reading it."
        ),
        Finding::Changed(path, program, when) => format!(
            "{path} was changed, which {program} executes {when}. Tell the user to read it first."
        ),
    };
    let sentences: Vec<String> = findings.iter().map(sentence).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

impl ExecutedFileWatch {
    /// Starts watching these folders for a program that starts now.
    pub(crate) fn begin(folders: Vec<PathBuf>, read_only: Vec<PathBuf>) -> Self {
        let mut watch = Self {
            folders,
            read_only,
            known: HashMap::new(),
            known_links: HashSet::new(),
            is_fresh: false,
            reported: HashMap::new(),
            since: (0, 0),
        };
        watch.begin_again();
        watch
    }

    /// Restarts the watch for another program. It ignores the changes since the last check, which
    /// other programs made.
    pub(crate) fn begin_again(&mut self) {
        if !std::mem::replace(&mut self.is_fresh, true) {
            self.since = now();
            let walk = self.walk();
            self.known =
                walk.repositories.iter().filter_map(|path| Repository::read(path)).collect();
            self.known_links = walk.links.iter().filter_map(|path| identity(path)).collect();
        }
    }

    fn walk(&self) -> Walk {
        let mut walk = Walk::default();
        self.folders.iter().for_each(|folder| walk.add(folder));
        walk
    }

    /// Checks all changes since the program started. Call it after the program has ended.
    pub(crate) fn check(&mut self) -> BTreeSet<Finding> {
        self.is_fresh = false;
        let walk = self.walk();
        let mut findings = BTreeSet::new();
        for (path, row) in walk.executed {
            let changed = fs::symlink_metadata(&path).map(|meta| (meta.ctime(), meta.ctime_nsec()));
            let Ok(changed) = changed else { continue };
            if changed >= self.since && self.reported.insert(path.clone(), changed) != Some(changed)
            {
                findings.insert(Finding::Changed(self.shown(&path), row.program, row.when));
            }
        }
        walk.links.iter().for_each(|path| self.check_link(path, &mut findings));
        walk.repositories.iter().for_each(|path| self.check_repository(path, &mut findings));
        findings
    }

    /// Checks a `.git` file or link. A target inside the watched folders needs no action, because
    /// the walk checks each repository there. A link to any other target is held: that folder may
    /// be one that only programs write.
    fn check_link(&self, path: &Path, findings: &mut BTreeSet<Finding>) {
        let is_new = identity(path).is_none_or(|identity| !self.known_links.contains(&identity));
        if !self.counts(path, is_new) {
            return;
        }
        let target = match fs::read_link(path) {
            Ok(target) => Some(target),
            Err(_) => read_short(path).and_then(|text| {
                let text = String::from_utf8(text).ok()?;
                Some(PathBuf::from(text.trim().strip_prefix("gitdir:")?.trim()))
            }),
        };
        let folder = path.parent().unwrap_or(path);
        let real = target.and_then(|target| folder.join(target).canonicalize().ok());
        if !real.is_some_and(|real| self.folders.iter().any(|root| real.starts_with(root))) {
            self.hold(path, None, findings);
        }
    }

    fn check_repository(&self, path: &Path, findings: &mut BTreeSet<Finding>) {
        let before = identity(path).and_then(|identity| self.known.get(&identity));
        // Check all its files, even older ones: a program may have prepared them before the folder
        // was a repository, or in an unreadable folder.
        let is_new = before.is_none();
        for name in CONFIGS {
            let file = path.join(name);
            let former = before.and_then(|before| before.configs.get(name));
            if self.counts(&file, is_new) && !is_harmless_config(&file, former) {
                self.hold(&file, former.map(Vec::as_slice), findings);
            }
        }
        let common = path.join("commondir");
        if self.counts(&common, is_new) && !is_usual_worktree(path, &common) {
            self.hold(&common, None, findings);
        }
        let hooks = path.join("hooks");
        if fs::symlink_metadata(&hooks).is_ok_and(|meta| meta.is_symlink()) {
            if self.counts(&hooks, is_new) {
                self.hold(&hooks, None, findings);
            }
            return;
        }
        for hook in hooks_of(path) {
            let is_other = before.is_none_or(|before| !before.hooks.contains(&hook));
            let file = hooks.join(hook.0);
            if self.counts(&file, is_other) {
                self.hold(&file, None, findings);
            }
        }
    }

    /// Returns whether the file exists and a program may have written it.
    fn counts(&self, file: &Path, is_new: bool) -> bool {
        !self.read_only.iter().any(|kept| file.starts_with(kept))
            && fs::symlink_metadata(file).is_ok_and(|meta| is_new || is_since(&meta, self.since))
    }

    /// Renames a file, and restores its former content.
    fn hold(&self, file: &Path, former: Option<&[u8]>, findings: &mut BTreeSet<Finding>) {
        let shown = self.shown(file);
        let is_held = free_name(file).is_some_and(|held| fs::rename(file, held).is_ok());
        let is_restored = former.is_none_or(|former| write_new(file, former).is_ok());
        findings.insert(match is_held && is_restored {
            true => Finding::Held(shown),
            false => Finding::NotHeld(shown),
        });
    }

    /// Returns a path as people and models know it.
    fn shown(&self, path: &Path) -> String {
        let below = self.folders.iter().find_map(|root| path.strip_prefix(root).ok());
        below.unwrap_or(path).display().to_string()
    }
}

impl Repository {
    fn read(path: &Path) -> Option<(Identity, Self)> {
        let configs =
            CONFIGS.iter().filter_map(|name| Some((*name, read_short(&path.join(name))?)));
        let hooks = hooks_of(path).into_iter().collect();
        Some((identity(path)?, Self { configs: configs.collect(), hooks }))
    }
}

/// The result of one walk.
#[derive(Debug, Default)]
struct Walk {
    repositories: Vec<PathBuf>,
    /// `.git` files and symbolic links.
    links: Vec<PathBuf>,
    /// Files of the other rows.
    executed: Vec<(PathBuf, &'static table::ExecutedFile)>,
    folders: usize,
}

impl Walk {
    /// Walks a folder without following symbolic links.
    fn add(&mut self, root: &Path) {
        let mut open = vec![(root.to_owned(), false)];
        while let Some((folder, is_dotted)) = open.pop() {
            self.folders += 1;
            if self.folders > MAX_FOLDERS {
                return;
            }
            let mut below = Vec::new();
            let (mut is_head, mut is_repository) = (false, false);
            let is_named_git = folder.file_name().is_some_and(is_git_name);
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let (name, kind) = (entry.file_name(), entry.file_type());
                let is_folder = kind.is_ok_and(|kind| kind.is_dir());
                is_head |= name.eq_ignore_ascii_case("HEAD");
                if is_folder {
                    below.push((entry.path(), is_dotted || is_dot_name(&name)));
                } else if is_git_name(&name) {
                    self.links.push(entry.path());
                } else if is_dotted || is_dot_name(&name) || table::has_plain_row(&name) {
                    self.add_executed(entry.path());
                }
            }
            if is_named_git || (is_head && is_git_folder(&folder)) {
                is_repository = true;
                self.repositories.push(folder);
            }
            // In a repository, enter only the folders of nested repositories: the other records are
            // many.
            below.retain(|(path, _)| {
                !is_repository
                    || path.file_name().is_some_and(|name| name == "modules" || name == "worktrees")
            });
            open.append(&mut below);
        }
    }

    fn add_executed(&mut self, path: PathBuf) {
        let is_other = |row: &&table::ExecutedFile| {
            row.on_change == OnChange::Ask && !row.pattern.starts_with(".git/")
        };
        if let Some(row) = table::find(&path).filter(is_other) {
            self.executed.push((path, row));
        }
    }
}

fn is_dot_name(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().first() == Some(&b'.')
}

fn is_git_name(name: &std::ffi::OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Returns the hooks of a repository with their inodes. Samples, which git ignores, and held files
/// are omitted.
fn hooks_of(path: &Path) -> Vec<(OsString, u64)> {
    let entries = fs::read_dir(path.join("hooks")).into_iter().flatten().flatten();
    let is_hook = |name: &OsString| {
        let name = name.to_string_lossy();
        !name.ends_with(".sample") && !name.contains(HELD)
    };
    let hooks = entries.map(|entry| (entry.file_name(), entry.ino()));
    hooks.filter(|(name, _)| is_hook(name)).collect()
}

/// Returns whether every suspicious line of a configuration was there before.
fn is_harmless_config(file: &Path, former: Option<&Vec<u8>>) -> bool {
    let Some(text) = read_short(file) else { return false };
    let former = former.map(|text| suspicious_lines(text)).unwrap_or_default();
    suspicious_lines(&text).is_subset(&former)
}

/// Returns whether `commondir` has the content that `git worktree add` writes: a path from
/// `REPOSITORY/worktrees/NAME` to the repository.
fn is_usual_worktree(path: &Path, common: &Path) -> bool {
    let text = read_short(common).and_then(|text| String::from_utf8(text).ok());
    let target = text.and_then(|text| path.join(text.trim()).canonicalize().ok());
    let folder = path.parent().filter(|folder| folder.ends_with("worktrees"));
    let repository = folder.and_then(Path::parent).filter(|repository| is_git_folder(repository));
    target.is_some() && target == repository.and_then(|repository| repository.canonicalize().ok())
}

/// Returns the content of a regular file; `None` for other kinds of files and files above the
/// limit.
fn read_short(file: &Path) -> Option<Vec<u8>> {
    let meta = fs::symlink_metadata(file).ok()?;
    (meta.is_file() && meta.len() <= MAX_CONFIG).then(|| fs::read(file).ok())?
}

/// Creates a file; fails if it exists.
fn write_new(file: &Path, content: &[u8]) -> std::io::Result<()> {
    fs::OpenOptions::new().write(true).create_new(true).open(file)?.write_all(content)
}

/// Returns a free name next to a file.
fn free_name(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?;
    let names = (1..100).map(|number| match number {
        1 => format!("{name}{HELD}"),
        number => format!("{name}{HELD}-{number}"),
    });
    names.map(|name| file.with_file_name(name)).find(|path| fs::symlink_metadata(path).is_err())
}

fn identity(path: &Path) -> Option<Identity> {
    fs::symlink_metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

fn is_since(meta: &Metadata, since: (i64, i64)) -> bool {
    (meta.ctime(), meta.ctime_nsec()) >= since
}

fn now() -> (i64, i64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = now.saturating_sub(CLOCK_TICK);
    (i64::try_from(now.as_secs()).unwrap_or(i64::MAX), i64::from(now.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const PLAIN: &str = "[core]\n\tbare = false\n";
    const EVIL: &str = "[core]\n\tfsmonitor = ./evil\n";

    /// Waits until the file system's clock has ticked, so that later changes have a later time.
    fn tick() {
        std::thread::sleep(CLOCK_TICK * 2);
    }

    fn put(root: &Path, path: &str, text: &str) {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }

    /// Creates a repository like `git init`.
    fn repository(root: &Path, path: &str, config: &str) {
        for folder in ["objects", "refs"] {
            fs::create_dir_all(root.join(path).join(folder)).unwrap();
        }
        put(root, &format!("{path}/HEAD"), "ref: refs/heads/main\n");
        put(root, &format!("{path}/config"), config);
        put(root, &format!("{path}/hooks/pre-commit.sample"), "");
    }

    /// Checks which files are held after `program` ran in a workspace that `before` prepared.
    fn check(before: impl Fn(&Path), program: impl Fn(&Path), held: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        before(&root);
        tick();
        let mut watch = ExecutedFileWatch::begin(vec![root.clone()], Vec::new());
        program(&root);
        let found: Vec<String> = watch
            .check()
            .into_iter()
            .map(|one| match one {
                Finding::Held(path) => path,
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(found, held);
        for path in held {
            assert!(root.join(format!("{path}{HELD}")).exists(), "{path}");
        }
        assert_eq!(watch.check(), BTreeSet::new(), "nothing is left");
    }

    fn nothing(_: &Path) {}

    #[test]
    fn a_new_repository_is_left_if_it_executes_nothing() {
        check(nothing, |root| repository(root, ".git", PLAIN), &[]);
        check(nothing, |root| repository(root, "deep/er/.git", PLAIN), &[]);
        check(nothing, |root| repository(root, "bare.git", PLAIN), &[]);
    }

    #[test]
    fn what_git_would_execute_is_set_aside() {
        check(nothing, |root| repository(root, ".git", EVIL), &[".git/config"]);
        check(nothing, |root| repository(root, "a/b/.GIT", EVIL), &["a/b/.GIT/config"]);
        check(nothing, |root| repository(root, "bare", EVIL), &["bare/config"]);
        check(
            nothing,
            |root| {
                repository(root, ".git", PLAIN);
                put(root, ".git/hooks/pre-commit", "evil");
            },
            &[".git/hooks/pre-commit"],
        );
        check(
            |root| repository(root, ".git", PLAIN),
            |root| {
                put(root, ".git/evil/config", EVIL);
                put(root, ".git/commondir", "evil");
            },
            &[".git/commondir"],
        );
        check(
            |root| repository(root, ".git", PLAIN),
            |root| {
                put(root, ".git/config.worktree", EVIL);
                repository(root, ".git/modules/a", EVIL);
            },
            &[".git/config.worktree", ".git/modules/a/config"],
        );
    }

    #[test]
    fn what_was_prepared_before_is_found_when_it_takes_effect() {
        // The configuration was written before this program started; the program only moves it.
        let prepare = |root: &Path| put(root, "prepared/config", EVIL);
        check(
            prepare,
            |root| fs::rename(root.join("prepared"), root.join(".git")).unwrap(),
            &[".git/config"],
        );
        let prepare = |root: &Path| {
            repository(root, ".git", PLAIN);
            put(root, "hooks/pre-commit", "evil");
        };
        check(
            prepare,
            |root| {
                fs::remove_dir_all(root.join(".git/hooks")).unwrap();
                fs::rename(root.join("hooks"), root.join(".git/hooks")).unwrap();
            },
            &[".git/hooks/pre-commit"],
        );
        let prepare = |root: &Path| {
            repository(root, "a/.git", EVIL);
            let hidden = fs::Permissions::from_mode(0o000);
            fs::set_permissions(root.join("a"), hidden).unwrap();
        };
        let show = |root: &Path| {
            let shown = fs::Permissions::from_mode(0o755);
            fs::set_permissions(root.join("a"), shown).unwrap();
        };
        // Root can read every folder.
        if !rustix::process::geteuid().is_root() {
            check(prepare, show, &["a/.git/config"]);
        }
        let prepare = |root: &Path| put(root, "a/config", EVIL);
        check(
            prepare,
            |root| {
                for folder in ["objects", "refs"] {
                    fs::create_dir_all(root.join("a").join(folder)).unwrap();
                }
                put(root, "a/HEAD", "ref: refs/heads/main\n");
            },
            &["a/config"],
        );
    }

    #[test]
    fn what_a_person_configured_stays() {
        let own = |root: &Path| {
            repository(root, ".git", "[alias]\n\tst = status\n[core]\n\tfsmonitor = true\n");
            put(root, ".git/hooks/pre-commit", "mine");
        };
        check(own, nothing, &[]);
        // Git itself adds this setting.
        check(
            own,
            |root| {
                let text = fs::read_to_string(root.join(".git/config")).unwrap();
                put(root, ".git/config", &format!("{text}[branch \"a\"]\n\tremote = origin\n"));
            },
            &[],
        );
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        own(&root);
        tick();
        let mut watch = ExecutedFileWatch::begin(vec![root.clone()], Vec::new());
        let text = fs::read_to_string(root.join(".git/config")).unwrap();
        put(&root, ".git/config", &format!("{text}{EVIL}"));
        assert_eq!(watch.check(), BTreeSet::from([Finding::Held(".git/config".to_owned())]));
        assert_eq!(fs::read_to_string(root.join(".git/config")).unwrap(), text);
        // The person may change any file between two programs.
        tick();
        put(&root, ".git/config", &format!("{text}{EVIL}"));
        put(&root, ".git/hooks/post-commit", "mine");
        tick();
        watch.begin_again();
        put(&root, ".git/index", "");
        assert_eq!(watch.check(), BTreeSet::new());
    }

    #[test]
    fn worktrees_and_submodules_work_and_other_links_do_not() {
        let own = |root: &Path| repository(root, ".git", PLAIN);
        check(
            own,
            |root| {
                put(root, ".git/worktrees/w/HEAD", "ref: refs/heads/w\n");
                put(root, ".git/worktrees/w/commondir", "../..\n");
                put(root, "w/.git", &format!("gitdir: {}/.git/worktrees/w\n", root.display()));
                repository(root, ".git/modules/s", PLAIN);
                put(root, "s/.git", "gitdir: ../.git/modules/s\n");
            },
            &[],
        );
        check(own, |root| put(root, "w/.git", "gitdir: /tmp\n"), &["w/.git"]);
        check(
            own,
            |root| {
                fs::create_dir(root.join("w")).unwrap();
                std::os::unix::fs::symlink("/tmp", root.join("w/.git")).unwrap();
            },
            &["w/.git"],
        );
        check(
            own,
            |root| {
                put(root, "x", EVIL);
                fs::remove_file(root.join(".git/config")).unwrap();
                std::os::unix::fs::symlink("../x", root.join(".git/config")).unwrap();
            },
            &[".git/config"],
        );
    }

    #[test]
    fn files_of_other_programs_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        put(&root, ".envrc", "");
        tick();
        let mut watch = ExecutedFileWatch::begin(vec![root.clone()], Vec::new());
        put(&root, "a/.vscode/tasks.json", "{}");
        let found = watch.check();
        assert_eq!(found.len(), 1);
        let said = note(&found).unwrap();
        assert!(
            said.starts_with("a/.vscode/tasks.json was changed, which Visual Studio Code"),
            "{said}"
        );
        assert!(root.join("a/.vscode/tasks.json").exists());
        assert_eq!(note(&watch.check()), None);
    }
}
