//! Tests of unpacking valid and malicious archives.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tar::{Builder, Header};

use super::*;

/// One entry: kind, name as stored, link target or content, mode.
type Line<'a> = (EntryType, &'a [u8], &'a [u8], u32);

const FILE: EntryType = EntryType::Regular;
const DIR: EntryType = EntryType::Directory;
const SYM: EntryType = EntryType::Symlink;
const HARD: EntryType = EntryType::Link;

/// Creates an archive of these entries. Names are written unchecked, because the library would
/// reject some.
fn archive(lines: &[Line<'_>]) -> Vec<u8> {
    let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (kind, name, content, mode) in lines {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        let fields = header.as_old_mut();
        for (place, byte) in fields.name.iter_mut().zip(*name) {
            *place = *byte;
        }
        let is_link = matches!(*kind, EntryType::Symlink | EntryType::Link);
        let content: &[u8] = if is_link {
            for (place, byte) in fields.linkname.iter_mut().zip(*content) {
                *place = *byte;
            }
            b""
        } else {
            content
        };
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, content).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::write(folder.path().join("outside"), "kept").unwrap();
        Self { folder }
    }

    fn unpack(&self, lines: &[Line<'_>]) -> Result<(), UnpackError> {
        unpack(&*archive(lines), &self.folder.path().join("in"))
    }

    fn inside(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join("in").join(path)
    }

    /// Returns whether nothing was created or changed next to the folder.
    fn is_untouched(&self) -> bool {
        let names = fs::read_dir(self.folder.path()).unwrap().count();
        names == 2 && fs::read_to_string(self.folder.path().join("outside")).unwrap() == "kept"
    }
}

#[test]
fn a_system_is_unpacked() {
    let world = World::new();
    world
        .unpack(&[
            (DIR, b"./", b"", 0o755),
            (DIR, b"./bin/", b"", 0o755),
            (FILE, b"./bin/busybox", b"program", 0o755),
            (SYM, b"./bin/sh", b"/bin/busybox", 0o777),
            (SYM, b"./bin/up", b"../etc/passwd", 0o777),
            (HARD, b"./bin/again", b"./bin/busybox", 0o755),
            (FILE, b"./etc/shadow", b"secret", 0o640),
            (FILE, b"./deep/er/still", b"x", 0o644),
            (DIR, b"./tmp", b"", 0o1777),
            (FILE, b"./bin/su", b"set-id", 0o4755),
            (DIR, b"./var/closed", b"", 0o2000),
            (EntryType::Char, b"./dev/null", b"", 0o666),
            (FILE, b"./etc/shadow", b"later", 0o600),
        ])
        .unwrap();
    let mode = |path: &str| fs::metadata(world.inside(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(fs::read(world.inside("bin/again")).unwrap(), b"program");
    assert_eq!(fs::metadata(world.inside("bin/again")).unwrap().nlink(), 2);
    assert_eq!(fs::read_link(world.inside("bin/sh")).unwrap(), Path::new("/bin/busybox"));
    assert_eq!(fs::read(world.inside("etc/shadow")).unwrap(), b"later");
    assert_eq!(
        ["bin/busybox", "bin/su", "tmp", "etc/shadow", "var/closed"].map(mode),
        [0o755, 0o755, 0o1777, 0o600, 0o700]
    );
    assert!(!world.inside("dev/null").exists());
    assert!(world.is_untouched());
}

#[test]
fn what_leads_out_or_is_no_part_of_a_system_is_refused() {
    let check = |what: &str, lines: &[Line<'_>]| {
        let world = World::new();
        let result = world.unpack(lines);
        assert!(result.is_err(), "{what}");
        assert!(world.is_untouched(), "{what}: {result:?}");
    };
    check("up", &[(FILE, b"../outside", b"x", 0o644)]);
    check("up within", &[(FILE, b"a/../../outside", b"x", 0o644)]);
    check("up that stays", &[(FILE, b"a/../b", b"x", 0o644)]);
    check("absolute", &[(FILE, b"/etc/passwd", b"x", 0o644)]);
    check("a file without a name", &[(FILE, b"./", b"x", 0o644)]);
    check("a link up", &[(SYM, b"l", b"../outside", 0o777)]);
    check("a link up from below", &[(SYM, b"a/l", b"../../outside", 0o777)]);
    check("an absolute link up", &[(SYM, b"a/l", b"/../outside", 0o777)]);
    check("a link to nothing", &[(SYM, b"a/l", b"", 0o777)]);
    check("a hard link up", &[(HARD, b"l", b"../outside", 0o644)]);
    check("an absolute hard link", &[(HARD, b"l", b"/etc/passwd", 0o644)]);
    check("a hard link to nothing", &[(HARD, b"l", b"gone", 0o644)]);
    check("a device", &[(EntryType::Block, b"etc/disk", b"", 0o666)]);
    check("a pipe", &[(EntryType::Fifo, b"etc/pipe", b"", 0o666)]);
    check("a sparse file", &[(EntryType::GNUSparse, b"etc/holes", b"", 0o666)]);
    let through: &[(&str, EntryType, &[u8])] = &[("file", FILE, b"x"), ("folder", DIR, b"")];
    for (what, kind, content) in through {
        let link: Line<'_> = (SYM, b"l", b"/", 0o777);
        check(&format!("a {what} through a link"), &[link, (*kind, b"l/new", content, 0o755)]);
    }
    let link: Line<'_> = (SYM, b"l", b"etc", 0o777);
    check(
        "a hard link through a link",
        &[(FILE, b"etc/f", b"x", 0o644), link, (HARD, b"g", b"l/f", 0o644)],
    );
    check("a hard link to a link", &[link, (HARD, b"g", b"l", 0o644)]);
    check("a folder over a link", &[link, (DIR, b"l", b"", 0o755)]);
    check("a file over a folder", &[(DIR, b"d", b"", 0o755), (FILE, b"d", b"x", 0o644)]);
    check("nothing", &[]);
}

#[test]
fn a_file_over_a_link_replaces_it() {
    let world = World::new();
    symlink(world.folder.path().join("outside"), world.inside("l")).unwrap();
    world.unpack(&[(FILE, b"l", b"new", 0o644)]).unwrap();
    assert_eq!(fs::read(world.inside("l")).unwrap(), b"new");
    assert!(world.is_untouched());
}

#[test]
fn what_is_cut_or_no_archive_is_refused() {
    let world = World::new();
    let whole = archive(&[(FILE, b"f", &[7; 5000], 0o644), (FILE, b"g", b"x", 0o644)]);
    for cut in [0, 1, 10, whole.len() / 2, whole.len() - 9] {
        let part = whole.get(..cut).unwrap();
        let into = world.inside(&cut.to_string());
        fs::create_dir(&into).unwrap();
        assert!(unpack(part, &into).is_err(), "{cut}");
    }
    assert!(unpack(&b"no archive at all"[..], &world.inside("0")).is_err());
    assert!(unpack(&*whole, &world.inside("gone")).is_err());
}

#[test]
fn more_than_any_system_has_is_refused() {
    let world = World::new();
    let bomb = archive(&[(FILE, b"zeros", &[0; 100_000], 0o644)]);
    let result = unpack_bounded(&*bomb, &world.inside(""), 50_000);
    assert!(matches!(result, Err(UnpackError::TooMuch(_))), "{result:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_name_leads_out(
        names in prop::collection::vec((0..4usize, "[./a-c]{1,12}", "[./a-c]{0,12}"), 1..8)
    ) {
        let world = World::new();
        let kinds = [FILE, DIR, SYM, HARD];
        let lines: Vec<Line<'_>> = names
            .iter()
            .filter_map(|(kind, name, target)| {
                Some((*kinds.get(*kind)?, name.as_bytes(), target.as_bytes(), 0o755))
            })
            .collect();
        let _ = world.unpack(&lines);
        prop_assert!(world.is_untouched());
    }

    #[test]
    fn any_bytes_are_unpacked_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let world = World::new();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        std::io::Write::write_all(&mut gzip, &bytes).unwrap();
        let _ = unpack(&*gzip.finish().unwrap(), &world.inside(""));
        prop_assert!(world.is_untouched());
    }
}
