//! Folders of skills: checked as the standard's validator does, copied, listed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::place::{Place, Problem, Scope};
use super::skill::{self, FILE, Skill};
use super::tools::{ToolNames, expand};
use super::{file, front_matter};

/// Most files that a skill's listing names.
const MAX_LISTED: usize = 100;
/// Most files of a skill that is copied.
const MAX_FILES: usize = 500;
/// Deepest folder inside a skill that is looked at.
const MAX_DEPTH: usize = 8;

/// Checks a skill's folder, or its `SKILL.md`, more strictly than loading does: keys that neither the standard nor the seeds have, and
/// metadata that is no text, are problems too. With `tools`, so are names of tools that are not among them.
#[must_use]
pub fn validate(path: &Path, tools: Option<&[ToolNames]>) -> Vec<Problem> {
    let folder = match path.file_name() {
        Some(name) if name == FILE => path.parent().unwrap_or(path),
        _ => path,
    };
    let path = folder.join(FILE);
    // `.` and `..` have no name of their own.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut faults =
        match skill::read(&folder, &Place::File { scope: Scope::User, path: path.clone() }) {
            Ok(body) => loose(&body.skill, tools),
            Err(faults) => faults,
        };
    if let Ok(text) = file::read(&folder, &folder.join(FILE)) {
        faults.extend(extensions(&text));
    }
    faults.into_iter().map(|fault| Problem::new(&path, fault)).collect()
}

/// Keys that other programs may know.
fn extensions(text: &str) -> Vec<String> {
    let keys = front_matter::split(text).and_then(|(yaml, _)| skill::unknown_keys(yaml));
    let foreign = keys.unwrap_or_default().into_iter().filter(|key| key.slip.is_none());
    foreign.map(|key| format!("key \"{}\" is not part of the standard", key.key)).collect()
}

/// What loads, but is not right.
fn loose(skill: &Skill, tools: Option<&[ToolNames]>) -> Vec<String> {
    let metadata = skill.metadata.iter().filter(|(_, value)| !matches!(value, Value::String(_)));
    let mut faults: Vec<String> =
        metadata.map(|(key, _)| format!("metadata.{key} is not text; put it in quotes")).collect();
    for (key, list) in
        [("allowed-tools", &skill.allowed_tools), ("tools_required", &skill.tools_required)]
    {
        let complaint = tools.and_then(|tools| expand(Some(list), tools).complaint());
        faults
            .extend(complaint.map(|text| format!("{key}: {}", text.trim_start_matches("tools: "))));
    }
    faults
}

/// Copies a skill's folder to `to/NAME`: text files up to 256 KB each, no links, without hidden files. All of it or nothing.
///
/// # Errors
/// A [`Problem`] of the first thing that cannot be copied; a skill that does not load, or whose name is taken, is not copied.
pub fn add(from: &Path, to: &Path) -> Result<Skill, Problem> {
    let from = from.canonicalize().map_err(|error| Problem::new(from, unreadable(&error)))?;
    let place = Place::File { scope: Scope::User, path: from.join(FILE) };
    let body = skill::read(&from, &place)
        .map_err(|faults| Problem::new(from.join(FILE), faults.join("; ")))?;
    let target = to.join(&body.skill.name);
    if target.exists() {
        return Err(Problem::new(target, "exists already; remove it first"));
    }
    let texts = texts(&from)?;
    // Written beside the target and moved there, so that nobody ever sees half a skill.
    let partial = to.join(format!(".{}.partial", body.skill.name));
    // What a broken attempt left behind.
    drop(fs::remove_dir_all(&partial));
    let written = write(&texts, &from, &partial).and_then(|()| fs::rename(&partial, &target));
    if let Err(error) = written {
        // What is left over is ours alone; when it cannot be removed, the reason is the same one.
        drop(fs::remove_dir_all(&partial));
        return Err(Problem::new(target, format!("cannot be written: {error}")));
    }
    let place = Place::File { scope: Scope::User, path: target.join(FILE) };
    Ok(Skill { place, ..body.skill })
}

fn unreadable(error: &std::io::Error) -> String {
    format!("cannot be read: {error}")
}

/// Every file of a skill with its text.
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
                let text = file::read(folder, &full).map_err(|fault| Problem::new(&full, fault))?;
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
        // Scripts stay executable.
        fs::set_permissions(&target, fs::metadata(from.join(path))?.permissions())?;
    }
    Ok(())
}

/// The files of a skill beside its `SKILL.md`, relative, in order; what cannot be read is left out.
pub(super) fn files(folder: &Path) -> Vec<String> {
    let found = walk(folder, MAX_LISTED).unwrap_or_default().into_iter();
    let names = found.filter(|(path, kind)| *kind == Kind::File && path != Path::new(FILE));
    names.map(|(path, _)| path.display().to_string()).take(MAX_LISTED).collect()
}

/// All files of a skill, relative, in order; links are left out.
///
/// # Errors
/// What is wrong, as a fragment; more files than this.
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

/// What is in a folder and below, relative, in order, and one more than `most` when there is more; links are not followed.
fn walk(folder: &Path, most: usize) -> Result<Vec<(PathBuf, Kind)>, Problem> {
    let mut found = Vec::new();
    let mut open = vec![(PathBuf::new(), 0)];
    while let Some((inside, depth)) = open.pop() {
        let here = folder.join(&inside);
        for path in file::entries(&here).map_err(|fault| Problem::new(&here, fault))? {
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
