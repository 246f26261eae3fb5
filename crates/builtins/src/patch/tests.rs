//! Diffs of many forms, and diffs created by another library.

use proptest::prelude::*;
use similar::TextDiff;

use super::*;

/// Applies a diff of one file.
fn patched(old: &str, diff: &str) -> Result<String, String> {
    let files = parse(diff).map_err(|error| error.to_string())?;
    let [file] = files.as_slice() else { return Err(format!("{} files", files.len())) };
    apply(old, &file.hunks).map(|a| a.content).map_err(|(number, why)| format!("{number}: {why:?}"))
}

fn check(what: &str, old: &str, diff: &str, new: &str) {
    assert_eq!(patched(old, diff).as_deref(), Ok(new), "{what}");
}

fn refused(what: &str, old: &str, diff: &str, why: &str) {
    let error = patched(old, diff).expect_err(what);
    assert!(error.contains(why), "{what}: {error}");
}

const FILE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

#[test]
fn unified_diffs() {
    check(
        "plain",
        FILE,
        "--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n",
        "one\ntwo\n3\nfour\nfive\nsix\nseven\n",
    );
    check("no names", FILE, "@@ -1 +1 @@\n-one\n+1\n", "1\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    check(
        "wrong line",
        FILE,
        "@@ -900,2 +900,2 @@\n two\n-three\n+3\n",
        "one\ntwo\n3\nfour\nfive\nsix\nseven\n",
    );
    check(
        "wrong counts",
        FILE,
        "@@ -2,9 +2,1 @@\n two\n-three\n+3\n",
        "one\ntwo\n3\nfour\nfive\nsix\nseven\n",
    );
    check(
        "no numbers",
        FILE,
        "@@ fn x() @@\n two\n-three\n+3\n",
        "one\ntwo\n3\nfour\nfive\nsix\nseven\n",
    );
    check(
        "two hunks",
        FILE,
        "@@ -1,2 +1 @@\n-one\n two\n@@ -6,2 +5,3 @@\n six\n+6.5\n seven\n",
        "two\nthree\nfour\nfive\nsix\n6.5\nseven\n",
    );
    check(
        "drifting hunks",
        &format!("0\n0\n{FILE}"),
        "@@ -1,2 +1 @@\n-one\n two\n@@ -6,2 +5,3 @@\n six\n+6.5\n seven\n",
        "0\n0\ntwo\nthree\nfour\nfive\nsix\n6.5\nseven\n",
    );
    check(
        "as git says it",
        FILE,
        "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\t2020\n+++ b/f\n@@ -7 +7,2 @@ six\n seven\n+8\n",
        "one\ntwo\nthree\nfour\nfive\nsix\nseven\n8\n",
    );
    check(
        "fenced",
        FILE,
        "```diff\n@@ -1 +1 @@\n-one\n+1\n```\n",
        "1\ntwo\nthree\nfour\nfive\nsix\nseven\n",
    );
    check("blank context cut", "a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nc\n");
    check("new", "", "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n");
    check(
        "names in the content",
        "-- old\n++ x\ny\n",
        "@@ -1,3 +1,2 @@\n--- old\n ++ x\n y\n",
        "++ x\ny\n",
    );
    check(
        "removed line like a name",
        "-- a\nb\n",
        "--- f\n+++ f\n@@ -1,2 +1,2 @@\n--- a\n+++ c\n b\n",
        "++ c\nb\n",
    );
}

/// Regression: new files in git's format were treated as empty.
#[test]
fn new_files_of_git_have_a_mode() {
    let diff = "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..5626abf\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+one\n";
    check("new", "", diff, "one\n");
    check("fenced", "", &format!("\n\n```diff\n{diff}```\n\n"), "one\n");
}

#[test]
fn ends_of_lines_and_files() {
    let swap = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
    check("dos file", "a\r\nb\r\n", swap, "a\r\nc\r\n");
    check("dos diff", "a\nb\n", "@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+c\r\n", "a\nc\n");
    check("no end, no mark", "a\nb", swap, "a\nc");
    check(
        "no end, kept",
        "a\nb",
        "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
        "a\nc",
    );
    check(
        "end added",
        "a\nb",
        "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n",
        "a\nc\n",
    );
    check(
        "end removed",
        "a\nb\n",
        "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n",
        "a\nc",
    );
    check(
        "behind a line without end",
        "a",
        "@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n",
        "a\nb\n",
    );
    check("lines behind the last", "a", "@@ -1 +1,2 @@\n a\n+b\n", "a\nb");
    check("trailing blanks differ", "a  \nb\n", swap, "a  \nc\n");
}

