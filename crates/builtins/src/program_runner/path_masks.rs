//! Path masks: the paths that rules deny to a program, resolved on this host before the program
//! starts.
//!
//! A sandbox masks existing files and folders, so a walk expands the patterns. It enters only
//! folders that a rule may affect. A rule that names a folder masks the complete folder, including
//! later entries; a pattern for single files masks only files that exist at the start.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_core::{DenialReach, ErrorType, PathAccess, PathDenials, ToolError};
use toolcrib_sandbox::{Policy, SYSTEM_FOLDERS};

use super::program_policy::ProgramPolicy;

/// Maximum entries that are visited for one program. A pattern for any folder visits the whole
/// workspace; a million entries take about a second.
const MAX_ENTRIES: usize = 1_000_000;
/// Time limit of the walk: to the caller, a longer start would look like a hang.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Maximum masked paths of one program: each is one mount, or several Landlock rules.
const MAX_MASKS: usize = 2000;

/// Maximum masked paths that a note names.
const MAX_NAMED: usize = 5;

/// The paths that rules deny to a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathMasks {
    /// Paths that appear empty.
    hidden: BTreeSet<PathBuf>,
    /// Paths that cannot be changed.
    read_only: BTreeSet<PathBuf>,
}

/// The limit that the search for masks exceeded.
enum ExceededLimit {
    Entries,
    Time,
    Masks,
}

/// A walk over the paths that the denials may affect.
struct MaskWalk<'a> {
    denials: &'a dyn PathDenials,
    /// Real paths of the folders that the program may see.
    visible: &'a [PathBuf],
    /// The folders to which rules for specific folders apply.
    scopes: Vec<PathBuf>,
    /// Folders to enter: their names in rules, and their real paths.
    open: Vec<(PathBuf, PathBuf)>,
    /// Followed links. Each link is followed once, so that a circle ends.
    followed: BTreeSet<PathBuf>,
    seen: usize,
    until: Instant,
    masks: PathMasks,
}

impl PathMasks {
    /// Resolves the masks of a program under a policy.
    ///
    /// # Errors
    /// `policy_denied` if the paths cannot be found within the limits; the program must not run
    /// then.
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
            // `/` is the scope of patterns that may match anywhere.
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

    /// Returns whether nothing is masked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether these masks cover every path that `other` covers.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let covers = |own: &BTreeSet<PathBuf>, path: &Path| {
            path.ancestors().any(|above| own.contains(above))
        };
        other.hidden.iter().all(|path| covers(&self.hidden, path))
            && other.read_only.iter().all(|path| covers(&self.read_only, path))
    }

    /// Returns the paths that appear empty.
    pub fn hidden(&self) -> impl Iterator<Item = &Path> {
        self.hidden.iter().map(PathBuf::as_path)
    }

    /// Returns a sentence for a model on the paths that appear empty; `None` if there are none.
    /// `folder` is the folder of the workspace.
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

    /// Returns the masks without hidden paths, for a program whose tool itself excludes denied
    /// files.
    pub(super) fn only_read_only(self) -> Self {
        Self { hidden: BTreeSet::new(), ..self }
    }

    /// Adds the masks to a policy.
    pub fn apply(&self, policy: &mut Policy) {
        policy.masked.extend(self.hidden.iter().cloned());
        policy.read_only.extend(self.read_only.iter().cloned());
        // A writable folder inside a read-only one becomes readable only.
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

/// Returns the folders where the walk for a scope starts. A pattern that may match anywhere applies
/// to the folders that the program may see; system files are masked only by a rule that names their
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
    fn run(&mut self, start: &Path) -> Result<(), ExceededLimit> {
        let Ok(real) = start.canonicalize() else { return Ok(()) };
        self.visit(start.to_owned(), real)?;
        while let Some((named, real)) = self.open.pop() {
            // A folder that cannot be read is not readable for a program of the same user either.
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

    /// Visits a file or folder, given by its name in rules and its real path.
    fn visit(&mut self, named: PathBuf, real: PathBuf) -> Result<(), ExceededLimit> {
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

    fn file(&mut self, named: &Path, real: &Path) -> Result<(), ExceededLimit> {
        if self.is_denied(PathAccess::Read, named) || self.is_denied(PathAccess::Read, real) {
            self.hide(real.to_owned())
        } else if self.is_denied(PathAccess::Edit, named) || self.is_denied(PathAccess::Edit, real)
        {
            self.close(real.to_owned())
        } else {
            Ok(())
        }
    }

    /// Visits the target of a link. A folder is followed only for rules about specific folders;
    /// other rules find its content under its own path.
    fn link(&mut self, named: PathBuf, path: &Path) -> Result<(), ExceededLimit> {
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

    /// Returns how far denials extend into a folder that is not denied as a whole.
    fn reach(&self, access: PathAccess, folder: &Path) -> DenialReach {
        if self.is_denied(access, folder) {
            return DenialReach::Everything;
        }
        self.denials.reach_into(access, folder)
    }

    fn is_denied(&self, access: PathAccess, path: &Path) -> bool {
        self.denials.denying_rule(access, path).is_some()
    }

    fn hide(&mut self, path: PathBuf) -> Result<(), ExceededLimit> {
        self.masks.hidden.insert(path);
        self.check_masks()
    }

    fn close(&mut self, path: PathBuf) -> Result<(), ExceededLimit> {
        self.masks.read_only.insert(path);
        self.check_masks()
    }

    fn check_masks(&self) -> Result<(), ExceededLimit> {
        let count = self.masks.hidden.len() + self.masks.read_only.len();
        if count > MAX_MASKS { Err(ExceededLimit::Masks) } else { Ok(()) }
    }

    fn count(&mut self) -> Result<(), ExceededLimit> {
        self.seen += 1;
        if self.seen > MAX_ENTRIES {
            return Err(ExceededLimit::Entries);
        }
        // Read the clock only every 1024 entries: reading it costs more than visiting an entry.
        if self.seen.is_multiple_of(1024) && Instant::now() >= self.until {
            return Err(ExceededLimit::Time);
        }
        Ok(())
    }
}

fn refusal(denials: &dyn PathDenials, obstacle: &ExceededLimit) -> ToolError {
    let why = match obstacle {
        ExceededLimit::Entries => format!("the folders have more than {MAX_ENTRIES} entries"),
        ExceededLimit::Time => {
            format!("looking for them takes longer than {} s", MAX_TIME.as_secs())
        }
        ExceededLimit::Masks => format!("they are more than {MAX_MASKS}"),
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
