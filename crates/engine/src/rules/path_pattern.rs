//! Path patterns in gitignore syntax with the usual anchors, and the paths that they are compared
//! with.
#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use toolcrib_core::DenialReach;

/// Maximum links that are followed before a path counts as unresolvable (Linux: 40).
const MAX_LINKS: usize = 40;

/// Matches everything inside a folder.
const ANYTHING: &str = "\u{1}";

/// Base of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Base {
    /// The workspace of the call.
    Workspace,
    /// A known folder: the root, the home folder, or that of the rule file.
    Folder(PathBuf),
}

/// A pattern of paths.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    base: Base,
    /// The pattern as a line of a gitignore file; empty for every path.
    line: String,
    matcher: OnceLock<Gitignore>,
}

/// Result of comparing a pattern with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchKind {
    /// The pattern does not match.
    No,
    /// The pattern may match something inside.
    Could,
    /// The pattern matches.
    Yes,
}

/// A path of a call.
#[derive(Debug, Clone)]
pub(super) struct PathSubject {
    /// The path by its text alone.
    lexical: PathBuf,
    /// The path with links resolved; `None` if links are not resolved, or form a cycle.
    real: Option<PathBuf>,
    /// Other readings, for deny and ask rules.
    others: Vec<PathBuf>,
    /// Whether the real path could not be resolved.
    is_lost: bool,
    is_dir: bool,
    within: bool,
    tree: bool,
}

/// The part of a folder that a call uses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    /// The entries of the folder.
    pub(super) within: bool,
    /// If it is a folder, everything inside it too.
    pub(super) tree: bool,
    /// The call itself states that the path is a folder.
    pub(super) recursive: bool,
}

/// The workspace of a call: by its text, and with links resolved.
#[derive(Debug, Clone, Default)]
pub(super) struct Workspace {
    lexical: PathBuf,
    real: Option<PathBuf>,
}

impl PathPattern {
    /// Creates the pattern for every path.
    pub(super) fn all() -> Self {
        Self { base: Base::Workspace, line: String::new(), matcher: OnceLock::new() }
    }

    /// Returns whether the pattern matches every path.
    pub(super) fn is_all(&self) -> bool {
        self.line.is_empty()
    }

    /// Returns whether the pattern is relative to the workspace of the call.
    pub(super) fn is_of_workspace(&self) -> bool {
        self.base == Base::Workspace
    }

    /// Parses a specifier; `origin` is its location (`PATH:LINE`).
    pub(super) fn parse(specifier: &str, origin: &str) -> Result<Self, String> {
        if let Some(rest) = specifier.strip_prefix('!') {
            return Err(format!("a pattern has no exceptions; write a rule of its own for {rest}"));
        }
        if specifier.contains('\0') || specifier.contains('\n') {
            return Err("a path holds no such character".to_owned());
        }
        let known_home = || home().ok_or_else(|| "there is no home folder".to_owned());
        let (base, line) = if specifier.starts_with("//") {
            let path = specifier.trim_start_matches('/');
            (Base::Folder(PathBuf::from("/")), format!("/{path}"))
        } else if let Some(rest) = specifier.strip_prefix("~/") {
            (Base::Folder(known_home()?), format!("/{rest}"))
        } else if specifier == "~" {
            (Base::Folder(known_home()?), "/**".to_owned())
        } else if specifier.starts_with('~') {
            return Err(
                "only ~/ means a home folder; write //home/NAME/... for another user's".into()
            );
        } else if specifier.starts_with('/') {
            let folder = folder_of(origin).map_or(Base::Workspace, Base::Folder);
            (folder, specifier.to_owned())
        } else if let Some(rest) = specifier.strip_prefix("./") {
            (Base::Workspace, format!("/{rest}"))
        } else if specifier == "." {
            (Base::Workspace, "/**".to_owned())
        } else {
            (Base::Workspace, specifier.to_owned())
        };
        let parts = line.split('/');
        if parts.clone().any(|part| part == ".." || part == ".") {
            return Err(
                "\".\" and \"..\" inside can never match; write the path without them".to_owned()
            );
        }
        if parts.skip(1).any(str::is_empty) && !line.ends_with('/') {
            return Err("\"//\" inside can never match; write / once".to_owned());
        }
        // A line of a gitignore file may be a comment; a rule is not.
        let line = if line.starts_with('#') { format!("\\{line}") } else { line };
        let pattern = Self { base, line, matcher: OnceLock::new() };
        let mut builder = GitignoreBuilder::new("");
        builder
            .add_line(None, &pattern.line)
            .map_err(|error| format!("this is not a pattern of paths: {error}"))?;
        Ok(pattern)
    }

