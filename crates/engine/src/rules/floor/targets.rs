//! Critical places: paths whose loss is the loss of the workspace, the home folder or a disk.
#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use toolcrib_shell_parser::{CommandLine, Word};

use super::super::path_pattern::{Workspace, home, normalise};
use super::folder_changes;

/// Folders of the root with the system or the files of people.
const SYSTEM: [&str; 28] = [
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "media",
    "mnt",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "Applications",
    "Library",
    "System",
    "Users",
    "Volumes",
    "Windows",
    "nix",
    "data",
    "snap",
];

/// Devices that a program can write to without harm.
const HARMLESS_DEVICES: [&str; 10] =
    ["null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty", "ptmx"];

/// A critical place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The root of the disk, or a folder of the system.
    Disk,
    Home,
    /// The workspace, or a folder above it.
    Workspace,
    /// The working directory of the command, or a folder above it.
    Here,
    /// The history of the workspace.
    History,
    /// A folder that is not known before the command runs.
    Unknown,
}

impl Place {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Disk => "the disk or a folder of the system",
            Self::Home => "the home folder",
            Self::Workspace => "the workspace",
            Self::Here => "the folder in which it runs",
            Self::History => "the history of the workspace",
            Self::Unknown => "a folder that is not known before it runs",
        }
    }

    /// Describes the loss, for the reason of a command that would destroy the place.
    pub(super) fn loss(self) -> String {
        format!("it would destroy {}", self.name())
    }

    /// Returns whether no filter makes the loss harmless.
    pub(super) fn is_beyond_workspace(self) -> bool {
        matches!(self, Self::Disk | Self::Home)
    }
}

/// Maximum folders against which relative paths of a line are resolved; with more, any folder
/// counts as possibly lost.
const MAX_BASES: usize = 16;

/// The critical places of a call.
pub(super) struct Places {
    workspace: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// Possible working directories of the line: the workspace, and the folders that `cd` changes
    /// to. Without a workspace they begin with an empty path.
    bases: Vec<PathBuf>,
    /// Whether other working directories are possible too.
    is_lost: bool,
}

impl Places {
    pub(super) fn new(line: &CommandLine, workspace: &Workspace) -> Self {
        let folders = workspace.folders().map(Path::to_owned).collect();
        let mut places = Self::of_folders(folders, home());
        let readings = line.segments.iter().flat_map(|segment| &segment.readings);
        for reading in readings {
            for folder in folder_changes::folders(reading) {
                places.enter(&folder);
            }
            if places.is_lost {
                break;
            }
        }
        places
    }

    fn of_folders(workspace: Vec<PathBuf>, home: Option<PathBuf>) -> Self {
        let bases = if workspace.is_empty() { vec![PathBuf::new()] } else { workspace.clone() };
        Self { workspace, home, bases, is_lost: false }
    }

    /// Changes to another folder, from each possible working directory.
    fn enter(&mut self, target: &Word) {
        let target = match target {
            Word::Known(text) => Cow::from(text.as_str()),
            Word::Unknown(text) => match self.of_known_variable(&unquoted(text)) {
                Some(path) => Cow::from(path),
                None => return,
            },
        };
        let target = self.expand_home(&target);
        for i in 0..self.bases.len() {
            let Some(folder) = self.bases.get(i).map(|base| normalise(&base.join(&*target))) else {
                return;
            };
            if self.bases.contains(&folder) {
                continue;
            }
            if self.bases.len() >= MAX_BASES {
                self.is_lost = true;
                return;
            }
            self.bases.push(folder);
        }
    }

    /// Returns the critical place that is lost if all paths that a word can denote are lost.
    pub(super) fn of(&self, word: &Word) -> Option<Place> {
        match word {
            Word::Known(text) => self.of_path(text),
            Word::Unknown(text) => self.of_expansion(&unquoted(text)),
        }
    }

    fn of_expansion(&self, text: &str) -> Option<Place> {
        if !text.starts_with(['$', '`']) {
            return self.of_path(text);
        }
        if let Some(path) = self.of_known_variable(text) {
            return self.of_path(&path);
        }
        let rest = without_expansions(text);
        let below = normalise(Path::new(trimmed(&rest).trim_start_matches('/')));
        let is_all = leads_up(&below) || trimmed(&rest).split('/').all(is_wild);
        is_all.then_some(Place::Unknown)
    }

