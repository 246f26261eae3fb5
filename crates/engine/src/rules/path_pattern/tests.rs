//! Path patterns against paths.

use super::*;

fn fit(pattern: &str, path: &str) -> (MatchKind, bool) {
    let workspace = Workspace::new("/ws-that-is-not-there/w");
    let subject = workspace.subject(path, Extent::default());
    let pattern = PathPattern::parse(pattern, "/rules/.toolcrib/rules.toml:3").expect(pattern);
    (pattern.match_strictly(&subject, &workspace), pattern.may_match(&subject, &workspace))
}

#[test]
fn anchors() {
    let w = "/ws-that-is-not-there/w";
    for (pattern, path, expected) in [
        ("./secrets/**", "secrets/a", true),
        ("./secrets/**", "./x/../secrets//a", true),
        ("./secrets/**", "x/secrets/a", false),
        ("secrets/**", "x/secrets/a", false),
        ("*.pem", "x/key.pem", true),
        (".env", "x/.env", true),
        ("./.env", "x/.env", false),
        ("./.env", ".env", true),
        (".env", ".environment", false),
        (".env", ".ENV", false),
        ("src", "src/a/b", true),
        ("src/", "src/a", true),
        ("**/secret/*", "a/b/secret/c", true),
        ("//etc/**", "/etc/passwd", true),
        ("//etc/**", "../../etc/passwd", true),
        ("//etc/**", "etc/passwd", false),
        ("/data/*", "/rules/data/x", true),
        ("/data/*", "data/x", false),
        ("a b.txt", "a b.txt", true),
        ("[ab].txt", "b.txt", true),
        ("?.txt", "bb.txt", false),
    ] {
        let (strict, loose) = fit(pattern, path);
        assert_eq!((strict == MatchKind::Yes, loose), (expected, expected), "{pattern} {path} {w}");
    }
}

#[test]
fn home_folder() {
    let Some(home) = home() else { return };
    let path = home.join(".ssh/id").to_string_lossy().into_owned();
    assert_eq!(fit("~/.ssh/**", &path), (MatchKind::Yes, true));
    // A tool takes ~ for a name; a deny rule takes no chances.
    assert_eq!(fit("~/.ssh/**", "~/.ssh/id"), (MatchKind::Yes, false));
}

#[test]
fn patterns_that_are_refused() {
    for (pattern, says) in [
        ("!x", "a rule of its own"),
        ("./a/../b", "can never match"),
        ("a//b", "write / once"),
        ("~root/x", "//home/NAME"),
        ("a[z-a]", "not a pattern of paths"),
    ] {
        let error = PathPattern::parse(pattern, "x:1").expect_err(pattern);
        assert!(error.contains(says), "{pattern}: {error}");
    }
}

#[test]
fn folders_and_what_is_in_them() {
    let workspace = Workspace::new("/ws-that-is-not-there");
    let fit = |pattern: &str, path: &str, within, tree| {
        let pattern = PathPattern::parse(pattern, "x:1").expect(pattern);
        pattern.match_strictly(
            &workspace.subject(path, Extent { within, tree, recursive: tree }),
            &workspace,
        )
    };
    assert_eq!(fit("secrets/**", "secrets", true, false), MatchKind::Yes);
    assert_eq!(fit("secrets/**", ".", true, false), MatchKind::No);
    assert_eq!(fit("secrets/**", "secrets", false, false), MatchKind::No);
    for path in [".", "secrets", "..", "/"] {
        assert_eq!(fit("secrets/**", path, false, true), MatchKind::Could, "{path}");
    }
    assert_eq!(fit("secrets/**", "src", false, true), MatchKind::No);
    assert_eq!(fit("*.pem", "src", false, true), MatchKind::Could);
    assert_eq!(fit("secrets/*/key", "secrets/a", false, true), MatchKind::Could);
}

#[cfg(unix)]
#[test]
fn links_are_denied_by_either_end_and_allowed_by_both() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().expect("a folder");
    let ws = dir.path().join("ws");
    std::fs::create_dir_all(ws.join("secrets")).expect("folders");
    std::fs::create_dir_all(ws.join("open")).expect("folders");
    symlink(ws.join("secrets"), ws.join("open/door")).expect("a link");
    symlink("../secrets/new", ws.join("open/dangling")).expect("a link");
    symlink("circle", ws.join("open/circle")).expect("a link");
    symlink(&ws, dir.path().join("alias")).expect("a link");
    for folder in [ws, dir.path().join("alias")] {
        let workspace = Workspace::new(&folder.to_string_lossy());
        let check = |path: &str, denied, allowed| {
            let subject = workspace.subject(path, Extent::default());
            let deny = PathPattern::parse("./secrets/**", "x:1").expect("a pattern");
            let allow = PathPattern::parse("./open/**", "x:1").expect("a pattern");
            assert_eq!(deny.match_strictly(&subject, &workspace), denied, "{path}");
            assert_eq!(allow.may_match(&subject, &workspace), allowed, "{path}");
        };
        check("open/a", MatchKind::No, true);
        check("secrets/a", MatchKind::Yes, false);
        check("open/door/a", MatchKind::Yes, false);
        check("open/dangling", MatchKind::Yes, false);
        check("open/circle", MatchKind::Could, false);
        check("open/door/../open/a", MatchKind::No, true);
        check("open/new/../door/a", MatchKind::Yes, false);
    }
}
