//! A power cut: what a dead worker had written and not synced is taken back, by the notes of
//! `shim/disk.c`.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use fastrand::Rng;

use crate::error::Result;

/// What a disk writes at once or not at all.
const SECTOR: u64 = 512;
const MAGIC: u32 = 0x4b53_4944;
const HEAD: usize = 48;

/// What is lost of what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LostWrites {
    /// All of it.
    Everything,
    /// Each sector goes back to any of its states since it was last synced.
    SomeSectors,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Write,
    Truncate,
    Sync,
    Create,
    Unlink,
    SyncFailed,
    Fault,
}

#[derive(Debug, Clone)]
struct WriteEntry {
    kind: Kind,
    path: PathBuf,
    offset: u64,
    len: u64,
    old_size: u64,
    old: Vec<u8>,
    /// A sync of it has failed: no later one can save it.
    doomed: bool,
}

/// What a worker did to its files.
pub(crate) struct WriteLog {
    unsynced: Vec<WriteEntry>,
    /// Whether the fault that was ordered has come.
    pub(crate) faulted: bool,
    /// Whether it has come to the database itself, and not to an anchor, a lock or an artifact
    /// beside it.
    pub(crate) hit_database: bool,
}

impl WriteLog {
    /// Reads what the shim noted; nothing, when there was nothing to note. The last note may be
    /// half.
    pub(crate) fn read(log: &Path) -> Result<Self> {
        let bytes = match std::fs::read(log) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            bytes => bytes?,
        };
        let (mut notes, mut rest) =
            (Self { unsynced: Vec::new(), faulted: false, hit_database: false }, &bytes[..]);
        while let Some((note, more)) = parse(rest)? {
            notes.take(note);
            rest = more;
        }
        Ok(notes)
    }

    fn take(&mut self, note: WriteEntry) {
        match note.kind {
            Kind::Write | Kind::Truncate | Kind::Create | Kind::Unlink => self.unsynced.push(note),
            Kind::Fault => {
                self.faulted = true;
                let path = note.path.to_string_lossy();
                self.hit_database |= path.ends_with(".db") || path.ends_with(".db-wal");
            }
            // A file brings its content to the disk, a folder the names in it.
            Kind::Sync => self.unsynced.retain(|old| old.doomed || !old.is_saved_by(&note.path)),
            Kind::SyncFailed => {
                for old in &mut self.unsynced {
                    old.doomed |= old.is_saved_by(&note.path);
                }
            }
        }
    }

    /// Takes back what was not synced.
    pub(crate) fn apply(self, loses: LostWrites, rng: &mut Rng) -> Result<()> {
        let mut fates = LossChoices { loses, rng, sectors: HashMap::new() };
        for (place, note) in self.unsynced.iter().enumerate().rev() {
            note.undo(place, &mut fates)?;
        }
        Ok(())
    }
}

/// Which of the unsynced notes are kept: those before a place, drawn for each sector, size and
/// name.
struct LossChoices<'a> {
    loses: LostWrites,
    rng: &'a mut Rng,
    sectors: HashMap<(PathBuf, u64), usize>,
}

/// Stands for the size of a file, and for its name.
const SIZE: u64 = u64::MAX;
const NAME: u64 = u64::MAX - 1;

impl LossChoices<'_> {
    fn is_undone(&mut self, place: usize, path: &Path, sector: u64) -> bool {
        if self.loses == LostWrites::Everything {
            return true;
        }
        let rng = &mut *self.rng;
        // Asked for in reverse order, so the first question knows how many there are.
        let kept =
            self.sectors.entry((path.to_owned(), sector)).or_insert_with(|| match rng.u8(..3) {
                0 => 0,
                1 => place + 1,
                _ => rng.usize(..=place + 1),
            });
        place >= *kept
    }
}

impl WriteEntry {
    fn is_saved_by(&self, synced: &Path) -> bool {
        match self.kind {
            Kind::Create | Kind::Unlink => self.path.parent() == Some(synced),
            _ => self.path == synced,
        }
    }

    fn undo(&self, place: usize, fates: &mut LossChoices<'_>) -> Result<()> {
        match self.kind {
            Kind::Create if fates.is_undone(place, &self.path, NAME) => remove(&self.path),
            Kind::Unlink if fates.is_undone(place, &self.path, NAME) => {
                let kept = PathBuf::from(String::from_utf8(self.old.clone())?);
                if kept.exists() {
                    std::fs::rename(kept, &self.path)?;
                }
                Ok(())
            }
            Kind::Write | Kind::Truncate => self.undo_content(place, fates),
            _ => Ok(()),
        }
    }

    fn undo_content(&self, place: usize, fates: &mut LossChoices<'_>) -> Result<()> {
        let Ok(file) = OpenOptions::new().write(true).open(&self.path) else {
            // Its name was lost before its content.
            return Ok(());
        };
        let end = self.offset + self.len;
        let mut at = self.offset;
        while at < end {
            let next = (at / SECTOR + 1) * SECTOR;
            let stop = next.min(end);
            if fates.is_undone(place, &self.path, at / SECTOR) {
                file.write_all_at(&self.before(at, stop), at)?;
            }
            at = stop;
        }
        if fates.is_undone(place, &self.path, SIZE) {
            file.set_len(self.old_size)?;
        }
        Ok(())
    }

    /// What stood there before; zeros behind the end of the file.
    fn before(&self, from: u64, to: u64) -> Vec<u8> {
        let old = |at: u64| usize::try_from(at - self.offset).ok().and_then(|at| self.old.get(at));
        (from..to).map(|at| old(at).copied().unwrap_or(0)).collect()
    }
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// The next note, and what is behind it.
fn parse(bytes: &[u8]) -> Result<Option<(WriteEntry, &[u8])>> {
    let Some((head, rest)) = bytes.split_at_checked(HEAD) else { return Ok(None) };
    let word = |at: usize| head.get(at..at + 4).map_or(0, |b| u32::from_ne_bytes(four(b)));
    let long = |at: usize| head.get(at..at + 8).map_or(0, |b| u64::from_ne_bytes(eight(b)));
    if word(0) != MAGIC {
        return Err("the notes of the disk cannot be read".into());
    }
    let kind = match word(4) {
        1 => Kind::Write,
        2 => Kind::Truncate,
        3 => Kind::Sync,
        4 => Kind::Create,
        5 => Kind::Unlink,
        6 => Kind::SyncFailed,
        7 => Kind::Fault,
        other => return Err(format!("the disk noted {other}").into()),
    };
    let Some((path, rest)) = rest.split_at_checked(word(8) as usize) else { return Ok(None) };
    let Some((old, rest)) = rest.split_at_checked(usize::try_from(long(40))?) else {
        return Ok(None);
    };
    let note = WriteEntry {
        kind,
        path: String::from_utf8(path.to_vec())?.into(),
        offset: long(16),
        len: long(24),
        old_size: long(32),
        old: old.to_vec(),
        doomed: false,
    };
    Ok(Some((note, rest)))
}

fn four(bytes: &[u8]) -> [u8; 4] {
    bytes.try_into().unwrap_or_default()
}

fn eight(bytes: &[u8]) -> [u8; 8] {
    bytes.try_into().unwrap_or_default()
}