    fn matcher(&self) -> &Gitignore {
        self.matcher.get_or_init(|| {
            let mut builder = GitignoreBuilder::new("");
            // The pattern was already parsed successfully.
            let _ = builder.add_line(None, &self.line);
            builder.build().unwrap_or_else(|_| Gitignore::empty())
        })
    }

    /// Returns the first part of the workspace paths that the pattern can match; `None` if it may
    /// match any.
    pub(super) fn first_part(&self) -> Option<&str> {
        if self.base != Base::Workspace || self.line.is_empty() || self.is_floating() {
            return None;
        }
        self.line.split('/').find(|part| !part.is_empty()).filter(|part| is_plain(part))
    }

    /// Returns whether the pattern can match in any folder: it has no separator except a final one.
    fn is_floating(&self) -> bool {
        !self.line.trim_end_matches('/').contains('/') || self.line.starts_with("**/")
    }

    /// Compares the pattern with a path for deny and ask rules: by text or by the real path,
    /// including matches inside a folder.
    pub(super) fn match_strictly(&self, subject: &PathSubject, workspace: &Workspace) -> MatchKind {
        if self.line.is_empty() {
            return MatchKind::Yes;
        }
        let mut best = if subject.is_lost { MatchKind::Could } else { MatchKind::No };
        let bases = self.strict_bases(workspace, subject.real.is_some());
        for path in subject.paths() {
            for base in &bases {
                best = best.max(self.fits_at(path, base, subject));
                if best == MatchKind::Yes {
                    return best;
                }
            }
        }
        best
    }

    /// Returns the bases of the pattern for deny and ask rules; `follows` adds their real paths.
    fn strict_bases<'a>(&'a self, workspace: &'a Workspace, follows: bool) -> Vec<Cow<'a, Path>> {
        let mut bases: Vec<Cow<'_, Path>> = match &self.base {
            Base::Workspace => {
                let all = std::iter::once(&*workspace.lexical).chain(workspace.real.as_deref());
                all.map(Cow::from).collect()
            }
            Base::Folder(folder) => {
                let real = follows.then(|| follow(folder)).flatten();
                std::iter::once(Cow::from(&**folder)).chain(real.map(Cow::from)).collect()
            }
        };
        if self.is_floating() {
            bases.push(Path::new("/").into());
        }
        bases
    }

    /// Returns the pattern with its base folders, for deciding about many real paths without
    /// resolving links for each; `None` if it matches every path anywhere.
    pub(super) fn anchored(&self, workspace: &Workspace) -> Option<AnchoredPattern> {
        let bases = self.strict_bases(workspace, true).into_iter();
        let mut bases: Vec<PathBuf> =
            bases.map(Cow::into_owned).filter(|base| base.is_absolute()).collect();
        bases.sort_unstable();
        bases.dedup();
        (!self.is_all()).then(|| AnchoredPattern { pattern: self.clone(), bases })
    }

    fn fits_at(&self, path: &Path, base: &Path, subject: &PathSubject) -> MatchKind {
        let Ok(relative) = path.strip_prefix(base) else {
            // A match of a folder above the base includes everything in it.
            return match subject.tree && base.starts_with(path) {
                true => MatchKind::Could,
                false => MatchKind::No,
            };
        };
        let inside = || subject.within && self.matches(&relative.join(ANYTHING), true);
        if self.matches(relative, true) || inside() {
            return MatchKind::Yes;
        }
        if subject.tree && self.could_be_below(relative) { MatchKind::Could } else { MatchKind::No }
    }

    /// Returns whether the pattern could match something below a folder.
    fn could_be_below(&self, folder: &Path) -> bool {
        if self.is_floating() {
            return true;
        }
        let parts = self.line.split('/').filter(|part| !part.is_empty());
        // Without `**`, a pattern of two parts cannot match three folders deep, except below its
        // own matches.
        if !self.line.contains("**") && folder.components().count() >= parts.clone().count() {
            return false;
        }
        let plain = self.plain_prefix();
        plain.starts_with(folder) || folder.starts_with(&plain)
    }

    /// Returns the parts of the pattern before the first one with a placeholder.
    fn plain_prefix(&self) -> PathBuf {
        let parts = self.line.split('/').filter(|part| !part.is_empty());
        parts.take_while(|part| is_plain(part)).collect()
    }

    /// Returns whether the pattern matches a path for allow rules: both by text and by the real
    /// path.
    pub(super) fn may_match(&self, subject: &PathSubject, workspace: &Workspace) -> bool {
        if self.line.is_empty() {
            return true;
        }
        if subject.is_lost {
            return false;
        }
        let (base, real_base) = match &self.base {
            Base::Workspace => (workspace.lexical.clone(), workspace.real.clone()),
            Base::Folder(folder) => {
                (folder.clone(), subject.real.as_ref().and_then(|_| follow(folder)))
            }
        };
        let fits = |path: &Path, base: &Path| {
            let Ok(relative) = path.strip_prefix(base) else { return false };
            if relative.components().any(|part| part == Component::ParentDir) {
                return false;
            }
            let inside = || subject.within && self.matches(&relative.join(ANYTHING), false);
            self.matches(relative, subject.is_dir) || inside()
        };
        fits(&subject.lexical, &base)
            && subject
                .real
                .as_deref()
                .is_none_or(|real| fits(real, real_base.as_deref().unwrap_or(&base)))
    }

    fn matches(&self, relative: &Path, is_dir: bool) -> bool {
        if relative.as_os_str().is_empty() || relative.has_root() {
            return false;
        }
        self.matcher().matched_path_or_any_parents(relative, is_dir).is_ignore()
    }

    /// Returns one spelling for all equivalent patterns.
    pub(super) fn canonical(&self) -> String {
        format!("{:?}:{}", self.base, self.line)
    }
}