    /// Resolves a path that begins with a variable or command whose value is known.
    fn of_known_variable(&self, text: &str) -> Option<String> {
        for pwd in ["$(pwd)", "`pwd`"] {
            if let Some(rest) = text.strip_prefix(pwd) {
                return Some(format!(".{rest}"));
            }
        }
        let variable = text.strip_prefix('$')?;
        let after = |names: &[&str]| after_variable(variable, names);
        let joined = |start: &str, rest: &str| {
            let is_path = rest.is_empty() || rest.starts_with('/');
            is_path.then(|| format!("{start}{rest}"))
        };
        after(&["HOME"])
            .and_then(|rest| joined("~", rest))
            .or_else(|| after(&["PWD", "OLDPWD"]).and_then(|rest| joined(".", rest)))
    }

    /// Replaces `~` in a path by the home folder.
    fn expand_home<'p>(&self, path: &'p str) -> Cow<'p, Path> {
        let Some(rest) = path.strip_prefix('~') else { return Path::new(path).into() };
        let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
        let below = below.trim_start_matches('/');
        let folder = match name {
            "+" | "-" => return Path::new(".").join(below).into(),
            "" => self.home.clone().unwrap_or_else(|| PathBuf::from("/home/user")),
            name => Path::new("/home").join(name),
        };
        folder.join(below).into()
    }

    fn of_path(&self, path: &str) -> Option<Place> {
        let path = trimmed(path);
        if path.is_empty() || path.split('/').all(is_wild) {
            return Some(if path.starts_with('/') { Place::Disk } else { Place::Here });
        }
        let path = normalise(&self.expand_home(path));
        if path.is_absolute() {
            return self.of_absolute(&path);
        }
        if leads_up(&path) {
            return Some(Place::Here);
        }
        if covers(&path, Path::new(".git")) {
            return Some(Place::History);
        }
        let found = self.bases.iter().find_map(|base| self.of_relative(&base.join(&path)));
        found.or_else(|| self.is_lost.then_some(Place::Unknown))
    }

    fn of_relative(&self, path: &Path) -> Option<Place> {
        let path = normalise(path);
        if path.is_absolute() {
            return self.of_absolute(&path);
        }
        match covers(&path, Path::new(".git")) {
            true => Some(Place::History),
            false => leads_up(&path).then_some(Place::Here),
        }
    }

    fn of_absolute(&self, path: &Path) -> Option<Place> {
        if self.home.as_deref().is_some_and(|home| home == path) {
            return Some(Place::Home);
        }
        let parts: Vec<&str> = path
            .components()
            .skip(1)
            .take(4)
            .filter_map(|part| part.as_os_str().to_str())
            .collect();
        match *parts.as_slice() {
            [] => return Some(Place::Disk),
            [first] if SYSTEM.iter().any(|folder| fits(first, folder)) => {
                return Some(Place::Disk);
            }
            [first, _] if fits(first, "home") || fits(first, "Users") => return Some(Place::Home),
            ["proc", _, "cwd"] => return Some(Place::Here),
            ["proc", _, "root"] => return Some(Place::Disk),
            _ => {}
        }
        if self.home.as_deref().is_some_and(|home| covers(path, home)) {
            return Some(Place::Home);
        }
        if self.workspace.iter().any(|folder| covers(path, folder)) {
            return Some(Place::Workspace);
        }
        let is_history = |folder: &PathBuf| covers(path, &folder.join(".git"));
        self.workspace.iter().any(is_history).then_some(Place::History)
    }
}

pub(super) fn unquoted(text: &str) -> String {
    text.chars().filter(|c| !"\"'\\".contains(*c)).collect()
}

/// Returns whether a normalised relative path is its base folder, or one above it.
fn leads_up(path: &Path) -> bool {
    path.components().all(|part| part == Component::ParentDir)
}

/// Returns whether a path, which may be a pattern, is the folder or one above it.
fn covers(path: &Path, folder: &Path) -> bool {
    let mut parts = folder.components();
    path.components().all(|pattern| {
        let text = |part: Component<'_>| part.as_os_str().to_string_lossy().into_owned();
        parts.next().is_some_and(|part| pattern == part || fits(&text(pattern), &text(part)))
    })
}

/// Returns whether a name matches a pattern. A character list matches any character, which errs on
/// the strict side.
fn fits(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?', '[']) {
        return pattern == name;
    }
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let pattern = simple(pattern);
    let mut ends: Vec<bool> = vec![false; name.chars().count().saturating_add(1)];
    if let Some(first) = ends.first_mut() {
        *first = true;
    }
    for sign in pattern {
        let mut before = false;
        let mut reached = false;
        for (at, end) in ends.iter_mut().enumerate() {
            let c = at.checked_sub(1).and_then(|at| name.chars().nth(at));
            let was = *end;
            reached |= was;
            *end = match sign {
                '*' => reached,
                '?' => before && c.is_some(),
                sign => before && c == Some(sign),
            };
            before = was;
        }
        if !ends.contains(&true) {
            return false;
        }
    }
    ends.last().copied().unwrap_or(false)
}

