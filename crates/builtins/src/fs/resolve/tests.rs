//! Resolver tests: a tree with all kinds of traps, both open methods in the same tests, and the
//! kernel as the oracle.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use rustix::fs::{CWD, ResolveFlags};
use toolcrib_core::CancellationToken;

use super::*;
use crate::fs::{FsError, Roots, Workspace, bounded_read};

/// `ws` with files, links and traps; `out` beside it; the protected `state` in it.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("temporary folder");
        let at = |path: &str| dir.path().join(path);
        for path in
            ["ws/dir/sub", "ws/.toolcrib", "ws/dir/.toolcrib", "ws/state/deep", "out/sub", "ws2"]
        {
            std::fs::create_dir_all(at(path)).expect(path);
        }
        for path in [
            "ws/file",
            "ws/dir/file",
            "ws/dir/sub/file",
            "ws/.toolcrib/file",
            "ws/dir/.toolcrib/file",
            "ws/state/file",
            "ws/state/deep/file",
            "out/file",
            "out/sub/file",
            "ws2/file",
        ] {
            std::fs::write(at(path), path).expect(path);
        }
        let links = [
            ("in", "dir/file"),
            ("dirlink", "dir"),
            ("dot", "."),
            ("dir/up", "../file"),
            ("dir/upup", "../../out/file"),
            ("outfile", "../out/file"),
            ("outdir", "../out"),
            ("outmissing", "../out/none"),
            ("outabs", "/etc/passwd"),
            ("proc", "/proc/self/root"),
            ("a", "b"),
            ("b", "a"),
            ("dangling", "none"),
            ("chain", "dirlink/sub/../up"),
            ("statelink", "state/deep"),
            ("crib", ".toolcrib"),
            ("slash", "dir/"),
        ];
        for (link, target) in links {
            symlink(target, at("ws").join(link)).expect(link);
        }
        symlink(at("ws").join("dir/file"), at("ws/absin")).expect("absin");
        symlink(at("ws2/file"), at("ws/sibling")).expect("sibling");
        rustix::fs::mkfifoat(CWD, at("ws/fifo"), Mode::from_raw_mode(0o600)).expect("fifo");
        drop(UnixListener::bind(at("ws/socket")).expect("socket"));
        Self(dir)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn roots(&self, via: OpenMethod) -> Roots {
        let roots = Roots::open([self.at("ws")]).expect("root").with_open_method(via);
        roots.protect([self.at("ws/state"), self.at("ws/later")]).expect("roots")
    }

    fn read(&self, via: OpenMethod, path: &str) -> Result<String, FsErrorKind> {
        let read = |path: &str| -> Result<String, FsError> {
            let (mut file, _) = bounded_read::open(&self.roots(via), path)?;
            let mut text = String::new();
            std::io::Read::read_to_string(&mut file, &mut text)
                .map_err(|e| FsErrorKind::from(e).at(path))?;
            Ok(text)
        };
        read(path).map_err(|error| error.fault)
    }
}

const BOTH: [OpenMethod; 2] = [OpenMethod::Openat2, OpenMethod::Walk];

#[test]
fn this_system_has_openat2() {
    assert_eq!(OpenMethod::detect(), OpenMethod::Openat2, "the tests below compare the two ways");
}

