//! Path masks: the paths that rules keep from a program, found on this host before it starts.
//!
//! A sandbox covers files and folders that exist, so patterns are expanded by a walk. It enters
//! only folders that a rule may be about. A rule that names a folder covers it whole, with what
//! comes into it later; of a pattern for single files, those that exist at the start are covered.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_core::{DenialReach, ErrorType, PathAccess, PathDenials, ToolError};
use toolcrib_sandbox::{Policy, SYSTEM_FOLDERS};

use super::program_policy::ProgramPolicy;

/// Most entries that are visited for one program. A pattern for any folder visits the whole
/// workspace; a million entries take about a second.
const MAX_ENTRIES: usize = 1_000_000;
/// Longest time of the walk: a program that waits longer for its start seems to hang.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Most masked paths of one program: each is one mount, or several rules of Landlock.
const MAX_MASKS: usize = 2000;

/// Most masked paths that a note names.
const MAX_NAMED: usize = 5;

/// The paths that rules keep from a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathMasks {
    /// What appears empty.
    hidden: BTreeSet<PathBuf>,
    /// What cannot be changed.
    read_only: BTreeSet<PathBuf>,
}

/// Why the masks could not be found.
enum Obstacle {
    TooManyEntries,
    TooSlow,
    TooManyMasks,
}

/// A walk over what the denials may be about.
struct MaskWalk<'a> {
    denials: &'a dyn PathDenials,
    /// Real paths of the folders that are the program's to see.
    visible: &'a [PathBuf],
    /// Where the rules for certain folders apply.
    scopes: Vec<PathBuf>,
    /// Folders to enter: how rules name them, and their real paths.
    open: Vec<(PathBuf, PathBuf)>,
    /// Links that were followed; each is followed once, so that no circle is endless.
    followed: BTreeSet<PathBuf>,
    seen: usize,
    until: Instant,
    masks: PathMasks,
}

impl PathMasks {
    /// The masks of a program under a policy.
    ///
    /// # Errors
    /// `policy_denied` if the paths cannot be found within the limits: nothing may run then.
    pub async fn resolve(
        denials: &Arc<dyn PathDenials>,
        confines: Arc<ProgramPolicy>,
    ) -> Result<Self, ToolError> {
        if denials.is_empty() {
            return Ok(Self::default());
        }
        let denials = Arc::clone(denials);
        let found = tokio::task::spawn_blocking(move || Self::find(&*denials, &confines)).await;
        found.map_err(|error| ToolError::new(ErrorType::SandboxError, error.to_string()))?
    }

    fn find(denials: &dyn PathDenials, confines: &ProgramPolicy) -> Result<Self, ToolError> {
        let shown = confines.roots.iter().chain(&confines.readable).chain(&confines.writable);
        let visible: Vec<PathBuf> = shown.filter_map(|path| path.canonicalize().ok()).collect();
        let all: Vec<PathBuf> = denials.scopes().into_iter().map(|(_, scope)| scope).collect();
        let mut walk = MaskWalk {
            denials,
            visible: &visible,
            scopes: all.iter().filter(|scope| scope.parent().is_some()).cloned().collect(),
            open: Vec::new(),
            followed: BTreeSet::new(),
            seen: 0,
            until: Instant::now() + MAX_TIME,
            masks: Self::default(),
        };
        let starts: BTreeSet<PathBuf> =
            all.iter().flat_map(|scope| starts(scope, &visible)).collect();
        let found = starts.iter().try_for_each(|start| walk.run(start));
        found.map(|()| walk.masks).map_err(|obstacle| refusal(denials, &obstacle))
    }

    /// Whether nothing is masked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether everything that other masks cover is covered by these.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let covers = |own: &BTreeSet<PathBuf>, path: &Path| {
            path.ancestors().any(|above| own.contains(above))
        };
        other.hidden.iter().all(|path| covers(&self.hidden, path))
            && other.read_only.iter().all(|path| covers(&self.read_only, path))
    }

    /// The paths that appear empty.
    pub fn hidden(&self) -> impl Iterator<Item = &Path> {
        self.hidden.iter().map(PathBuf::as_path)
    }

    /// A sentence for a model about what appears empty; `None` if nothing does. `folder` is that of
    /// the workspace.
    #[must_use]
    pub fn note(&self, folder: Option<&Path>) -> Option<String> {
        let shown = |path: &PathBuf| {
            let inside = folder.and_then(|folder| path.strip_prefix(folder).ok());
            inside.unwrap_or(path).display().to_string()
        };
        let names: Vec<String> = self.hidden.iter().take(MAX_NAMED).map(shown).collect();
        let more = self.hidden.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!names.is_empty()).then(|| {
            format!(
                "Rules hide these paths from programs, to which they are empty: {}{more}.",
                names.join(", ")
            )
        })
    }

    /// The same masks for a program whose tool itself leaves out what may not be read.
    pub(super) fn only_read_only(self) -> Self {
        Self { hidden: BTreeSet::new(), ..self }
    }

    /// Adds the masks to a policy.
    pub fn apply(&self, policy: &mut Policy) {
        policy.masked.extend(self.hidden.iter().cloned());
        policy.read_only.extend(self.read_only.iter().cloned());
        // A folder that is writable by itself is not inside of one.
        let (closed, open) =
            std::mem::take(&mut policy.writable).into_iter().partition(|path| self.closes(path));
        policy.writable = open;
        policy.readable.extend::<Vec<PathBuf>>(closed);
    }

    fn closes(&self, path: &Path) -> bool {
        path.canonicalize()
            .is_ok_and(|real| real.ancestors().any(|above| self.read_only.contains(above)))
    }
}

