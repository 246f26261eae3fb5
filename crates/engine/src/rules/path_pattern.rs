//! Patterns of paths, as gitignore files have them, with the anchors that people know, and the
//! paths that they are compared with.
#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use toolcrib_core::DenialReach;

/// Links that are followed before a path counts as leading nowhere (Linux: 40).
const MAX_LINKS: usize = 40;

/// Matches everything inside a folder.
const ANYTHING: &str = "\u{1}";

/// Where a pattern begins.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Base {
    /// The workspace of the call.
    Workspace,
    /// A folder that is known: the root, the home folder, that of the rule file.
    Folder(PathBuf),
}

/// A pattern of paths.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    base: Base,
    /// The line as a gitignore file would have it; empty = every path.
    line: String,
    matcher: OnceLock<Gitignore>,
}

/// How a rule fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchKind {
    /// It is about something else.
    No,
    /// What it is about may be inside.
    Could,
    /// It is about this.
    Yes,
}

/// A path of a call.
#[derive(Debug, Clone)]
pub(super) struct PathSubject {
    /// By its text alone.
    lexical: PathBuf,
    /// Where it leads; `None` = nowhere is looked, or it leads in a circle.
    real: Option<PathBuf>,
    /// Other readings, for deny and ask rules.
    others: Vec<PathBuf>,
    /// Whether where it leads could not be found.
    is_lost: bool,
    is_dir: bool,
    within: bool,
    tree: bool,
}

/// How much of a folder a call is about.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    /// What is inside.
    pub(super) within: bool,
    /// If it is a folder, everything inside goes along.
    pub(super) tree: bool,
    /// The call says itself that it is a folder.
    pub(super) recursive: bool,
}

/// The workspace of a call: by its text, and where that leads.
#[derive(Debug, Clone, Default)]
pub(super) struct Workspace {
    lexical: PathBuf,
    real: Option<PathBuf>,
}

impl PathPattern {
    /// Every path.
    pub(super) fn all() -> Self {
        Self { base: Base::Workspace, line: String::new(), matcher: OnceLock::new() }
    }

    /// Whether it is about every path.
    pub(super) fn is_all(&self) -> bool {
        self.line.is_empty()
    }

    /// Whether it is relative to the workspace of the call.
    pub(super) fn is_of_workspace(&self) -> bool {
        self.base == Base::Workspace
    }

    /// Reads a specifier; `origin` says in which file (`PATH:LINE`).
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
                "only ~/ stands for a home folder; write //home/NAME/... for another one".into()
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
        // A line of a gitignore file may be a comment; a rule is none.
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
            // It was read before.
            let _ = builder.add_line(None, &self.line);
            builder.build().unwrap_or_else(|_| Gitignore::empty())
        })
    }

    /// The first part of the paths in the workspace that it is about; `None` = it may be about any.
    pub(super) fn first_part(&self) -> Option<&str> {
        if self.base != Base::Workspace || self.line.is_empty() || self.is_floating() {
            return None;
        }
        self.line.split('/').find(|part| !part.is_empty()).filter(|part| is_plain(part))
    }

    /// Whether it could be looked for in any folder: no separator but a last one.
    fn is_floating(&self) -> bool {
        !self.line.trim_end_matches('/').contains('/') || self.line.starts_with("**/")
    }

    /// Whether it is about a path, as deny and ask rules mean it: by text or by where it leads, and
    /// when it is about what is inside.
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

    /// Where the pattern begins, as deny and ask rules mean it; `follows` adds where that leads.
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

    /// The pattern where it begins, for deciding about many real paths without following links for
    /// each; `None` if it is about every path, wherever it is.
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
            // Everything in a folder above the base goes along.
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

    /// Whether something below a folder could fit.
    fn could_be_below(&self, folder: &Path) -> bool {
        if self.is_floating() {
            return true;
        }
        let parts = self.line.split('/').filter(|part| !part.is_empty());
        // Without `**`, a pattern of two parts is about nothing three folders deep, except below
        // what it matches itself.
        if !self.line.contains("**") && folder.components().count() >= parts.clone().count() {
            return false;
        }
        let plain = self.plain_prefix();
        plain.starts_with(folder) || folder.starts_with(&plain)
    }

    /// The parts of the pattern before the first one with a placeholder.
    fn plain_prefix(&self) -> PathBuf {
        let parts = self.line.split('/').filter(|part| !part.is_empty());
        parts.take_while(|part| is_plain(part)).collect()
    }

    /// Whether it is about a path, as allow rules mean it: by text and by where it leads.
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

    /// One spelling for all patterns that mean the same.
    pub(super) fn canonical(&self) -> String {
        format!("{:?}:{}", self.base, self.line)
    }
}

/// A deny rule's pattern with the folders where it begins, for deciding about many real paths.
#[derive(Debug, Clone)]
pub(super) struct AnchoredPattern {
    pattern: PathPattern,
    bases: Vec<PathBuf>,
}

/// Names that stand for any file in a folder: two, so that a pattern such as `?` is not taken for
/// all of them.
const ANY_NAMES: [&str; 2] = [ANYTHING, "\u{1}\u{2}.\u{3}"];

impl AnchoredPattern {
    /// Whether it is about a path, or about a folder above it.
    pub(super) fn is_about(&self, path: &Path) -> bool {
        let fits = |base: &PathBuf| {
            path.strip_prefix(base).is_ok_and(|relative| self.pattern.matches(relative, true))
        };
        self.bases.iter().any(fits)
    }

    /// How far it reaches into a folder.
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

    /// The deepest paths that contain all that it is about.
    pub(super) fn scopes(&self) -> impl Iterator<Item = PathBuf> {
        let prefix =
            if self.pattern.is_floating() { PathBuf::new() } else { self.pattern.plain_prefix() };
        self.bases.iter().map(move |base| base.join(&prefix))
    }
}

impl Workspace {
    /// The workspace folder of a call; empty = none.
    pub(super) fn new(folder: &str) -> Self {
        if folder.is_empty() {
            return Self::default();
        }
        let lexical = normalise(Path::new(folder));
        let real = lexical.is_dir().then(|| follow(&lexical)).flatten();
        Self { lexical, real }
    }

    /// Its folder as written and where that leads; none without a workspace.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        let lexical = Some(self.lexical.as_path()).filter(|folder| !folder.as_os_str().is_empty());
        lexical.into_iter().chain(self.real.as_deref())
    }

    /// A path of a call in it.
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
    /// The first parts of what it may be in a workspace; `None` = it may hold, or be, anything.
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

/// The home folder of the user of this process.
pub(super) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// The folder that `/path` of a rule file begins at: the file's own, or the one above where that is
/// only for settings.
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

/// A path without `.`, `..` and empty parts, by its text alone; `..` that lead out of a relative
/// path stay.
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

/// Whether a part of a pattern stands for itself.
fn is_plain(part: &str) -> bool {
    !part.contains(['*', '?', '[', '\\', '{'])
}

/// Where a path leads, links followed, also when its last parts do not exist yet; `None` = in a
/// circle, or it is no whole path.
fn follow(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    follow_from(Path::new("/"), path)
}

/// The same from a folder that holds no links in its own path.
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
