//! A skill as its files, whole: for whoever gets it from us, and has no folder of ours.

use std::path::Path;

use serde_json::{Map, Value};

use super::skill::{FILE, Skill};
use super::{built_in, file, front_matter, skill_folder};

/// Most files of a skill that is given away (SEP-2640: 512 is what everybody takes).
const MAX_FILES: usize = 512;
/// Most bytes of all of them together (SEP-2640: 16 MiB).
const MAX_BYTES: u64 = 16 << 20;

/// The files of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeSkill {
    /// All that its author wrote before the instructions.
    pub front_matter: Map<String, Value>,
    /// Its files with their paths in its folder, `SKILL.md` among them.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Skill {
    /// Its files as they are now, without hidden ones and links.
    ///
    /// # Errors
    /// What is wrong with them, or that they are too many or too long, as a fragment.
    pub fn whole(&self) -> Result<WholeSkill, String> {
        let Some(folder) = self.folder() else {
            let text = built_in::skill(&self.name).ok_or("is not built in")?;
            return of(vec![(FILE.to_owned(), text.as_bytes().to_vec())]);
        };
        whole(folder)
    }
}

/// The files of a folder that is a skill; see [`Skill::whole`].
///
/// # Errors
/// As there.
pub fn whole(folder: &Path) -> Result<WholeSkill, String> {
    let (mut files, mut room) = (Vec::new(), MAX_BYTES);
    for path in skill_folder::plain_files(folder, MAX_FILES)? {
        let bytes = file::bytes(folder, &folder.join(&path), room)
            .map_err(|fault| format!("has the file {path}, which {fault}"))?;
        room = room.saturating_sub(bytes.len() as u64);
        files.push((path, bytes));
    }
    of(files)
}

fn of(files: Vec<(String, Vec<u8>)>) -> Result<WholeSkill, String> {
    let head = files.iter().find(|(path, _)| path == FILE);
    let (_, head) = head.ok_or_else(|| format!("has no {FILE} of its own"))?;
    let text = std::str::from_utf8(head).map_err(|_| format!("has a {FILE} that is no text"))?;
    let (yaml, _) = front_matter::split(text.trim_start_matches('\u{feff}'))?;
    Ok(WholeSkill { front_matter: front_matter::yaml(yaml)?, files })
}