#[test]
fn blocks() {
    let block = |old: &str, new: &str| {
        format!("<<<<<<< ORIGINAL\n{old}=======\n{new}>>>>>>> REPLACEMENT\n")
    };
    check(
        "one",
        FILE,
        &block("three\nfour\n", "3\n4\n4.5\n"),
        "one\ntwo\n3\n4\n4.5\nfive\nsix\nseven\n",
    );
    check(
        "two",
        FILE,
        &format!("{}and\n{}", block("one\n", "1\n"), block("seven\n", "")),
        "1\ntwo\nthree\nfour\nfive\nsix\n",
    );
    check(
        "other words",
        FILE,
        "<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE",
        "1\ntwo\nthree\nfour\nfive\nsix\nseven\n",
    );
    check("empty file", "", &block("", "a\n"), "a\n");
    refused("twice", "a\nb\na\n", &block("a\n", "c\n"), "Ambiguous { lines: [1, 3], count: 2 }");
    refused("not there", FILE, &block("eight\n", "8\n"), "NotFound");
    refused("nothing to find", FILE, &block("", "8\n"), "NoContext");
    refused("open", FILE, "<<<<<<< ORIGINAL\none\n=======\n", "does not end");
    refused("no middle", FILE, "<<<<<<< ORIGINAL\none\n>>>>>>> REPLACEMENT\n", "no line =======");
    refused(
        "two middles",
        FILE,
        "<<<<<<< ORIGINAL\none\n=======\n=======\n>>>>>>> REPLACEMENT\n",
        "two lines",
    );
    refused(
        "mixed",
        FILE,
        &format!("{}@@ -1 +1 @@\n-a\n+b\n", block("one\n", "1\n")),
        "mixes hunks and blocks",
    );
}

#[test]
fn every_line_of_a_hunk_is_compared() {
    let wrong_context = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n vier\n";
    refused(
        "context",
        FILE,
        wrong_context,
        "line: 1, at: 3, found: Some(\"three\"), wanted: \"vier\"",
    );
    refused("removed", FILE, "@@ -2,2 +2,1 @@\n two\n-drei\n", "at: 3");
    refused("only added", FILE, "@@ -5,0 +6,1 @@\n+x\n", "NoContext");
    refused("behind the end", FILE, "@@ -7,2 +7,2 @@\n seven\n-eight\n+8\n", "at: 8, found: None");
    refused("wrong order", FILE, "@@ -6 +6 @@\n-six\n+6\n@@ -1 +1 @@\n-one\n+1\n", "1: NotFound");
    refused(
        "overlapping",
        FILE,
        "@@ -1,3 +1,3 @@\n one\n two\n-three\n+3\n@@ -3,2 +3,2 @@\n three\n-four\n+4\n",
        "1: NotFound",
    );
}

#[test]
fn of_several_places_the_near_one_is_meant() {
    let file = "{\n  x\n}\n\n{\n  x\n}\n";
    let diff = |line: usize| format!("@@ -{line},2 +{line},2 @@\n {{\n-  x\n+  y\n");
    for line in [5, 6, 7, 8] {
        check("second", file, &diff(line), "{\n  x\n}\n\n{\n  y\n}\n");
    }
    check("first", file, &diff(2), "{\n  y\n}\n\n{\n  x\n}\n");
    refused("between", file, &diff(3), "Ambiguous");
    refused("far", file, &diff(40), "Ambiguous { lines: [1, 5], count: 2 }");
}

