//! Undo journal: undo of every kind of change, limits and refusals.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::fs::{Journal, JournalError, UndoAct, UndoReport, undo_journal};
use crate::test_support::TestWorkspace;

fn undo(shop: &TestWorkspace, n: usize, force: bool) -> UndoReport {
    let journal = shop.workspace.journal().expect("journal");
    let newest: Vec<u64> = journal.list().expect("list").iter().take(n).map(|e| e.id).collect();
    journal.undo(shop.workspace.roots(), &newest, force).expect("undo")
}

fn entries(shop: &TestWorkspace) -> usize {
    shop.workspace.journal().expect("journal").list().expect("list").len()
}

/// Describes everything in the workspace: path, kind, mode, content.
fn state(shop: &TestWorkspace) -> Vec<String> {
    let mut seen = Vec::new();
    let mut todo = vec![shop.path("")];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).expect("folder") {
            let path = entry.expect("entry").path();
            let meta = path.symlink_metadata().expect("status");
            let content = match &meta {
                m if m.is_symlink() => format!("-> {}", path.read_link().expect("link").display()),
                m if m.is_dir() => "/".to_owned(),
                _ => std::fs::read_to_string(&path).expect("file"),
            };
            seen.push(format!("{} {:o} {content}", path.display(), meta.permissions().mode()));
            if meta.is_dir() {
                todo.push(path);
            }
        }
    }
    seen.sort();
    seen
}

fn filled() -> TestWorkspace {
    let shop = TestWorkspace::new();
    shop.write_file("f", "old\n");
    std::fs::set_permissions(shop.path("f"), std::fs::Permissions::from_mode(0o640)).expect("mode");
    shop.write_file("d/a", "a");
    shop.write_file("d/e/b", "b");
    std::fs::create_dir(shop.path("d/ro")).expect("folder");
    shop.write_file("d/ro/x", "x");
    std::fs::set_permissions(shop.path("d/e"), std::fs::Permissions::from_mode(0o750))
        .expect("mode");
    symlink("../f", shop.path("d/link")).expect("link");
    std::fs::create_dir(shop.path("empty")).expect("folder");
    shop
}

#[tokio::test]
async fn every_kind_of_change_is_undone() {
    let rows: Vec<(&str, Value)> = vec![
        ("write_file", json!({"path": "f", "content": "new"})),
        ("write_file", json!({"path": "n/e/w", "content": "new"})),
        ("write_file", json!({"path": "d/link", "content": "through the link"})),
        ("write_file", json!({"path": "f", "content": "more", "mode": "append"})),
        ("write_file", json!({"path": "log/new", "content": "more", "mode": "append"})),
        ("edit_file", json!({"path": "f", "old_text": "old", "new_text": "new"})),
        ("make_dir", json!({"path": "x/y/z"})),
        ("copy_path", json!({"from": "f", "to": "g"})),
        ("copy_path", json!({"from": "f", "to": "d/a", "overwrite": true})),
        ("copy_path", json!({"from": "d", "to": "k/d2"})),
        ("move_path", json!({"from": "f", "to": "p/q"})),
        ("move_path", json!({"from": "f", "to": "d/a", "overwrite": true})),
        ("move_path", json!({"from": "d", "to": "k/d2"})),
        ("move_path", json!({"from": "d/link", "to": "l"})),
        ("delete_file", json!({"path": "f"})),
        ("delete_file", json!({"path": "d/link"})),
        ("delete_file", json!({"path": "empty"})),
        ("delete_file", json!({"path": "d", "recursive": true})),
    ];
    let all = filled();
    let first = state(&all);
    for (tool, args) in &rows {
        let shop = filled();
        let before = state(&shop);
        shop.call_ok(tool, args.clone()).await;
        assert_ne!(state(&shop), before, "{tool} {args}");
        let report = undo(&shop, 1, false);
        assert_eq!(report.refused, None, "{tool} {args}");
        assert!(!report.done[0].did.is_empty(), "{tool} {args}");
        assert_eq!(state(&shop), before, "{tool} {args}");
        assert_eq!(entries(&shop), 0);
    }
    // The same changes in sequence where they fit, then all undone at once.
    let mut made = 0;
    for (tool, args) in &rows {
        made += usize::from(all.call(tool, args.clone()).await.is_ok());
    }
    assert!(made >= 12, "{made}");
    let report = undo(&all, made, false);
    assert_eq!((report.refused, report.done.len()), (None, made));
    assert_eq!(state(&all), first);
}

