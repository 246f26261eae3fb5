//! Tests of validating and copying skill folders.

use super::*;

const GOOD: &str = "---\nname: notes\ndescription: Takes notes.\n---\nWrite it down.\n";

fn notes(root: &Path, text: &str) -> PathBuf {
    let folder = root.join("notes");
    fs::create_dir_all(folder.join("references")).unwrap();
    fs::write(folder.join(FILE), text).unwrap();
    fs::write(folder.join("references/a.md"), "reference").unwrap();
    folder
}

#[test]
fn validating_is_stricter_than_loading() {
    let dir = tempfile::tempdir().unwrap();
    let tools = [ToolNames {
        name: "read_file".to_owned(),
        aliases: vec![],
        group: None,
        source: "builtin".to_owned(),
    }];
    let check = |text: &str, expected: &[&str]| {
        let folder = notes(dir.path(), text);
        for path in [folder.clone(), folder.join(FILE)] {
            let problems = validate_skill(&path, Some(&tools));
            let messages: Vec<_> = problems.iter().map(|p| p.message.as_str()).collect();
            assert_eq!(messages, expected, "{text}");
            assert!(problems.iter().all(|problem| problem.path == folder.join(FILE)));
        }
    };
    check(GOOD, &[]);
    check(
        &GOOD.replace("name: notes", "name: note"),
        &["name \"note\" is not the folder's name, \"notes\""],
    );
    check(
        &GOOD.replace("notes\n", "notes\nhooks: x\n"),
        &["key \"hooks\" is not part of the standard"],
    );
    check(
        &GOOD.replace("notes\n", "notes\nmetadata: {version: 1}\nallowed-tools: read_fil read_file\ntools_required: x_y\n"),
        &[
            "metadata.version is not text; put it in quotes",
            "allowed-tools: unknown tool or list entry \"read_fil\"; did you mean \"read_file\"?",
            "tools_required: unknown tool or list entry \"x_y\"",
        ],
    );
    let missing = validate_skill(&dir.path().join("nowhere"), None);
    assert!(missing[0].message.starts_with("cannot be read: "), "{missing:?}");
}

#[test]
fn a_skill_is_copied_whole() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = notes(from.path(), GOOD);
    fs::create_dir_all(folder.join(".git")).unwrap();
    fs::write(folder.join(".git/index"), [0, 159]).unwrap();
    fs::write(folder.join("references/__init__.py"), "").unwrap();
    let to = to.path().join("skills");
    fs::create_dir_all(to.join(".notes.partial")).unwrap();
    fs::write(to.join(".notes.partial/left-over"), "x").unwrap();
    let skill = add_skill(&folder, &to).unwrap();
    assert_eq!(skill.location.path(), Some(to.join("notes/SKILL.md").as_path()));
    assert_eq!(skill.body().unwrap().files, ["references/__init__.py", "references/a.md"]);
    let names: Vec<_> =
        fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["notes"]);
    assert!(!to.join("notes/.git").exists());
    let again = add_skill(&folder, &to).unwrap_err();
    assert_eq!(again.message, "exists already; remove it first");
}

#[test]
fn what_is_no_plain_text_is_not_copied() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = notes(from.path(), GOOD);
    let extra = folder.join("extra");
    let refused = |message: &str| {
        let problem = add_skill(&folder, to.path()).unwrap_err();
        assert_eq!(problem.message, message);
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);
        fs::remove_file(&extra).unwrap();
    };
    fs::write(&extra, [0xff, 0xfe]).unwrap();
    refused("is not UTF-8 text");
    fs::write(&extra, "a\0b").unwrap();
    refused("is not text: it holds NUL bytes");
    fs::write(&extra, "x".repeat(256 * 1024 + 1)).unwrap();
    refused("is longer than 256 KB");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/hostname", &extra).unwrap();
        refused("is a link; a skill is copied without links");
    }
    fs::write(&extra, "x".repeat(256 * 1024)).unwrap();
    assert!(add_skill(&folder, to.path()).is_ok());
}

#[test]
fn a_broken_skill_is_not_copied() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = notes(from.path(), "no front matter");
    let problem = add_skill(&folder, to.path()).unwrap_err();
    assert_eq!(problem.message, "does not begin with front matter: the first line must be ---");
    assert!(problem.path.ends_with("notes/SKILL.md"));
}

#[cfg(unix)]
#[test]
fn scripts_stay_executable() {
    use std::os::unix::fs::PermissionsExt as _;
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = notes(from.path(), GOOD);
    fs::write(folder.join("run.sh"), "echo").unwrap();
    fs::set_permissions(folder.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    add_skill(&folder, to.path()).unwrap();
    let mode = fs::metadata(to.path().join("notes/run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
}