/// Returns the pattern with `?` in place of character lists.
fn simple(pattern: &str) -> Vec<char> {
    let mut signs = Vec::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if c == '[' {
            let list = rest.as_str();
            let from = list.char_indices().nth(1).map_or(list.len(), |(at, _)| at);
            let end = list.get(from..).and_then(|list| list.find(']'));
            if let Some(end) = end {
                let after = from.saturating_add(end).saturating_add(1);
                rest = list.get(after..).unwrap_or_default().chars();
                signs.push('?');
                continue;
            }
        }
        if c != '*' || signs.last() != Some(&'*') {
            signs.push(c);
        }
    }
    signs
}

/// Returns the text without its variables and commands.
fn without_expansions(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '`']) {
        let (before, expansion) = rest.split_at_checked(at).unwrap_or((rest, ""));
        kept.push_str(before);
        let body = expansion.get(1..).unwrap_or_default();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        rest = match (expansion.starts_with('`'), body.chars().next()) {
            (true, _) => body.split_once('`').map_or("", |(_, rest)| rest),
            (false, Some('{')) => after_bracket(body, '{', '}'),
            (false, Some('(')) => after_bracket(body, '(', ')'),
            (false, Some(c)) if !is_name(c) => body.get(c.len_utf8()..).unwrap_or_default(),
            _ => body.trim_start_matches(is_name),
        };
    }
    kept.push_str(rest);
    kept
}

/// Returns the text after the bracket that closes the first one.
fn after_bracket(text: &str, opens: char, closes: char) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == opens {
            depth = depth.saturating_add(1);
        } else if c == closes {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return text.get(at.saturating_add(1)..).unwrap_or_default();
            }
        }
    }
    ""
}

/// Returns the text after `NAME`, `{NAME}` or `{NAME:…}`.
fn after_variable<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    names.iter().find_map(|name| match text.strip_prefix('{') {
        Some(braced) => {
            let rest = braced.strip_prefix(name)?;
            rest.starts_with(['}', ':', '-', '?'])
                .then(|| rest.rsplit_once('}'))
                .flatten()
                .map(|(_, rest)| rest)
        }
        None => text
            .strip_prefix(name)
            .filter(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')),
    })
}

/// Returns the path without a suffix that matches everything in it: `/`, `/*`, `/.*`, `/**`.
fn trimmed(path: &str) -> &str {
    let mut path = path;
    loop {
        let Some((before, last)) = path.rsplit_once('/') else { return path };
        let is_rest = last.is_empty() || is_wild(last) || last == ".";
        if !is_rest {
            return path;
        }
        if before.is_empty() {
            return "/";
        }
        path = before;
    }
}

/// Returns whether a pattern matches every name, or every hidden one, or nearly all.
pub(super) fn is_wild(part: &str) -> bool {
    if part.is_empty() {
        return true;
    }
    let is_wide = |list: &str| {
        list.starts_with(['!', '^']) || ["-z", "-Z", "[:al"].iter().any(|end| list.contains(end))
    };
    let lists_are_wide = part.split('[').skip(1).all(|list| {
        list.split_once(']').is_none_or(|(list, _)| is_wide(list) || list.starts_with(':'))
    });
    part.contains('*') && lists_are_wide && simple(part).iter().all(|c| "*?.]".contains(*c))
}

