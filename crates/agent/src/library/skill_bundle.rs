//! Skill bundle: all files of a skill, for clients without access to its folder.

use std::path::Path;

use serde_json::{Map, Value};

use super::skill::{FILE, Skill};
use super::{bounded_file, built_in, front_matter, skill_folder};

/// Maximum number of files in a bundle (SEP-2640: every client accepts 512).
const MAX_FILES: usize = 512;
/// Maximum size of a bundle in bytes (SEP-2640: every client accepts 16 MiB).
const MAX_BYTES: u64 = 16 << 20;

/// The files of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillBundle {
    /// The front matter of `SKILL.md`.
    pub front_matter: Map<String, Value>,
    /// Its files with their paths in its folder, including `SKILL.md`.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Skill {
    /// Returns its current files, without hidden ones and links.
    ///
    /// # Errors
    /// The problem, including too many or too large files, as a sentence fragment.
    pub fn bundle(&self) -> Result<SkillBundle, String> {
        let Some(folder) = self.folder() else {
            let text = built_in::skill(&self.name).ok_or("is not built in")?;
            return from_files(vec![(FILE.to_owned(), text.as_bytes().to_vec())]);
        };
        read_bundle(folder)
    }

    /// Returns the current content of the first file whose path is accepted; `None` if there is
    /// none.
    ///
    /// # Errors
    /// As for [`bundle`](Self::bundle).
    pub fn file(
        &self,
        is_right: impl Fn(&str) -> bool,
    ) -> Result<Option<(String, Vec<u8>)>, String> {
        let Some(folder) = self.folder() else {
            return Ok(self.bundle()?.files.into_iter().find(|(path, _)| is_right(path)));
        };
        let mut paths = skill_folder::plain_files(folder, MAX_FILES)?.into_iter();
        let Some(path) = paths.find(|path| is_right(path)) else { return Ok(None) };
        let bytes = bytes(folder, &path, MAX_BYTES)?;
        Ok(Some((path, bytes)))
    }
}

/// Reads the files of a folder that is a skill; see [`Skill::bundle`].
///
/// # Errors
/// As for [`Skill::bundle`].
pub fn read_bundle(folder: &Path) -> Result<SkillBundle, String> {
    let (mut files, mut room) = (Vec::new(), MAX_BYTES);
    for path in skill_folder::plain_files(folder, MAX_FILES)? {
        let bytes = bytes(folder, &path, room)?;
        room = room.saturating_sub(bytes.len() as u64);
        files.push((path, bytes));
    }
    from_files(files)
}

fn bytes(folder: &Path, path: &str, most: u64) -> Result<Vec<u8>, String> {
    bounded_file::bytes(folder, &folder.join(path), most)
        .map_err(|fault| format!("has the file {path}, which {fault}"))
}

fn from_files(files: Vec<(String, Vec<u8>)>) -> Result<SkillBundle, String> {
    let head = files.iter().find(|(path, _)| path == FILE);
    let (_, head) = head.ok_or_else(|| format!("has no {FILE} of its own"))?;
    let text = std::str::from_utf8(head).map_err(|_| format!("has a {FILE} that is not text"))?;
    let (yaml, _) = front_matter::split(text.trim_start_matches('\u{feff}'))?;
    Ok(SkillBundle { front_matter: front_matter::yaml(yaml)?, files })
}