#[tokio::test]
async fn a_later_change_stands_in_the_way_unless_forced() {
    for (tool, args, meddle) in [
        ("write_file", json!({"path": "f", "content": "new"}), "f"),
        ("write_file", json!({"path": "n", "content": "new"}), "n"),
        ("delete_file", json!({"path": "f"}), "f"),
        ("delete_file", json!({"path": "d", "recursive": true}), "d"),
        ("copy_path", json!({"from": "d", "to": "c"}), "c/a"),
    ] {
        let shop = filled();
        shop.call_ok(tool, args.clone()).await;
        let changed = state(&shop);
        std::fs::write(shop.path(meddle), "meddled").expect("later change");
        let report = undo(&shop, 1, false);
        let (entry, reason) = report.refused.expect("refused");
        assert!(reason.contains(&format!("{meddle} was changed since")), "{tool}: {reason}");
        assert_eq!((report.done.len(), entries(&shop)), (0, 1), "{entry:?}");
        assert_ne!(state(&shop), changed);
        assert_eq!(shop.read_file(meddle).as_deref(), Some("meddled"));
        let report = undo(&shop, 1, true);
        assert_eq!((report.refused, entries(&shop)), (None, 0), "{tool}");
        assert_eq!(
            state(&shop),
            state(&filled())
                .iter()
                .map(|line| {
                    line.replace(&filled_prefix(line), &shop.path("").display().to_string())
                })
                .collect::<Vec<_>>(),
            "{tool}"
        );
    }
}

/// Returns the workspace folder at the beginning of a line of [`state`].
fn filled_prefix(line: &str) -> String {
    let end = line.find("/ws/").expect("workspace") + "/ws/".len();
    line[..end].to_owned()
}

#[tokio::test]
async fn a_folder_with_later_files_is_not_taken_away() {
    let shop = TestWorkspace::new();
    shop.call_ok("make_dir", json!({"path": "made"})).await;
    shop.call_ok("write_file", json!({"path": "p/one", "content": "1"})).await;
    shop.write_file("p/two", "2");
    shop.write_file("made/later", "3");
    let report = undo(&shop, 2, false);
    assert_eq!(report.done[0].did, ["removed p/one", "kept p: it holds other files"]);
    assert!(report.refused.expect("refused").1.contains("made was changed since"));
    assert_eq!(
        (shop.read_file("p/two"), shop.read_file("made/later")),
        (Some("2".into()), Some("3".into()))
    );
}

#[tokio::test]
async fn fifty_changes_are_kept_and_blobs_go_with_them() {
    let shop = TestWorkspace::new();
    for i in 0..=51 {
        shop.call_ok("write_file", json!({"path": "f", "content": format!("{i}")})).await;
    }
    let journal = shop.workspace.journal().expect("journal");
    let list = journal.list().expect("list");
    assert_eq!(list.len(), 50);
    assert_eq!((list[0].id, list[49].id), (52, 3));
    assert_eq!(list[0].summary, "write f");
    assert_eq!(std::fs::read_dir(journal.dir().join("blobs")).expect("blobs").count(), 50);
    let report = undo(&shop, 100, false);
    assert_eq!((report.done.len(), shop.read_file("f").as_deref()), (50, Some("1")));
    let blobs = || std::fs::read_dir(journal.dir().join("blobs")).expect("blobs").count();
    assert_eq!((journal.undone().expect("undone").len(), blobs()), (50, 50), "kept for redo");
    shop.call_ok("write_file", json!({"path": "g", "content": "-"})).await;
    undo(&shop, 1, false);
    let undone = journal.undone().expect("undone");
    assert_eq!((undone.len(), undone[0].entry.id, blobs()), (50, 53, 50));
}

#[tokio::test]
async fn what_is_too_large_to_keep_is_said_and_passed_over_only_by_force() {
    let shop = TestWorkspace::new();
    shop.write_file("small", "1");
    let large = std::fs::File::create(shop.path("large")).expect("file");
    large.set_len(undo_journal::ENTRY_BYTES + 1).expect("size");
    shop.call_ok("write_file", json!({"path": "small", "content": "2"})).await;
    let text = shop.call_ok("delete_file", json!({"path": "large"})).await;
    assert!(text.contains("Undo is not available for this change"), "{text}");
    let report = undo(&shop, 2, false);
    assert!(report.refused.expect("refused").1.contains("larger than 64 MB"));
    assert_eq!(undo(&shop, 2, true).done.len(), 2);
    assert_eq!(shop.read_file("small").as_deref(), Some("1"));
}

#[tokio::test]
async fn an_entry_whose_change_was_never_made_undoes_to_nothing() {
    let shop = filled();
    let before = state(&shop);
    shop.call_ok("delete_file", json!({"path": "d", "recursive": true})).await;
    shop.call_ok("edit_file", json!({"path": "f", "old_text": "old", "new_text": "new"})).await;
    // The state after a crash between record and change: the entries exist, `f` is unchanged, and
    // `d` is partly changed.
    shop.write_file("f", "old\n");
    shop.write_file("d/e/b", "b");
    let report = undo(&shop, 2, false);
    assert_eq!(report.refused, None);
    assert_eq!(report.done[0].did, Vec::<String>::new());
    assert_eq!(state(&shop), before);
}

