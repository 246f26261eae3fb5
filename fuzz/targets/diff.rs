//! `builtins::patch`: any diff is read or refused, and what is applied changes nothing that it does
//! not name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolcrib_builtins::patch::{Op, apply, parse};

fuzz_target!(|input: &str| {
    let Some((diff, content)) = input.split_once('\0') else { return };
    let Ok(files) = parse(diff) else { return };
    for file in &files {
        let Ok(applied) = apply(content, &file.hunks) else { continue };
        let lines = |text: &str| text.split_inclusive('\n').count();
        // An empty line without an end is none.
        if file.hunks.iter().all(|hunk| hunk.lines.iter().all(|line| !line.is_unended)) {
            assert_eq!(lines(&applied.content) + applied.removed, lines(content) + applied.added);
        }
        assert_eq!(applied.places.len(), file.hunks.len());
        // Every line that had to stand there did.
        let old: Vec<&str> = content.split_inclusive('\n').map(str::trim_end).collect();
        for (hunk, (place, _)) in file.hunks.iter().zip(&applied.places) {
            let wanted = hunk.lines.iter().filter(|line| line.op != Op::Add);
            for (line, there) in wanted.zip(&old[place - 1..]) {
                assert_eq!(line.text.trim_end(), *there);
            }
        }
    }
});
