//! The archive of a backup: a tar file, compressed with gzip, that contains only plain files.
#![deny(clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use toolcrib_core::canonical_json;

use super::manifest::{Entry, FORMAT, MANIFEST, Manifest};

/// Maximum size of the manifest: enough for some millions of files.
const MANIFEST_BYTES: u64 = 1024 * 1024 * 1024;
/// Mode of restored files: the owner has all rights, others none.
const OWNER_ONLY_MODE: u32 = 0o700;

/// Writes an archive.
pub(super) struct Writer {
    tar: tar::Builder<GzEncoder<BufWriter<File>>>,
    files: Vec<Entry>,
}

impl Writer {
    pub(super) fn new(file: File) -> Self {
        let gzip = GzEncoder::new(BufWriter::new(file), Compression::fast());
        Self { tar: tar::Builder::new(gzip), files: Vec::new() }
    }

    /// Adds a file in its current state; returns `false` if it no longer exists.
    pub(super) fn add(&mut self, from: &Path, to: &str) -> io::Result<bool> {
        let file = match File::open(from) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(with_path(from, &error)),
        };
        let metadata = file.metadata().map_err(|error| with_path(from, &error))?;
        let exact = ExactLength { file, left: metadata.len() };
        self.entry(exact, metadata.len(), mode(&metadata), to)
            .map_err(|error| with_path(from, &error))?;
        Ok(true)
    }

    /// Adds a text.
    pub(super) fn add_text(&mut self, text: &[u8], to: &str) -> io::Result<()> {
        self.entry(text, text.len() as u64, 0o600, to)
    }

    fn entry(&mut self, from: impl Read, bytes: u64, mode: u32, to: &str) -> io::Result<()> {
        let mut from = HashingReader { inner: from, hash: Sha256::new() };
        append(&mut self.tar, &mut from, bytes, mode, to)?;
        let sha256 = canonical_json::hex(&from.hash.finalize());
        self.files.push(Entry { path: to.to_owned(), bytes, sha256 });
        Ok(())
    }

    /// Writes the manifest as the last entry, and syncs the file.
    pub(super) fn finish(mut self, manifest: Manifest) -> io::Result<Manifest> {
        let manifest = Manifest { files: self.files, ..manifest };
        let text = serde_json::to_vec_pretty(&manifest)?;
        append(&mut self.tar, text.as_slice(), text.len() as u64, 0o600, MANIFEST)?;
        let file = self.tar.into_inner()?.finish()?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        Ok(manifest)
    }
}

fn append(
    tar: &mut tar::Builder<impl Write>,
    from: impl Read,
    bytes: u64,
    mode: u32,
    to: &str,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(mode);
    header.set_entry_type(tar::EntryType::Regular);
    tar.append_data(&mut header, to, from)
}

fn mode(metadata: &fs::Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & OWNER_ONLY_MODE
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A reader of exactly this many bytes: a file that grows is cut at its former length; one that
/// shrinks is an error.
struct ExactLength {
    file: File,
    left: u64,
}

impl Read for ExactLength {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let read = (&mut self.file).take(self.left).read(into)?;
        if read == 0 && !into.is_empty() {
            return Err(io::Error::other("it became shorter while it was read"));
        }
        self.left -= read as u64;
        Ok(read)
    }
}

struct HashingReader<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.hash.update(into.get(..read).unwrap_or_default());
        Ok(read)
    }
}

/// Reads the complete archive, and extracts its files into a folder if one is given; afterwards,
/// every file matches the manifest.
///
/// # Errors
/// In words for people: a file that is not a backup, is damaged, or contains paths outside of a
/// backup.
pub(super) fn read(path: &Path, into: Option<&Path>) -> io::Result<Manifest> {
    let file = File::open(path)?;
    let mut tar = tar::Archive::new(GzDecoder::new(BufReader::new(file)));
    let (mut found, mut manifest) = (Vec::new(), None);
    for entry in tar.entries().map_err(no_backup)? {
        let entry = entry.map_err(no_backup)?;
        let name = entry.path().map_err(no_backup)?.into_owned();
        if name.as_os_str() == MANIFEST {
            let mut text = Vec::new();
            entry.take(MANIFEST_BYTES).read_to_end(&mut text).map_err(no_backup)?;
            manifest = Some(text);
            continue;
        }
        let place = safe_relative_path(&name).filter(|_| entry.header().entry_type().is_file());
        let place = place.ok_or_else(|| {
            io::Error::other(format!("it holds {}, which no backup has", name.display()))
        })?;
        let mode = entry.header().mode().map_err(no_backup)? & OWNER_ONLY_MODE;
        found.push(extract_file(entry, &place, mode, into)?);
    }
    // The checksum of the gzip stream follows the last byte.
    io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(no_backup)?;
    let text = manifest
        .ok_or_else(|| io::Error::other("it has no manifest: it is cut off, or no backup"))?;
    let manifest = manifest_of(&text)?;
    if manifest.files != found {
        return Err(io::Error::other("its files are not those of its manifest: it is damaged"));
    }
    Ok(manifest)
}

fn no_backup(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("it is not a backup, or damaged ({error})"))
}

fn manifest_of(text: &[u8]) -> io::Result<Manifest> {
    let value: serde_json::Value = serde_json::from_slice(text)?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    if format != Some(u64::from(FORMAT)) {
        return Err(io::Error::other(
            "it is of a form that this program does not know; use a newer Toolcrib",
        ));
    }
    Ok(serde_json::from_value(value)?)
}