#[test]
fn paths_lead_where_they_should_and_nowhere_else() {
    let tree = Tree::new();
    let ws = tree.at("ws").display().to_string();
    let absolute = |rest: &str| format!("{ws}{rest}");
    let long = "x".repeat(300);
    let deep = "dot/".repeat(200);
    let rows: Vec<(String, Result<&str, FsErrorKind>)> = vec![
        ("file".into(), Ok("ws/file")),
        ("./dir//sub/../file".into(), Ok("ws/dir/file")),
        ("dir/../../ws/file".into(), Err(FsErrorKind::Outside)),
        ("in".into(), Ok("ws/dir/file")),
        ("absin".into(), Ok("ws/dir/file")),
        ("dirlink/file".into(), Ok("ws/dir/file")),
        ("slash/file".into(), Ok("ws/dir/file")),
        ("chain".into(), Ok("ws/file")),
        ("dot/dot/file".into(), Ok("ws/file")),
        ("dirlink/../file".into(), Ok("ws/file")),
        (absolute("/file"), Ok("ws/file")),
        (absolute("/dir/../file"), Ok("ws/file")),
        (absolute("2/file"), Err(FsErrorKind::Outside)),
        (absolute("/../ws2/file"), Err(FsErrorKind::Outside)),
        ("../ws2/file".into(), Err(FsErrorKind::Outside)),
        ("sibling".into(), Err(FsErrorKind::Outside)),
        ("../out/file".into(), Err(FsErrorKind::Outside)),
        ("../out/none".into(), Err(FsErrorKind::Outside)),
        ("outfile".into(), Err(FsErrorKind::Outside)),
        ("outmissing".into(), Err(FsErrorKind::Outside)),
        ("outdir/file".into(), Err(FsErrorKind::Outside)),
        ("outdir/none".into(), Err(FsErrorKind::Outside)),
        ("outabs".into(), Err(FsErrorKind::Outside)),
        ("dir/upup".into(), Err(FsErrorKind::Outside)),
        ("proc/etc/passwd".into(), Err(FsErrorKind::Outside)),
        ("/etc/passwd".into(), Err(FsErrorKind::Outside)),
        ("/etc/none".into(), Err(FsErrorKind::Outside)),
        ("/".into(), Err(FsErrorKind::Outside)),
        ("..".into(), Err(FsErrorKind::Outside)),
        (".toolcrib/file".into(), Err(FsErrorKind::Outside)),
        (".ToolCrib/file".into(), Err(FsErrorKind::Outside)),
        (".toolcrib/none".into(), Err(FsErrorKind::Outside)),
        ("dir/.toolcrib/file".into(), Err(FsErrorKind::Outside)),
        ("none/.toolcrib/file".into(), Err(FsErrorKind::Outside)),
        ("crib/file".into(), Err(FsErrorKind::Outside)),
        ("state/file".into(), Err(FsErrorKind::Outside)),
        ("state/none".into(), Err(FsErrorKind::Outside)),
        ("statelink/file".into(), Err(FsErrorKind::Outside)),
        ("later/file".into(), Err(FsErrorKind::Outside)),
        ("a".into(), Err(FsErrorKind::Loop)),
        ("none".into(), Err(FsErrorKind::NotFound)),
        ("none/none".into(), Err(FsErrorKind::NotFound)),
        ("none/../file".into(), Err(FsErrorKind::NotFound)),
        ("dangling".into(), Err(FsErrorKind::NotFound)),
        ("file/none".into(), Err(FsErrorKind::NotDir)),
        ("file/".into(), Err(FsErrorKind::NotDir)),
        ("dir".into(), Err(FsErrorKind::IsDir)),
        ("dir/".into(), Err(FsErrorKind::IsDir)),
        (".".into(), Err(FsErrorKind::IsDir)),
        ("fifo".into(), Err(FsErrorKind::Special("FIFO"))),
        ("socket".into(), Err(FsErrorKind::Special("socket"))),
        ("".into(), Err(FsErrorKind::BadPath("it is empty"))),
        ("  ".into(), Err(FsErrorKind::BadPath("it is empty"))),
        ("a\0b".into(), Err(FsErrorKind::BadPath("it holds a NUL character"))),
        (long, Err(FsErrorKind::BadPath("a name in it is longer than 255 bytes"))),
        (deep, Err(FsErrorKind::BadPath("it has more than 128 parts"))),
        ("x/".repeat(3000), Err(FsErrorKind::BadPath("it is longer than 4096 bytes"))),
    ];
    for via in BOTH {
        for (path, expected) in &rows {
            let found = tree.read(via, path);
            assert_eq!(found, expected.clone().map(str::to_owned), "{via:?} {path:?}");
        }
    }
}

#[test]
fn devices_are_refused_unopened() {
    // `/dev` is a root because the test needs a reachable device; only an owner would configure it.
    for via in BOTH {
        let roots = Roots::open(["/dev"]).expect("/dev").with_open_method(via);
        let error = bounded_read::open(&roots, "null").map(|_| ()).expect_err("device");
        assert_eq!(error.fault, FsErrorKind::Special("device"));
    }
}