/// A deny rule's pattern with its base folders, for deciding about many real paths.
#[derive(Debug, Clone)]
pub(super) struct AnchoredPattern {
    pattern: PathPattern,
    bases: Vec<PathBuf>,
}

/// Names that represent any file in a folder: two, so that a pattern such as `?` does not match all
/// of them.
const ANY_NAMES: [&str; 2] = [ANYTHING, "\u{1}\u{2}.\u{3}"];

impl AnchoredPattern {
    /// Returns whether the pattern matches a path or a folder above it.
    pub(super) fn is_about(&self, path: &Path) -> bool {
        let fits = |base: &PathBuf| {
            path.strip_prefix(base).is_ok_and(|relative| self.pattern.matches(relative, true))
        };
        self.bases.iter().any(fits)
    }

    /// Returns how far the pattern reaches into a folder.
    pub(super) fn reach_into(&self, folder: &Path) -> DenialReach {
        let reach = |base: &PathBuf| {
            let Ok(relative) = folder.strip_prefix(base) else {
                return match base.starts_with(folder) {
                    true => DenialReach::Something,
                    false => DenialReach::Nothing,
                };
            };
            if ANY_NAMES.iter().all(|name| self.pattern.matches(&relative.join(name), true)) {
                DenialReach::Everything
            } else if self.pattern.could_be_below(relative) {
                DenialReach::Something
            } else {
                DenialReach::Nothing
            }
        };
        self.bases.iter().map(reach).max().unwrap_or(DenialReach::Nothing)
    }

    /// Returns the deepest paths that contain everything that the pattern can match.
    pub(super) fn scopes(&self) -> impl Iterator<Item = PathBuf> {
        let prefix =
            if self.pattern.is_floating() { PathBuf::new() } else { self.pattern.plain_prefix() };
        self.bases.iter().map(move |base| base.join(&prefix))
    }
}

impl Workspace {
    /// Creates the workspace of a call; empty for none.
    pub(super) fn new(folder: &str) -> Self {
        if folder.is_empty() {
            return Self::default();
        }
        let lexical = normalise(Path::new(folder));
        let real = lexical.is_dir().then(|| follow(&lexical)).flatten();
        Self { lexical, real }
    }