/// The folders where the walk for a scope begins. A pattern that may match anywhere is about what
/// is the program's own to see; the system's files are covered only by a rule that names their
/// folder.
fn starts(scope: &Path, visible: &[PathBuf]) -> Vec<PathBuf> {
    let system = SYSTEM_FOLDERS.iter().any(|folder| scope.starts_with(folder));
    let real = scope.canonicalize().unwrap_or_else(|_| scope.to_owned());
    let inside = |path: &Path| visible.iter().any(|folder| path.starts_with(folder));
    if system || inside(scope) || inside(&real) {
        return vec![scope.to_owned()];
    }
    visible.iter().filter(|folder| folder.starts_with(&real)).cloned().collect()
}

impl MaskWalk<'_> {
    fn run(&mut self, start: &Path) -> Result<(), Obstacle> {
        let Ok(real) = start.canonicalize() else { return Ok(()) };
        self.visit(start.to_owned(), real)?;
        while let Some((named, real)) = self.open.pop() {
            // A folder that cannot be read shows nothing to a program of the same user either.
            for entry in fs::read_dir(&real).into_iter().flatten().flatten() {
                self.count()?;
                let (named, path) = (named.join(entry.file_name()), entry.path());
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_symlink() {
                    self.link(named, &path)?;
                } else if kind.is_dir() {
                    self.visit(named, path)?;
                } else {
                    self.file(&named, &path)?;
                }
            }
        }
        Ok(())
    }

    /// A file or folder by its name and its real path.
    fn visit(&mut self, named: PathBuf, real: PathBuf) -> Result<(), Obstacle> {
        if !real.is_dir() {
            return self.file(&named, &real);
        }
        let reach = |access| self.reach(access, &named).max(self.reach(access, &real));
        let (read, edit) = (reach(PathAccess::Read), reach(PathAccess::Edit));
        if read == DenialReach::Everything {
            return self.hide(real);
        }
        if edit == DenialReach::Everything {
            self.close(real.clone())?;
        }
        if read == DenialReach::Something || edit == DenialReach::Something {
            self.open.push((named, real));
        }
        Ok(())
    }

    fn file(&mut self, named: &Path, real: &Path) -> Result<(), Obstacle> {
        if self.is_denied(PathAccess::Read, named) || self.is_denied(PathAccess::Read, real) {
            self.hide(real.to_owned())
        } else if self.is_denied(PathAccess::Edit, named) || self.is_denied(PathAccess::Edit, real)
        {
            self.close(real.to_owned())
        } else {
            Ok(())
        }
    }

    /// A link stands for its target, which no other rule may be about. A folder is followed only
    /// for rules about certain folders: others find its content where it is.
    fn link(&mut self, named: PathBuf, path: &Path) -> Result<(), Obstacle> {
        let Ok(target) = path.canonicalize() else { return Ok(()) };
        if !self.visible.iter().any(|folder| target.starts_with(folder)) {
            return Ok(());
        }
        if !target.is_dir() {
            return self.file(&named, &target);
        }
        let around = |scope: &PathBuf| scope.starts_with(&named) || named.starts_with(scope);
        if self.scopes.iter().any(around) && self.followed.insert(path.to_owned()) {
            return self.visit(named, target);
        }
        if self.reach(PathAccess::Read, &named) == DenialReach::Everything {
            return self.hide(target);
        }
        if self.reach(PathAccess::Edit, &named) == DenialReach::Everything {
            return self.close(target);
        }
        Ok(())
    }

    /// How far denials reach into a folder that is not denied as a whole.
    fn reach(&self, access: PathAccess, folder: &Path) -> DenialReach {
        if self.is_denied(access, folder) {
            return DenialReach::Everything;
        }
        self.denials.reach_into(access, folder)
    }

    fn is_denied(&self, access: PathAccess, path: &Path) -> bool {
        self.denials.denying_rule(access, path).is_some()
    }

    fn hide(&mut self, path: PathBuf) -> Result<(), Obstacle> {
        self.masks.hidden.insert(path);
        self.check_masks()
    }

    fn close(&mut self, path: PathBuf) -> Result<(), Obstacle> {
        self.masks.read_only.insert(path);
        self.check_masks()
    }

    fn check_masks(&self) -> Result<(), Obstacle> {
        let count = self.masks.hidden.len() + self.masks.read_only.len();
        if count > MAX_MASKS { Err(Obstacle::TooManyMasks) } else { Ok(()) }
    }

    fn count(&mut self) -> Result<(), Obstacle> {
        self.seen += 1;
        if self.seen > MAX_ENTRIES {
            return Err(Obstacle::TooManyEntries);
        }
        // Reading the clock costs more than visiting an entry.
        if self.seen.is_multiple_of(1024) && Instant::now() >= self.until {
            return Err(Obstacle::TooSlow);
        }
        Ok(())
    }
}

fn refusal(denials: &dyn PathDenials, obstacle: &Obstacle) -> ToolError {
    let why = match obstacle {
        Obstacle::TooManyEntries => format!("the folders have more than {MAX_ENTRIES} entries"),
        Obstacle::TooSlow => {
            format!("looking for them takes longer than {} s", MAX_TIME.as_secs())
        }
        Obstacle::TooManyMasks => format!("they are more than {MAX_MASKS}"),
    };
    let scopes = denials.scopes();
    let widest = scopes.iter().min_by_key(|(_, scope)| scope.components().count());
    let rule = widest.map(|(rule, _)| rule.named()).unwrap_or_default();
    ToolError::new(
        ErrorType::PolicyDenied,
        format!(
            "The program was not run: the files that the rule {rule} keeps from it could not all be hidden, because {why}. Use the file tools, and tell the user to name a folder in the rule, such as ./secrets/**."
        ),
    )
}