#[tokio::test]
async fn a_journal_is_private_survives_reopening_and_says_what_is_damaged() {
    let shop = filled();
    shop.call_ok("delete_file", json!({"path": "f"})).await;
    let dir = shop.path_outside("state/undo");
    assert_eq!(dir.metadata().expect("dir").permissions().mode() & 0o777, 0o700);
    let again = Journal::open(&dir).expect("journal");
    assert_eq!(
        again.list().expect("list"),
        shop.workspace.journal().expect("j").list().expect("list")
    );
    let blob =
        std::fs::read_dir(dir.join("blobs")).expect("blobs").next().expect("one").expect("blob");
    assert_eq!(blob.metadata().expect("blob").permissions().mode() & 0o777, 0o600);
    std::fs::write(blob.path(), "tampered").expect("blob");
    let report = again.undo(shop.workspace.roots(), &[1], false).expect("undo");
    assert!(report.refused.expect("refused").1.contains("its content changed"));
    std::fs::write(dir.join("entries/0000000000000001.json"), "{").expect("entry");
    let error = again.list().expect_err("damaged");
    assert!(error.to_string().contains("is damaged"), "{error}");
}

#[tokio::test]
async fn two_processes_take_turns() {
    use rustix::fs::FlockOperation;
    let shop = TestWorkspace::new();
    shop.call_ok("write_file", json!({"path": "f", "content": "1"})).await;
    let other = std::fs::File::open(shop.path_outside("state/undo/lock")).expect("lock");
    rustix::fs::flock(&other, FlockOperation::LockExclusive).expect("lock");
    let ctx = crate::test_support::context();
    let tool = shop.tool("write_file");
    let args = json!({"path": "f", "content": "2"});
    let waiting = tool.call(&ctx, &args);
    let (result, ()) = tokio::join!(waiting, async {
        tokio::task::yield_now().await;
        assert_eq!(
            shop.read_file("f").as_deref(),
            Some("1"),
            "it waits while another process holds the lock"
        );
        drop(other);
    });
    result.expect("its turn");
    assert_eq!(shop.read_file("f").as_deref(), Some("2"));
}

fn redo(shop: &TestWorkspace, n: usize, force: bool) -> UndoReport {
    let journal = shop.workspace.journal().expect("journal");
    let last: Vec<u64> =
        journal.undone().expect("list").iter().take(n).map(|change| change.entry.id).collect();
    journal.redo(shop.workspace.roots(), &last, force).expect("redo")
}

#[tokio::test]
async fn every_kind_of_change_is_redone_and_undone_again() {
    let rows: Vec<(&str, Value)> = vec![
        ("write_file", json!({"path": "n/e/w", "content": "new"})),
        ("write_file", json!({"path": "f", "content": "more", "mode": "append"})),
        ("edit_file", json!({"path": "f", "old_text": "old", "new_text": "new"})),
        ("make_dir", json!({"path": "x/y/z"})),
        ("copy_path", json!({"from": "f", "to": "d/a", "overwrite": true})),
        ("copy_path", json!({"from": "d", "to": "k/d2"})),
        ("move_path", json!({"from": "f", "to": "p/q"})),
        ("move_path", json!({"from": "f", "to": "d/a", "overwrite": true})),
        ("move_path", json!({"from": "d", "to": "k/d2"})),
        ("delete_file", json!({"path": "d/link"})),
        ("delete_file", json!({"path": "d", "recursive": true})),
    ];
    for (tool, args) in rows {
        let shop = filled();
        let before = state(&shop);
        shop.call_ok(tool, args.clone()).await;
        let after = state(&shop);
        for round in 0..3 {
            assert_eq!(undo(&shop, 1, false).refused, None, "{tool} {args} {round}");
            assert_eq!(state(&shop), before, "undone: {tool} {args} {round}");
            assert_eq!(redo(&shop, 1, false).refused, None, "{tool} {args} {round}");
            assert_eq!(state(&shop), after, "redone: {tool} {args} {round}");
        }
        assert_eq!((entries(&shop), redo(&shop, 1, false)), (1, UndoReport::default()));
    }
}

