//! Paths whose loss is the loss of the workspace, the home folder or a disk.
#![deny(clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use toolcrib_shell_parser::Word;

use super::super::path_pattern::{Workspace, home, normalise};

/// Folders of the root that hold the system or the files of people.
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

/// Devices that a program can write without harm.
const HARMLESS_DEVICES: [&str; 10] =
    ["null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty", "ptmx"];

/// A place whose loss matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The root of the disk, or a folder of the system.
    Disk,
    Home,
    /// The workspace, or a folder above it.
    Workspace,
    /// The folder in which the command runs, or one above it.
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

    /// Whether it is one that no filter makes harmless.
    pub(super) fn is_beyond_workspace(self) -> bool {
        matches!(self, Self::Disk | Self::Home)
    }
}

/// The places of this call.
pub(super) struct Places {
    workspace: Vec<PathBuf>,
    home: Option<PathBuf>,
}

impl Places {
    pub(super) fn new(workspace: &Workspace) -> Self {
        let folders = workspace.folders().map(Path::to_owned).collect();
        Self { workspace: folders, home: home() }
    }

    /// The place that is lost with everything that a word stands for.
    pub(super) fn of(&self, word: &Word) -> Option<Place> {
        match word {
            Word::Known(text) => self.of_path(trimmed(text)),
            Word::Unknown(text) => {
                let plain: String = text.chars().filter(|c| !"\"'\\".contains(*c)).collect();
                self.of_expansion(&plain)
            }
        }
    }

    fn of_expansion(&self, text: &str) -> Option<Place> {
        let Some(variable) = text.strip_prefix('$').or_else(|| text.strip_prefix('`')) else {
            return self.of_path(trimmed(text));
        };
        if let Some(rest) = after_variable(variable, &["HOME"]) {
            return trimmed(rest).trim_start_matches('/').is_empty().then_some(Place::Home);
        }
        if let Some(rest) = after_variable(variable, &["PWD", "OLDPWD"]) {
            return trimmed(rest).trim_start_matches('/').is_empty().then_some(Place::Here);
        }
        let rest = match variable.strip_prefix(['{', '(']) {
            Some(_) => variable.rsplit_once(['}', ')']).map_or("", |(_, rest)| rest),
            None => variable.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'),
        };
        trimmed(rest).trim_matches('/').is_empty().then_some(Place::Unknown)
    }

    /// `path` is without a pattern for everything at its end.
    fn of_path(&self, path: &str) -> Option<Place> {
        if path.is_empty() || path.split('/').all(is_wild) {
            return Some(if path.starts_with('/') { Place::Disk } else { Place::Here });
        }
        if let Some(rest) = path.strip_prefix('~') {
            let (_, below) = rest.split_once('/').unwrap_or((rest, ""));
            let stays = normalise(Path::new(below));
            return (stays.as_os_str().is_empty() || stays.starts_with(".."))
                .then_some(Place::Home);
        }
        if path.split('/').all(|part| matches!(part, "." | ".." | "")) && !path.starts_with('/') {
            return Some(Place::Here);
        }
        let relative = normalise(Path::new(path));
        if relative == Path::new(".git") {
            return Some(Place::History);
        }
        if Path::new(path).is_absolute() {
            return self.of_absolute(&relative);
        }
        self.workspace.iter().find_map(|folder| self.of_absolute(&normalise(&folder.join(path))))
    }

    fn of_absolute(&self, path: &Path) -> Option<Place> {
        let mut parts = path.components().skip(1).filter_map(|part| part.as_os_str().to_str());
        let (first, second, third) = (parts.next(), parts.next(), parts.next());
        match (first, second) {
            (None, _) => return Some(Place::Disk),
            (Some(first), None) if SYSTEM.contains(&first) => return Some(Place::Disk),
            (Some("home" | "Users"), Some(_)) if third.is_none() => return Some(Place::Home),
            _ => {}
        }
        if self.home.as_deref().is_some_and(|home| home.starts_with(path)) {
            return Some(Place::Home);
        }
        if self.workspace.iter().any(|folder| folder.starts_with(path)) {
            return Some(Place::Workspace);
        }
        let is_history = |folder: &PathBuf| folder.join(".git") == path;
        self.workspace.iter().any(is_history).then_some(Place::History)
    }
}

/// The text after `NAME`, `{NAME}` or `{NAME:…}`.
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

/// A path without what stands for everything in it: `/`, `/*`, `/.*`, `/**`.
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

/// A pattern that fits every name, or every hidden one.
fn is_wild(part: &str) -> bool {
    part.is_empty() || (part.contains('*') && part.chars().all(|c| "*?.![]".contains(c)))
}

/// A device whose content is lost when it is written.
pub(super) fn is_disk(path: &str) -> bool {
    let Some(device) = path.strip_prefix("/dev/") else { return false };
    let folder = device.split('/').next().unwrap_or_default();
    !device.is_empty()
        && !HARMLESS_DEVICES.contains(&device)
        && !matches!(folder, "fd" | "pts" | "shm" | "tcp" | "udp" | "tty")
        && !device.starts_with("tty")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(word: &Word) -> Option<Place> {
        let places = Places {
            workspace: vec![PathBuf::from("/work/site")],
            home: Some(PathBuf::from("/home/ann")),
        };
        places.of(word)
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
            ("build/..", Some(Place::Workspace)),
            ("/work/site", Some(Place::Workspace)),
            ("/work", Some(Place::Workspace)),
            (".git", Some(Place::History)),
            ("./.git/", Some(Place::History)),
            ("build", None),
            ("./build/", None),
            ("~/x", None),
            ("/tmp", None),
            ("/tmp/x", None),
            ("/etc/x", None),
            ("/work/site/build", None),
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
            ("/home/ann/*", Some(Place::Home)),
            ("$HOME", Some(Place::Home)),
            ("\"$HOME\"/*", Some(Place::Home)),
            ("${HOME}/", Some(Place::Home)),
            ("${HOME:-/root}", Some(Place::Home)),
            ("$PWD", Some(Place::Here)),
            ("$X", Some(Place::Unknown)),
            ("\"$X\"/*", Some(Place::Unknown)),
            ("${X:?}/", Some(Place::Unknown)),
            ("$(pwd)", Some(Place::Unknown)),
            ("$HOMES", Some(Place::Unknown)),
            ("$HOME/x", None),
            ("$X/build", None),
            ("build/*", None),
            ("*.o", None),
            ("build/$X", None),
        ] {
            assert_eq!(place(&Word::Unknown(text.to_owned())), expected, "{text}");
        }
    }

    #[test]
    fn disks() {
        for path in
            ["/dev/sda", "/dev/nvme0n1", "/dev/mapper/root", "/dev/disk/by-id/x", "/dev/mem"]
        {
            assert!(is_disk(path), "{path}");
        }
        for path in
            ["/dev/null", "/dev/stderr", "/dev/tty1", "/dev/fd/3", "/dev/shm/x", "/dev/", "dev/sda"]
        {
            assert!(!is_disk(path), "{path}");
        }
    }
}
