//! `builtins::fs`: no path of a caller opens anything outside the roots, and both ways of opening
//! agree.
#![no_main]

use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use toolcrib_builtins::fs::{LinkPolicy, OpenMethod, Roots, bounded_read};

/// A root with folders and links of every kind, and files beside it that must stay hidden.
struct Fixture {
    /// Owned so that the folder lives as long as the program.
    _folder: TempDir,
    outside: PathBuf,
    root: PathBuf,
    kernel: Roots,
    walk: Roots,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| Fixture::make().expect("a temporary folder"));

impl Fixture {
    fn make() -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let outside = folder.path().canonicalize()?;
        let root = outside.join("r");
        for dir in ["r/a/b", "r/.toolcrib", "r/state", "r2"] {
            fs::create_dir_all(outside.join(dir))?;
        }
        for file in ["r/f", "r/a/g", "r/a/b/h", "r/.toolcrib/k", "r/state/s", "x", "r2/y"] {
            fs::write(outside.join(file), file)?;
        }
        for (to, at) in [
            ("f", "to_f"),
            ("..", "up"),
            ("../x", "a/out"),
            ("a/b", "to_b"),
            ("loop", "loop"),
            ("/", "top"),
            ("../../x", "a/b/up2"),
            ("state", "to_state"),
            ("/proc/self/root", "magic"),
            ("../r/f", "and_back"),
        ] {
            symlink(to, root.join(at))?;
        }
        symlink(&root, root.join("self"))?;
        symlink(outside.join("x"), root.join("abs"))?;
        let open = |via| {
            let roots = Roots::open([&root]).and_then(|r| r.protect([root.join("state")]));
            roots.expect("roots").with_open_method(via)
        };
        let (kernel, walk) = (open(OpenMethod::detect()), open(OpenMethod::Walk));
        Ok(Self { _folder: folder, outside, root, kernel, walk })
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, raw)) = input.split_first() else { return };
    let path = String::from_utf8_lossy(raw);
    let fixture = &*FIXTURE;
    // Paths are absolute below the root in half of the runs.
    let path = if choice & 1 == 0 {
        path.into_owned()
    } else {
        format!("{}/{path}", fixture.root.display())
    };
    let last =
        [LinkPolicy::Follow, LinkPolicy::Itself, LinkPolicy::Real][usize::from(choice >> 1) % 3];

    let kernel = fixture.kernel.resolve(&path, last).map(|spot| (spot.display(), spot.node));
    let walk = fixture.walk.resolve(&path, last).map(|spot| (spot.display(), spot.node));
    assert_eq!(kernel, walk, "the ways differ for {path:?}");

    for roots in [&fixture.kernel, &fixture.walk] {
        if let Ok((file, size)) = bounded_read::open(roots, &path) {
            let real = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("/proc");
            check(fixture, &path, &real, size);
        }
    }
});

fn check(fixture: &Fixture, path: &str, real: &Path, size: u64) {
    let below =
        real.strip_prefix(&fixture.root).unwrap_or_else(|_| panic!("{path:?} opened {real:?}"));
    assert!(
        !below.starts_with(".toolcrib") && !below.starts_with("state"),
        "{path:?} opened {real:?}"
    );
    let name = real.strip_prefix(&fixture.outside).expect("below");
    assert_eq!(size, name.as_os_str().len() as u64, "{path:?} is {real:?}, but not its bytes");
}