#[test]
fn what_is_no_diff_is_refused_with_its_line() {
    for (diff, why) in [
        ("", "line 1 of the diff: it holds no hunk"),
        ("hello", "line 1 of the diff: \"hello\" is not part"),
        ("--- a/f\n+++ b/f\n", "no hunk follows"),
        ("--- a/f\n+++ b/f\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", "no hunk follows"),
        ("@@ -1 +1 @@\n a\n", "adds and removes nothing"),
        ("@@ -1 +1 @@\n-a\n+b\nxyz\n", "line 4 of the diff: \"xyz\""),
        ("@@ -1 +1 @@\n\\ No newline\n", "has no line above it"),
        ("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "use delete_file"),
        ("--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", "renames f to g"),
        ("diff --git a/f b/g\nrename from f\nrename to g\n", "use move_path"),
        (
            "diff --git a/f b/f\nnew file mode 100644\nindex 0..e\ndiff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n",
            "empty file",
        ),
        ("Binary files a/x and b/x differ\n", "binary"),
        ("*** Begin Patch\n*** Update File: f\n", "another form"),
        ("--- \"a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", "cannot be read"),
    ] {
        let error = parse(diff).expect_err(diff).to_string();
        assert!(error.contains(why), "{diff:?}: {error}");
    }
    assert!(parse(&"x".repeat(MAX_BYTES + 1)).is_err());
    assert!(parse(&"@@ @@\n-a\n+b\n".repeat(MAX_HUNKS + 1)).is_err());
    let file = |n: usize| format!("--- a/{n}\n+++ b/{n}\n@@ -1 +1 @@\n-a\n+b\n");
    assert!(parse(&(0..=MAX_FILES).map(file).collect::<String>()).is_err());
}

#[test]
fn names_of_files() {
    for (diff, path) in [
        ("--- a/x/f.py\n+++ b/x/f.py\n@@ -1 +1 @@\n-a\n+b\n", Some("x/f.py")),
        ("--- x/f.py\n+++ x/f.py\n@@ -1 +1 @@\n-a\n+b\n", Some("x/f.py")),
        ("--- f.orig\t2020-01-01\n+++ f\t2020-01-01\n@@ -1 +1 @@\n-a\n+b\n", Some("f")),
        (
            "--- \"a/\\303\\274 x\\t\"\n+++ \"b/\\303\\274 x\\t\"\n@@ -1 +1 @@\n-a\n+b\n",
            Some("ü x\t"),
        ),
        ("--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+b\n", Some("new")),
        ("@@ -0,0 +1 @@\n+b\n", None),
    ] {
        let files = parse(diff).expect(diff);
        assert_eq!(files.len(), 1, "{diff}");
        assert_eq!(files[0].path.as_deref(), path, "{diff}");
        assert_eq!(files[0].is_new, diff.contains("/dev/null"), "{diff}");
    }
}

#[test]
fn a_file_that_repeats_itself_ends_in_time() {
    // All lines are equal; only the hunk's last line differs.
    let file = "x\n".repeat(200_000);
    let hunk = format!("@@ -1,2001 +1,2000 @@\n{} x\n-y\n", " x\n".repeat(2000));
    refused("no such line", &file, &hunk, "NotFound");
    let file = format!("{file}y\n");
    check("at the end", &file, &hunk, file.strip_suffix("y\n").expect("end"));
    let blank = "\n".repeat(400_000);
    assert!(parse(&format!("{blank}```{blank}")).is_err());
    let again = "@@ @@\n-x\n-x\n+z\n".repeat(1000);
    refused("many places", &file, &again, "Ambiguous");
    let line =
        "<<<<<<< ORIGINAL\n".to_owned() + &"x\n".repeat(5000) + "=======\n>>>>>>> REPLACEMENT\n";
    refused("long and everywhere", &"x\n".repeat(200_000), &line, "TooMuch");
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[abc]{0,2}",
        1 => Just("-- x".to_owned()),
        1 => Just("@@ -1 +1 @@".to_owned()),
        1 => Just("\\ No newline".to_owned()),
        1 => Just("=======".to_owned()),
    ];
    (proptest::collection::vec(line, 0..24), any::<bool>()).prop_map(|(lines, end)| {
        let mut text = lines.join("\n");
        if end && !text.is_empty() {
            text.push('\n');
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A diff by another library turns one text into the other.
    #[test]
    fn diffs_of_others_do_what_they_say(old in text(), new in text()) {
        let diff = TextDiff::from_lines(&old, &new).unified_diff().header("a/f", "b/f").to_string();
        prop_assume!(!diff.is_empty());
        let files = parse(&diff).map_err(|e| TestCaseError::fail(format!("{e}\n{diff}")))?;
        prop_assert_eq!(files.len(), 1, "{}", diff);
        // Without context the position of a repeated line is ambiguous.
        match apply(&old, &files[0].hunks) {
            Ok(applied) => prop_assert_eq!(applied.content, new, "{}", diff),
            Err((_, HunkMismatch::Ambiguous { .. })) => {}
            Err((number, why)) => prop_assert!(false, "{number}: {why:?}\n{diff}"),
        }
    }

    /// Any text is parsed or refused, and applying a diff keeps every line that it does not name.
    #[test]
    fn any_text_is_read_or_refused(diff in "([-+ @\\\\=<>]{0,8}[ a/fORIGINAL0-9,]{0,6}\n){0,12}", old in text()) {
        if let Ok(files) = parse(&diff) {
            for file in files {
                if let Ok(applied) = apply(&old, &file.hunks) {
                    let kept = old.lines().count() - applied.removed;
                    prop_assert_eq!(applied.content.lines().count(), kept + applied.added);
                }
            }
        }
    }
}