/// Returns whether the path is a device whose content is lost when it is written.
pub(super) fn is_disk(path: &str) -> bool {
    let path = normalise(Path::new(path));
    let Ok(device) = path.strip_prefix("/dev") else { return false };
    let device = device.to_string_lossy();
    let folder = device.split('/').next().unwrap_or_default();
    !device.is_empty()
        && !HARMLESS_DEVICES.contains(&&*device)
        && !matches!(folder, "fd" | "pts" | "shm" | "tcp" | "udp" | "tty")
        && !device.starts_with("tty")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(word: &Word) -> Option<Place> {
        let home = Some(PathBuf::from("/home/ann"));
        Places::of_folders(vec![PathBuf::from("/projects/site")], home).of(word)
    }

    #[test]
    fn places_that_matter() {
        for (path, expected) in [
            ("/", Some(Place::Disk)),
            ("/etc", Some(Place::Disk)),
            ("/usr/", Some(Place::Disk)),
            ("//", Some(Place::Disk)),
            ("/tmp/../etc", Some(Place::Disk)),
            ("~", Some(Place::Home)),
            ("~/", Some(Place::Home)),
            ("~root", Some(Place::Home)),
            ("~/x/..", Some(Place::Home)),
            ("/home/ann", Some(Place::Home)),
            ("/home/bob/", Some(Place::Home)),
            (".", Some(Place::Here)),
            ("./", Some(Place::Here)),
            ("../..", Some(Place::Here)),
            ("build/..", Some(Place::Here)),
            ("../x/..", Some(Place::Here)),
            ("../site", Some(Place::Workspace)),
            ("../../projects/site/.git", Some(Place::History)),
            ("/proc/self/cwd/", Some(Place::Here)),
            ("~/../bob", Some(Place::Home)),
            ("/projects/site", Some(Place::Workspace)),
            ("/projects", Some(Place::Workspace)),
            (".git", Some(Place::History)),
            ("./.git/", Some(Place::History)),
            ("build", None),
            ("./build/", None),
            ("~/x", None),
            ("/tmp", None),
            ("/tmp/x", None),
            ("/etc/x", None),
            ("/projects/site/build", None),
            ("../other", None),
            ("sub/.git/x", None),
        ] {
            assert_eq!(place(&Word::Known(path.to_owned())), expected, "{path}");
        }
    }

    #[test]
    fn places_behind_patterns_and_variables() {
        for (text, expected) in [
            ("/*", Some(Place::Disk)),
            ("~/*", Some(Place::Home)),
            ("*", Some(Place::Here)),
            ("./*", Some(Place::Here)),
            (".*", Some(Place::Here)),
            (".[!.]*", Some(Place::Here)),
            (".[^.]*", Some(Place::Here)),
            ("..?*", Some(Place::Here)),
            ("[[:alnum:]]*", Some(Place::Here)),
            ("*/..", Some(Place::Here)),
            (".g*", Some(Place::History)),
            ("/[eu]*", Some(Place::Disk)),
            ("/project?", Some(Place::Workspace)),
            ("../s*", Some(Place::Workspace)),
            ("$PWD/build/..", Some(Place::Here)),
            ("`pwd`/.git", Some(Place::History)),
            ("$HOME/x/..", Some(Place::Home)),
            ("$A$B", Some(Place::Unknown)),
            ("\"${A:-${B}}/$C\"", Some(Place::Unknown)),
            ("$X/build/..", Some(Place::Unknown)),
            ("/home/ann/*", Some(Place::Home)),
            ("$HOME", Some(Place::Home)),
            ("\"$HOME\"/*", Some(Place::Home)),
            ("${HOME}/", Some(Place::Home)),
            ("${HOME:-/root}", Some(Place::Home)),
            ("$PWD", Some(Place::Here)),
            ("$X", Some(Place::Unknown)),
            ("\"$X\"/*", Some(Place::Unknown)),
            ("${X:?}/", Some(Place::Unknown)),
            ("$(pwd)", Some(Place::Here)),
            ("$(cat x)", Some(Place::Unknown)),
            ("$HOMES", Some(Place::Unknown)),
            ("$HOME/x", None),
            ("$X/build", None),
            ("build/*", None),
            ("*.o", None),
            ("[0-9]*", None),
            ("/x*", None),
            (".c*", None),
            ("*t", None),
            ("$PWD/build", None),
            ("build/$X", None),
        ] {
            assert_eq!(place(&Word::Unknown(text.to_owned())), expected, "{text}");
        }
    }

    #[test]
    fn places_after_a_change_of_the_folder() {
        let workspace = Workspace::new("/a-workspace/site");
        for (line, path, expected) in [
            ("cd /", "etc", Some(Place::Disk)),
            ("cd ..; cd ..", "a-workspace", Some(Place::Workspace)),
            ("cd .. && ls", "site", Some(Place::Workspace)),
            ("cd a", "../.git", Some(Place::History)),
            ("pushd /home", "x", Some(Place::Home)),
            ("(cd a); cd b", "build", None),
            ("cd $X", "build", None),
        ] {
            let places = Places::new(&toolcrib_shell_parser::parse(line), &workspace);
            assert_eq!(places.of(&Word::Known(path.to_owned())), expected, "{line}: {path}");
        }
        let line: String = (0..MAX_BASES).map(|i| format!("cd /x/{i};")).collect();
        let places = Places::new(&toolcrib_shell_parser::parse(&line), &workspace);
        assert_eq!(places.of(&Word::Known("x".to_owned())), Some(Place::Unknown));
    }

    #[test]
    fn disks() {
        for path in [
            "/dev/sda",
            "//dev/./sda",
            "/dev/nvme0n1",
            "/dev/mapper/root",
            "/dev/disk/by-id/x",
            "/dev/mem",
        ] {
            assert!(is_disk(path), "{path}");
        }
        for path in
            ["/dev/null", "/dev/stderr", "/dev/tty1", "/dev/fd/3", "/dev/shm/x", "/dev/", "dev/sda"]
        {
            assert!(!is_disk(path), "{path}");
        }
    }
}
