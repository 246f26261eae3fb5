//! Skill folders: strict validation, copying and listing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::location::{Location, Problem, Scope};
use super::skill::{self, FILE, Skill};
use super::tool_lists::{ToolNames, expand_tool_list};
use super::{bounded_file, front_matter};

/// Maximum number of files in a skill's listing.
const MAX_LISTED: usize = 100;
/// Maximum number of files in a skill that is copied.
const MAX_FILES: usize = 500;
/// Maximum folder depth inside a skill.
const MAX_DEPTH: usize = 8;

/// Validates a skill's folder, or its `SKILL.md`, more strictly than loading does: unknown keys and
/// metadata that is not text are problems too. With `tools`, names of tools that are not among them
/// are also problems.
#[must_use]
pub fn validate_skill(path: &Path, tools: Option<&[ToolNames]>) -> Vec<Problem> {
    let folder = match path.file_name() {
        Some(name) if name == FILE => path.parent().unwrap_or(path),
        _ => path,
    };
    let path = folder.join(FILE);
    // `.` and `..` have no file name.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut faults =
        match skill::read(&folder, &Location::File { scope: Scope::User, path: path.clone() }) {
            Ok(body) => lint(&body.skill, tools),
            Err(faults) => faults,
        };
    if let Ok(text) = bounded_file::read(&folder, &folder.join(FILE)) {
        faults.extend(extensions(&text));
    }
    faults.into_iter().map(|fault| Problem::new(&path, fault)).collect()
}

/// Keys that only other programs may know.
fn extensions(text: &str) -> Vec<String> {
    let keys = front_matter::split(text).and_then(|(yaml, _)| skill::unknown_keys(yaml));
    let foreign = keys.unwrap_or_default().into_iter().filter(|key| key.slip.is_none());
    foreign.map(|key| format!("key \"{}\" is not part of the standard", key.key)).collect()
}

/// Problems that do not prevent loading.
fn lint(skill: &Skill, tools: Option<&[ToolNames]>) -> Vec<String> {
    let metadata = skill.metadata.iter().filter(|(_, value)| !matches!(value, Value::String(_)));
    let mut faults: Vec<String> =
        metadata.map(|(key, _)| format!("metadata.{key} is not text; put it in quotes")).collect();
    for (key, list) in
        [("allowed-tools", &skill.allowed_tools), ("tools_required", &skill.tools_required)]
    {
        let complaint = tools.and_then(|tools| expand_tool_list(Some(list), tools).complaint());
        faults
            .extend(complaint.map(|text| format!("{key}: {}", text.trim_start_matches("tools: "))));
    }
    faults
}

/// Copies a skill's folder to `to/NAME`: text files up to 256 KB each, without links and hidden
/// files. The copy is atomic.
///
/// # Errors
/// A [`Problem`] of the first file that cannot be copied; a skill that does not load, or whose name
/// is taken, is not copied.
pub fn add_skill(from: &Path, to: &Path) -> Result<Skill, Problem> {
    let from = from.canonicalize().map_err(|error| Problem::new(from, unreadable(&error)))?;
    let place = Location::File { scope: Scope::User, path: from.join(FILE) };
    let body = skill::read(&from, &place)
        .map_err(|faults| Problem::new(from.join(FILE), faults.join("; ")))?;
    let target = to.join(&body.skill.name);
    if target.exists() {
        return Err(Problem::new(target, "exists already; remove it first"));
    }
    let texts = texts(&from)?;
    // Written next to the target and renamed, so that a partial skill is never visible.
    let partial = to.join(format!(".{}.partial", body.skill.name));
    // Removes the rest of a failed attempt.
    drop(fs::remove_dir_all(&partial));
    let written = write(&texts, &from, &partial).and_then(|()| fs::rename(&partial, &target));
    if let Err(error) = written {
        // The folder is private to this function; if it cannot be removed, the first error is the
        // one to report.
        drop(fs::remove_dir_all(&partial));
        return Err(Problem::new(target, format!("cannot be written: {error}")));
    }
    let place = Location::File { scope: Scope::User, path: target.join(FILE) };
    Ok(Skill { location: place, ..body.skill })
}

fn unreadable(error: &std::io::Error) -> String {
    format!("cannot be read: {error}")
}

/// Reads every file of a skill with its text.
fn texts(folder: &Path) -> Result<Vec<(PathBuf, String)>, Problem> {
    let mut texts = Vec::new();
    let found = walk(folder, MAX_FILES)?;
    if found.len() > MAX_FILES {
        return Err(Problem::new(folder, format!("holds more than {MAX_FILES} files")));
    }
    for (path, kind) in found {
        let full = folder.join(&path);
        match kind {
            Kind::Link => {
                return Err(Problem::new(full, "is a link; a skill is copied without links"));
            }
            Kind::File => {
                let text = bounded_file::read(folder, &full)
                    .map_err(|fault| Problem::new(&full, fault))?;
                texts.push((path, text));
            }
        }
    }
    Ok(texts)
}

fn write(texts: &[(PathBuf, String)], from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for (path, text) in texts {
        let target = to.join(path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&target, text)?;
        // Keeps scripts executable.
        fs::set_permissions(&target, fs::metadata(from.join(path))?.permissions())?;
    }
    Ok(())
}

/// Returns the files of a skill besides its `SKILL.md`, as sorted relative paths; unreadable ones
/// are omitted.
pub(super) fn files(folder: &Path) -> Vec<String> {
    let found = walk(folder, MAX_LISTED).unwrap_or_default().into_iter();
    let names = found.filter(|(path, kind)| *kind == Kind::File && path != Path::new(FILE));
    names.map(|(path, _)| path.display().to_string()).take(MAX_LISTED).collect()
}

/// Returns all files of a skill, as sorted relative paths, without links.
///
/// # Errors
/// The problem, as a sentence fragment; also if there are more than `most` files.
pub(super) fn plain_files(folder: &Path, most: usize) -> Result<Vec<String>, String> {
    let found = walk(folder, most).map_err(|problem| problem.to_string())?;
    if found.len() > most {
        return Err(format!("holds more than {most} files"));
    }
    let files = found.into_iter().filter(|(_, kind)| *kind == Kind::File);
    Ok(files.map(|(path, _)| path.display().to_string()).collect())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Link,
}

/// Lists the content of a folder tree, as sorted relative paths; `most` + 1 if there are more.
/// Links are not followed.
fn walk(folder: &Path, most: usize) -> Result<Vec<(PathBuf, Kind)>, Problem> {
    let mut found = Vec::new();
    let mut open = vec![(PathBuf::new(), 0)];
    while let Some((inside, depth)) = open.pop() {
        let here = folder.join(&inside);
        for path in bounded_file::entries(&here).map_err(|fault| Problem::new(&here, fault))? {
            let relative = inside.join(path.file_name().unwrap_or_default());
            let meta = path.symlink_metadata().map_err(|e| Problem::new(&path, unreadable(&e)))?;
            if meta.is_dir() {
                if depth >= MAX_DEPTH {
                    return Err(Problem::new(path, "is nested too deeply for a skill"));
                }
                open.push((relative, depth + 1));
            } else {
                let kind = if meta.is_symlink() { Kind::Link } else { Kind::File };
                found.push((relative, kind));
            }
            if found.len() > most {
                return Ok(found);
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

#[cfg(test)]
mod tests;
