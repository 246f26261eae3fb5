//! Property tests that hold for every line.

use std::collections::HashSet;

use proptest::prelude::*;
use toolcrib_shell_parser::{AllowBlocker, Kind, MAX_LINE_BYTES, Word, parse};

use crate::line_generator::line;

/// All interpretations of a line that deny rules see, without wrapper names.
fn readings(line: &str) -> HashSet<Vec<Word>> {
    let parsed = parse(line);
    let words =
        parsed.segments.iter().flat_map(|s| &s.readings).map(|r| r.words().cloned().collect());
    // Words that xargs adds are for allow rules; deny rules also see the command without them.
    words
        .filter(|words: &Vec<Word>| {
            words.last() != Some(&Word::Unknown("(standard input)".to_owned()))
        })
        .collect()
}

fn quoted(line: &str) -> String {
    format!("'{}'", line.replace('\'', "'\\''"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wrapping_a_line_loses_no_reading(line in line()) {
        prop_assume!(parse(&line).fault.is_none());
        let inner = readings(&line);
        let wrapped = [
            // The blank matters: `(((` begins arithmetic, and bash refuses a `case` in it.
            format!("( {line}\n)"),
            format!("{{ {line}\n}}"),
            format!("! {{ {line}\n}}"),
            format!("echo $( {line}\n)"),
            format!("if true; then {line}\nfi"),
            format!("f() {{ {line}\n}}"),
            format!("bash -c {}", quoted(&line)),
            format!("sudo sh -ec {}", quoted(&line)),
            format!("eval {}", quoted(&line)),
            format!("bash <<'LIMIT'\n{line}\nLIMIT\n"),
            format!("timeout 5 bash -c {}", quoted(&line)),
            format!("ssh host {}", quoted(&line)),
            format!("true; {line}"),
            format!("(unbalanced; {line}"),
        ];
        for outer in &wrapped[..wrapped.len() - 1] {
            let all = readings(outer);
            let lost: Vec<_> = inner.iter().filter(|reading| !all.contains(*reading)).collect();
            // The surrounding text may call functions of the line; the calls stay.
            prop_assert!(lost.is_empty(), "{outer:?} loses {lost:?}");
        }
    }

    #[test]
    fn a_wrapper_in_front_loses_no_reading(
        line in "(kora|vemi|git -C x push|bash -c 'zuli a; pato')( [a-z]{1,3}| 'a b'| -x){0,3}",
        wrapper in prop::sample::select(&[
            "sudo", "env", "env A=1", "timeout 5", "nice", "nohup", "xargs", "xargs -0", "doas", "setsid", "watch -n 1",
            "time", "command", "exec", "stdbuf -o0", "strace -f", "ionice -c 3", "chroot /", "busybox", "find . -exec",
            "parallel", "flock f", "unshare -r", "sudo --unheard-of", "time timeout 5 nice -n 3 sudo -u x env -i A=b",
        ][..]),
    ) {
        let outer = format!("{wrapper} {line}");
        let (inner, all) = (readings(&line), readings(&outer));
        let lost: Vec<_> = inner.iter().filter(|reading| !all.contains(*reading)).collect();
        prop_assert!(lost.is_empty(), "{outer:?} loses {lost:?}");
    }

    #[test]
    fn no_text_is_too_odd(text in "\\PC*", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&text);
        let _ = parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn whatever_is_said_of_a_line_agrees(text in "([a-c'\"`$(){}<>|&;# \n\\\\=!\\[\\]]|<<a|\na\n|do|esac|\\$\\(){0,30}") {
        let parsed = parse(&text);
        for segment in &parsed.segments {
            prop_assert!(segment.kind == Kind::Command || segment.readings.is_empty());
            prop_assert!(parsed.fault.is_none() || !segment.blocks.is_empty());
        }
        if let Some(fault) = &parsed.fault {
            prop_assert!(fault.at <= text.len() && !fault.what.is_empty() && !parsed.segments.is_empty());
        } else {
            let inside = parse(&format!("(\n{text}\n)"));
            prop_assert!(inside.fault.is_some() || inside.segments.len() == parsed.segments.len());
        }
    }

    #[test]
    fn a_line_that_is_not_understood_is_never_allowed(line in line(), end in prop::sample::select(&["'", "\"", "(", "$(", "\r", "\u{0}", "${", "`"][..])) {
        let line = format!("{line}{end}");
        let parsed = parse(&line);
        if parsed.fault.is_some() {
            prop_assert!(!parsed.segments.is_empty());
            prop_assert!(parsed.segments.iter().all(|s| !s.blocks.is_empty()));
        }
    }
}

#[test]
fn depth_costs_no_stack_and_hides_nothing() {
    for open in [
        "(",
        "$(",
        "{ ",
        "\"$(",
        "${a:-",
        "$((",
        "$[",
        "<(",
        "[[ (",
        "if ",
        "a() { ",
        "! ",
        "time ",
        "`",
        "case a in (",
        "A=(",
    ] {
        let line = format!("{} rm -rf x", open.repeat((MAX_LINE_BYTES - 20) / open.len()));
        let parsed = parse(&line);
        let is_rm = |word: &Word| matches!(word, Word::Known(text) if text == "rm");
        let found = parsed.segments.iter().flat_map(|s| &s.readings).any(|r| is_rm(r.program()));
        assert!(found, "{open:?} hides a command");
    }
}

#[test]
fn texts_in_texts_are_followed_or_distrusted() {
    let mut line = "rm x".to_owned();
    for depth in 0..8 {
        let parsed = parse(&line);
        let is_rm =
            readings(&line).contains(&vec![Word::Known("rm".into()), Word::Known("x".into())]);
        assert!(is_rm || parsed.fault.is_some(), "{depth}");
        line = format!("bash -c {}", quoted(&line));
    }
}

#[test]
fn the_cost_of_a_line_depends_on_its_length_only() {
    for open in [
        "find . -exec ",
        ". ",
        // Each of these was scanned, copied or parsed to the end of the line at every word.
        "eval [[ -c ",
        "((#((\n:) )\n",
        "watch sh -o ",
        "xargs xargs $x ",
    ] {
        let line = open.repeat((MAX_LINE_BYTES - 4) / open.len()) + "rm x";
        let begun = std::time::Instant::now();
        let _ = parse(&line);
        // Scanning all words at every word would take more than 20 seconds.
        assert!(begun.elapsed().as_secs() < 8, "{open:?}: {:?}", begun.elapsed());
    }
}

/// A group's redirection blocks each of its commands: full copies of a long file name would take
/// gigabytes.
#[test]
fn blockers_of_a_group_are_short() {
    let half = MAX_LINE_BYTES / 2 - 8;
    let line = format!("{{ {}}} >{}", "a;".repeat(half / 2), "f".repeat(half));
    let parsed = parse(&line);
    assert_eq!(parsed.fault, None);
    let text = |block: &AllowBlocker| match block {
        AllowBlocker::Writes(text) => text.len(),
        _ => 0,
    };
    let bytes: usize = parsed.segments.iter().flat_map(|s| &s.blocks).map(text).sum();
    assert!(bytes < 16 * 1024 * 1024, "{bytes}");
}

#[test]
fn a_line_that_is_too_long_is_not_parsed_and_not_allowed() {
    let parsed = parse(&" ".repeat(MAX_LINE_BYTES + 1));
    assert!(parsed.fault.is_some());
    assert!(parsed.segments.iter().all(|segment| !segment.blocks.is_empty()));
    assert_eq!(parse(&" ".repeat(MAX_LINE_BYTES)).fault, None);
}