/// Returns a path in `config/` or `state/` that cannot lead to another folder.
fn safe_relative_path(name: &Path) -> Option<PathBuf> {
    let mut parts = name.components();
    let first = parts.next()?;
    let is_known = [Component::Normal("config".as_ref()), Component::Normal("state".as_ref())]
        .contains(&first);
    let rest: Vec<Component<'_>> = parts.collect();
    let is_plain = !rest.is_empty() && rest.iter().all(|part| matches!(part, Component::Normal(_)));
    (is_known && is_plain).then(|| name.to_owned())
}

fn extract_file(
    entry: impl Read,
    place: &Path,
    mode: u32,
    into: Option<&Path>,
) -> io::Result<Entry> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    let mut from = HashingReader { inner: entry, hash: Sha256::new() };
    let bytes = match into {
        None => io::copy(&mut from, &mut io::sink()).map_err(no_backup)?,
        Some(folder) => {
            let path = folder.join(place);
            if let Some(parent) = path.parent() {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            }
            let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
            let mut file = BufWriter::new(file.map_err(|error| with_path(&path, &error))?);
            let bytes = io::copy(&mut from, &mut file).map_err(no_backup)?;
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            bytes
        }
    };
    let sha256 = canonical_json::hex(&from.hash.finalize());
    let path = place.to_str().ok_or_else(|| io::Error::other("a name in it is not UTF-8"))?;
    Ok(Entry { path: path.to_owned(), bytes, sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let (toolcrib, left_out, files) = ("0.1.0".to_owned(), Vec::new(), Vec::new());
        Manifest { format: FORMAT, toolcrib, store: None, made_at: 0, keys: false, left_out, files }
    }

    /// Creates an archive with these entries, without checking them.
    fn archive(folder: &Path, entries: &[(&str, &[u8], tar::EntryType)]) -> PathBuf {
        let path = folder.join("archive.tar.gz");
        let file = BufWriter::new(File::create(&path).unwrap());
        let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        for (name, text, kind) in entries {
            let mut header = tar::Header::new_gnu();
            // The library itself refuses names that lead to another folder, so write the name
            // directly.
            let bytes = header.as_old_mut();
            bytes.name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_entry_type(*kind);
            if *kind == tar::EntryType::Symlink {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            tar.append(&header, *text).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap().into_inner().unwrap();
        path
    }

    #[test]
    fn what_is_put_in_comes_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup.tar.gz");
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let long = format!("state/{}/{}", "folder".repeat(30), "file".repeat(30));
        let mut writer = Writer::new(File::create(&path).unwrap());
        writer.add_text(b"policy = \"auto\"\n", "config/config.toml").unwrap();
        assert!(writer.add(&script, "config/tools/x/run").unwrap());
        assert!(!writer.add(&folder.path().join("gone"), "state/gone").unwrap());
        writer.add_text(b"", &long).unwrap();
        let made = writer.finish(manifest()).unwrap();
        assert_eq!(made.files.len(), 3);
        let into = folder.path().join("out");
        assert_eq!(read(&path, None).unwrap(), made);
        assert_eq!(read(&path, Some(&into)).unwrap(), made);
        assert_eq!(fs::read(into.join("config/config.toml")).unwrap(), b"policy = \"auto\"\n");
        let mode = fs::metadata(into.join("config/tools/x/run")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(into.join(long).exists());
        assert!(read(&path, Some(&into)).is_err(), "what is there is not written over");
    }

    #[test]
    fn what_is_no_backup_or_leads_elsewhere_is_refused() {
        use tar::EntryType::{Regular, Symlink};
        let folder = tempfile::tempdir().unwrap();
        let check = |entries: &[(&str, &[u8], tar::EntryType)], words: &str| {
            let path = archive(folder.path(), entries);
            let into = tempfile::tempdir().unwrap();
            let error = read(&path, Some(into.path())).unwrap_err().to_string();
            assert!(error.contains(words), "{entries:?}: {error}");
        };
        check(&[("config/a", b"x", Regular)], "no manifest");
        check(&[("../a", b"x", Regular)], "which no backup has");
        check(&[("/etc/a", b"x", Regular)], "which no backup has");
        check(&[("state/../../a", b"x", Regular)], "which no backup has");
        check(&[("state", b"x", Regular)], "which no backup has");
        check(&[("home/a", b"x", Regular)], "which no backup has");
        check(&[("state/a", b"", Symlink)], "which no backup has");
        check(&[(MANIFEST, b"{}", Regular)], "does not know");
        check(&[(MANIFEST, b"{\"format\": 2}", Regular)], "newer Toolcrib");
        let empty = serde_json::to_vec(&manifest()).unwrap();
        check(&[("state/a", b"x", Regular), (MANIFEST, &empty, Regular)], "damaged");
        let path = folder.path().join("text");
        fs::write(&path, "no archive at all").unwrap();
        assert!(read(&path, None).unwrap_err().to_string().contains("not a backup, or damaged"));
    }

    #[test]
    fn damage_is_seen_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup.tar.gz");
        let mut writer = Writer::new(File::create(&path).unwrap());
        for at in 0..20 {
            writer
                .add_text(format!("text {at} ").repeat(20).as_bytes(), &format!("state/{at}"))
                .unwrap();
        }
        let made = writer.finish(manifest()).unwrap();
        let whole = fs::read(&path).unwrap();
        let damaged = folder.path().join("damaged.tar.gz");
        for at in (0..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            fs::write(&damaged, &bytes).unwrap();
            // Some bytes have no meaning, and some have equivalent values.
            assert!(read(&damaged, None).map_or(true, |read| read == made), "byte {at}");
            fs::write(&damaged, &whole[..at]).unwrap();
            assert!(read(&damaged, None).is_err(), "cut at {at}");
        }
    }
}