#[test]
fn mount_points_are_not_crossed_unless_asked() {
    for via in BOTH {
        let roots = Roots::open(["/"]).expect("/").with_open_method(via);
        let refused = roots.resolve("proc/version", LinkPolicy::Follow).expect_err("another mount");
        assert_eq!(refused.fault, FsErrorKind::OtherMount, "{via:?}");
        let crossing = roots.cross_mounts(true);
        let found = crossing.resolve("/proc/version", LinkPolicy::Follow).expect("crossed");
        assert_eq!(found.node, Some(NodeKind::File));
        // The text of a magic link names no path, so the resolver does not follow it.
        let magic = crossing.resolve("proc/self/fd/0/x", LinkPolicy::Follow).map(|s| s.node);
        assert!(matches!(magic, Err(_) | Ok(None)), "{magic:?}");
    }
}

#[test]
fn several_roots_and_the_longest_match() {
    let tree = Tree::new();
    for via in BOTH {
        let roots = Roots::open([tree.at("ws"), tree.at("out"), tree.at("ws/dir")]).expect("roots");
        let roots = roots.with_open_method(via);
        let show = |path: PathBuf| {
            let spot =
                roots.resolve(&path.display().to_string(), LinkPolicy::Follow).expect("inside");
            (spot.root.path.clone(), spot.display())
        };
        assert_eq!(show(tree.at("out/file")), (tree.at("out"), "file".to_owned()));
        assert_eq!(show(tree.at("ws/dir/sub")), (tree.at("ws/dir"), "sub".to_owned()));
        assert_eq!(show(tree.at("ws")), (tree.at("ws"), ".".to_owned()));
        assert!(roots.resolve("sub/file", LinkPolicy::Follow).expect("first root").node.is_none());
    }
}

#[test]
fn a_root_that_is_a_link_is_known_by_both_names() {
    let tree = Tree::new();
    symlink(tree.at("ws"), tree.at("alias")).expect("alias");
    let roots = Roots::open([tree.at("alias")]).expect("root");
    for name in ["alias", "ws"] {
        let path = tree.at(name).join("file").display().to_string();
        assert_eq!(
            roots.resolve(&path, LinkPolicy::Follow).expect(name).node,
            Some(NodeKind::File)
        );
    }
}

#[test]
fn roots_are_named_readable_and_not_the_state() {
    use crate::fs::RootError;
    let tree = Tree::new();
    assert!(matches!(Roots::open(Vec::<&Path>::new()), Err(RootError::None)));
    assert!(matches!(Roots::open([tree.at("none")]), Err(RootError::Unreadable { .. })));
    assert!(matches!(Roots::open([tree.at("ws/file")]), Err(RootError::Unreadable { .. })));
    let state = Roots::open([tree.at("ws/state/deep")]).expect("root");
    assert!(matches!(state.protect([tree.at("ws/state")]), Err(RootError::InsideState(_))));
    let here = std::env::current_dir().expect("current folder");
    assert!(matches!(Roots::current(Some(&here)), Err(RootError::TooWide(_))));
    assert_eq!(Roots::current(None).expect("root").paths().collect::<Vec<_>>(), [here]);
}

/// Replaces a folder by a link that leads outside, again and again in another thread, while files
/// in it are read and written.
#[test]
fn swapping_a_folder_for_a_link_never_leads_outside() {
    for via in BOTH {
        let dir = tempfile::tempdir().expect("temporary folder");
        let at = |path: &str| dir.path().join(path);
        for path in ["ws/d", "out"] {
            std::fs::create_dir_all(at(path)).expect(path);
        }
        std::fs::write(at("ws/d/file"), "inside").expect("file");
        std::fs::write(at("out/file"), "outside").expect("file");
        symlink("../out", at("ws/link")).expect("link");
        let roots = Roots::open([at("ws")]).expect("root").with_open_method(via);
        let workspace = Workspace::without_journal(roots);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    rustix::fs::renameat_with(CWD, at("ws/d"), CWD, at("ws/link"), flags)
                        .expect("swap");
                }
            });
            let (mut inside, mut refused) = (0, 0);
            for round in 0..50_000 {
                if round >= 1500 && inside > 0 && refused > 0 {
                    break;
                }
                match bounded_read::open(workspace.roots(), "d/file") {
                    Ok((file, _)) => {
                        assert_eq!(std::io::read_to_string(file).expect("text"), "inside");
                        inside += 1;
                    }
                    Err(_) => refused += 1,
                }
                if round % 50 == 0 {
                    let cancel = CancellationToken::new();
                    let _ = workspace.overwrite("d/new", b"x", &cancel);
                    let _ = workspace.append("d/file", b"", &cancel);
                    let _ = workspace.delete("d/new", false, &cancel);
                }
            }
            stop.store(true, Ordering::Relaxed);
            assert!(inside > 0 && refused > 0, "{via:?}: {inside} inside, {refused} refused");
        });
        let left: Vec<_> = std::fs::read_dir(at("out"))
            .expect("out")
            .map(|e| e.expect("entry").file_name())
            .collect();
        assert_eq!(left, ["file"], "{via:?}");
        assert_eq!(std::fs::read_to_string(at("out/file")).expect("file"), "outside");
    }
}