/// An edit replaces the file by a new one, so the inode that the move recorded is gone.
#[tokio::test]
async fn a_move_is_undone_after_an_edit_of_the_moved_file() {
    let shop = filled();
    let before = state(&shop);
    shop.call_ok("move_path", json!({"from": "f", "to": "g"})).await;
    shop.call_ok("edit_file", json!({"path": "g", "old_text": "old", "new_text": "new"})).await;
    shop.call_ok("delete_file", json!({"path": "g"})).await;
    let after = state(&shop);
    assert_eq!(undo(&shop, 3, false).refused, None);
    assert_eq!(state(&shop), before);
    assert_eq!(redo(&shop, 3, false).refused, None);
    assert_eq!(state(&shop), after);
}

#[tokio::test]
async fn exactly_the_listed_changes_are_undone_and_numbers_are_not_given_twice() {
    let shop = TestWorkspace::new();
    for path in ["a", "b", "c"] {
        shop.call_ok("write_file", json!({"path": path, "content": path})).await;
    }
    let journal = shop.workspace.journal().expect("journal");
    let roots = shop.workspace.roots();
    let error = journal.undo(roots, &[3, 9], false).expect_err("9 was never there");
    assert!(matches!(error, JournalError::Gone(9)), "{error}");
    assert!(shop.path("c").exists(), "nothing is undone");
    journal.undo(roots, &[3, 1], false).expect("undo");
    assert_eq!((shop.read_file("a"), shop.read_file("b").as_deref()), (None, Some("b")));
    journal.undo(roots, &[2], false).expect("undo");
    shop.call_ok("write_file", json!({"path": "d", "content": "d"})).await;
    assert_eq!(journal.list().expect("list")[0].id, 4, "3 belonged to another change");
    let error = journal.undo(roots, &[3], false).expect_err("undone already");
    assert!(matches!(error, JournalError::Gone(3)), "{error}");
}

#[tokio::test]
async fn a_refusal_names_the_later_change() {
    let shop = TestWorkspace::new();
    shop.call_ok("write_file", json!({"path": "f", "content": "1"})).await;
    shop.call_ok("write_file", json!({"path": "f", "content": "2"})).await;
    let journal = shop.workspace.journal().expect("journal");
    let report = journal.undo(shop.workspace.roots(), &[1], false).expect("undo");
    let (_, why) = report.refused.expect("refused");
    assert!(why.contains("f was changed since by \"write f\""), "{why}");
}

#[tokio::test]
async fn what_was_changed_after_an_undo_is_not_redone_unless_forced() {
    let shop = filled();
    shop.call_ok("edit_file", json!({"path": "f", "old_text": "old", "new_text": "new"})).await;
    undo(&shop, 1, false);
    shop.write_file("f", "by hand");
    let (_, why) = redo(&shop, 1, false).refused.expect("refused");
    assert!(why.contains("cannot be redone: f was changed since"), "{why}");
    assert_eq!(redo(&shop, 1, true).refused, None);
    assert_eq!(shop.read_file("f").as_deref(), Some("new\n"));
    assert_eq!(undo(&shop, 1, false).refused, None);
    assert_eq!(shop.read_file("f").as_deref(), Some("by hand"));
}

#[tokio::test]
async fn a_preview_shows_the_whole_way_of_each_file() {
    let shop = filled();
    shop.call_ok("edit_file", json!({"path": "f", "old_text": "old", "new_text": "one"})).await;
    shop.call_ok("edit_file", json!({"path": "f", "old_text": "one", "new_text": "two"})).await;
    shop.call_ok("move_path", json!({"from": "d", "to": "k"})).await;
    shop.call_ok("delete_file", json!({"path": "empty"})).await;
    let journal = shop.workspace.journal().expect("journal");
    let list = journal.list().expect("list");
    let before = state(&shop);
    let files = journal.preview(shop.workspace.roots(), &list).expect("preview");
    assert_eq!(state(&shop), before, "a preview changes nothing");
    let acts: Vec<_> = files.iter().map(|f| (f.act, f.path.as_str(), f.from.as_deref())).collect();
    assert_eq!(
        acts,
        [
            (UndoAct::Move, "d", Some("k")),
            (UndoAct::Restore, "empty", None),
            (UndoAct::Change, "f", None)
        ]
    );
    let diff = files[2].diff.as_deref().expect("a diff");
    assert_eq!(diff, "--- f\n+++ f\n@@ -1 +1 @@\n-two\n+old\n");
    undo(&shop, 4, false);
    let again: Vec<_> =
        journal.undone().expect("list").into_iter().map(|change| change.entry).collect();
    let files = journal.preview(shop.workspace.roots(), &again).expect("preview");
    let acts: Vec<_> = files.iter().map(|f| (f.act, f.path.as_str(), f.from.as_deref())).collect();
    assert_eq!(
        acts,
        [
            (UndoAct::Remove, "empty", None),
            (UndoAct::Change, "f", None),
            (UndoAct::Move, "k", Some("d"))
        ]
    );
}