    /// Returns the folder as written and its real path; none without a workspace.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        let lexical = Some(self.lexical.as_path()).filter(|folder| !folder.as_os_str().is_empty());
        lexical.into_iter().chain(self.real.as_deref())
    }

    /// Creates the subject for a path of a call in this workspace.
    pub(super) fn subject(&self, text: &str, extent: Extent) -> PathSubject {
        let text = if text.is_empty() { "." } else { text };
        let whole = self.lexical.join(text);
        let lexical = normalise(&whole);
        let looked = self.real.is_some();
        let real = self.real.as_deref().and_then(|folder| match Path::new(text).is_absolute() {
            true => follow(&whole),
            false => follow_from(folder, Path::new(text)),
        });
        let from_home = |rest: &str| Some(normalise(&home()?.join(rest)));
        let others = text.strip_prefix("~/").and_then(from_home).into_iter().collect();
        let is_dir = real.as_deref().is_some_and(Path::is_dir);
        PathSubject {
            is_lost: looked && real.is_none(),
            others,
            lexical,
            real,
            is_dir,
            within: extent.within,
            tree: extent.tree && (is_dir || (!looked && extent.recursive)),
        }
    }
}

impl PathSubject {
    /// Returns the first parts of its possible paths in a workspace; `None` if it may contain, or
    /// be, anything.
    pub(super) fn first_parts(&self, workspace: &Workspace) -> Option<Vec<&str>> {
        let mut parts = Vec::new();
        for path in self.paths() {
            for base in std::iter::once(&workspace.lexical).chain(&workspace.real) {
                match path.strip_prefix(base) {
                    Ok(inside) => parts.push(inside.components().next()?.as_os_str().to_str()?),
                    Err(_) if self.tree && base.starts_with(path) => return None,
                    Err(_) => {}
                }
            }
        }
        (!self.is_lost).then_some(parts)
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.lexical).chain(&self.real).chain(&self.others).map(PathBuf::as_path)
    }
}

/// Returns the home folder of the user of this process.
pub(super) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Returns the base folder for `/path` in a rule file: the file's own folder, or its parent if that
/// folder is only for settings.
fn folder_of(origin: &str) -> Option<PathBuf> {
    let file = match origin.rsplit_once(':') {
        Some((file, line)) if line.bytes().all(|b| b.is_ascii_digit()) => file,
        _ => origin,
    };
    let folder = Path::new(file).parent().filter(|folder| folder.is_absolute())?;
    let name = folder.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let folder = match name {
        ".toolcrib" | ".claude" | ".codex" => folder.parent()?,
        _ => folder,
    };
    Some(normalise(folder))
}

/// Removes `.`, `..` and empty parts from a path, by its text alone; `..` parts that lead out of a
/// relative path remain.
pub(super) fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                let up = matches!(out.components().next_back(), Some(Component::Normal(_)));
                if up {
                    out.pop();
                } else if !out.has_root() {
                    out.push("..");
                }
            }
            part => out.push(part),
        }
    }
    out
}

/// Returns whether a part of a pattern is literal.
fn is_plain(part: &str) -> bool {
    !part.contains(['*', '?', '[', '\\', '{'])
}

/// Resolves the links of a path, even if its last parts do not exist yet; `None` if the links form
/// a cycle or the path is not absolute.
fn follow(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    follow_from(Path::new("/"), path)
}

/// Resolves the links of a path relative to a folder whose own path contains no links.
fn follow_from(folder: &Path, path: &Path) -> Option<PathBuf> {
    let mut left: Vec<std::ffi::OsString> = Vec::new();
    let push = |left: &mut Vec<std::ffi::OsString>, path: &Path| {
        left.extend(path.components().rev().map(|part| part.as_os_str().to_owned()));
    };
    push(&mut left, path);
    let mut at = folder.to_owned();
    let mut links = 0;
    while let Some(part) = left.pop() {
        match part.to_str() {
            Some("/") => at = PathBuf::from("/"),
            Some(".") => {}
            Some("..") => {
                at.pop();
            }
            _ => {
                at.push(&part);
                if let Ok(target) = std::fs::read_link(&at) {
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    at.pop();
                    push(&mut left, &target);
                }
            }
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests;