/// Returns the result of one resolution in a form that both methods share.
fn outcome(
    roots: &Roots,
    path: &str,
    last: LinkPolicy,
) -> Result<(Option<u64>, PathBuf), FsErrorKind> {
    let spot = roots.resolve(path, last).map_err(|error| error.fault)?;
    let ino = spot.node.map(|_| spot.stat()).transpose()?.map(|stat| stat.st_ino);
    Ok((ino, spot.real))
}

/// Returns the kernel's own answer for the complete path.
fn kernel(root: &Path, path: &str) -> Result<u64, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, root, flags, Mode::empty())?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    let fd = loop {
        // The kernel returns EAGAIN if anything on the system is renamed while it resolves a path
        // with `..`.
        match rustix::fs::openat2(&root, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN) => {}
            other => break other?,
        }
    };
    Ok(rustix::fs::fstat(&fd)?.st_ino)
}

fn a_path() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "file",
        "dir",
        "sub",
        "in",
        "dirlink",
        "dot",
        "up",
        "upup",
        "outfile",
        "outdir",
        "outabs",
        "a",
        "b",
        "dangling",
        "chain",
        "slash",
        "none",
        "..",
        "..",
        ".",
        "fifo",
        "ws",
        "out",
        "é\u{301}",
    ]);
    (prop::collection::vec(name, 1..7), any::<bool>()).prop_map(|(names, slash)| {
        let path = names.join("/");
        if slash { format!("{path}/") } else { path }
    })
}

/// Fuzz entry of the path resolver: any text must resolve to a path below the root or to an error,
/// and both methods must agree.
fn fuzz_resolver(roots: &[Roots; 2], root: &Path, path: &str) {
    for last in [LinkPolicy::Follow, LinkPolicy::Itself] {
        let both = [outcome(&roots[0], path, last), outcome(&roots[1], path, last)];
        assert_eq!(both[0], both[1], "{path:?} {last:?}");
        if let Ok((Some(ino), real)) = &both[0] {
            let found = root.join(real);
            assert_eq!(found.symlink_metadata().expect("it is there").ino(), *ino, "{path:?}");
            let parent = found.parent().filter(|_| !real.as_os_str().is_empty()).unwrap_or(root);
            assert!(parent.canonicalize().expect("real").starts_with(root), "{path:?}: {real:?}");
        }
    }
}

#[test]
fn any_path_stays_inside_and_agrees_with_the_kernel() {
    let tree = Tree::new();
    let root = tree.at("ws").canonicalize().expect("real root");
    let roots = BOTH.map(|via| Roots::open([&root]).expect("root").with_open_method(via));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(500)
    });
    runner
        .run(&a_path(), |path| {
            fuzz_resolver(&roots, &root, &path);
            let ours = outcome(&roots[0], &path, LinkPolicy::Follow);
            let expected = match kernel(&root, &path) {
                Ok(ino) => ours.as_ref().ok().and_then(|(own, _)| *own) == Some(ino),
                Err(Errno::NOENT) => matches!(ours, Ok((None, _)) | Err(FsErrorKind::NotFound)),
                Err(Errno::XDEV) => ours == Err(FsErrorKind::Outside),
                Err(Errno::LOOP) => ours == Err(FsErrorKind::Loop),
                Err(Errno::NOTDIR) => ours == Err(FsErrorKind::NotDir),
                Err(other) => panic!("{path}: {other}"),
            };
            prop_assert!(expected, "{} {:?} {:?}", path, kernel(&root, &path), ours);
            Ok(())
        })
        .expect("agreement");
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    });
    runner
        .run(&"\\PC{0,40}|[a-z./\\x00 ]{0,300}", |path| {
            fuzz_resolver(&roots, &root, &path);
            Ok(())
        })
        .expect("any text");
}
