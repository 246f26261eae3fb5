//! The memory that our own code takes. A start runs through much of the program once: through all of its options, settings and tools. What it
//! touched stays mapped, in pieces of 64 KiB and more around every function, and is most of what the system counts as the memory of a process that
//! serves.

use std::ops::Range;

/// Lets go of the code and the constants of this program that are mapped. They are the file's own pages, which nobody writes: what runs again is
/// there again at once, from the system's cache of the file. Where the system has no such call, nothing happens.
pub fn let_go_of_code() {
    #[cfg(target_os = "linux")]
    for mapping in mappings() {
        crate::linux::forget_pages(mapping);
    }
}

/// Where the program's file is mapped to be read alone, as it is in the file.
#[cfg(target_os = "linux")]
fn mappings() -> Vec<Range<usize>> {
    let program = std::fs::read_link("/proc/self/exe").ok();
    let program = program.as_deref().and_then(|path| path.to_str()).unwrap_or_default();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter_map(|line| unchanged(line, program)).collect()
}

/// The range of a line of `/proc/self/maps` that is a part of this program which is never changed in memory: its code, and the constants at the
/// beginning of the file. Constants with addresses in them lie behind the code; the loader has written those, so they are not the file's any more.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux says it so"))]
fn unchanged(line: &str, program: &str) -> Option<Range<usize>> {
    // 55d0c0000000-55d0c1b96000 r--p 00000000 fe:00 1234    /usr/bin/toolcrib
    let mut words = line.splitn(6, ' ');
    let (range, may, offset) = (words.next()?, words.next()?, words.next()?);
    let is_constant = may == "r-xp" || (may == "r--p" && offset.bytes().all(|b| b == b'0'));
    let is_ours = !program.is_empty() && words.nth(2)?.trim_start() == program;
    let (start, end) = range.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    (is_constant && is_ours).then_some(address(start)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_never_changed_is_let_go() {
        let check = |line: &str, expected: Option<Range<usize>>| {
            assert_eq!(unchanged(line, "/bin/our own"), expected, "{line}");
        };
        check("1000-3000 r--p 00000000 fe:00 12   /bin/our own", Some(0x1000..0x3000));
        check("3000-9000 r-xp 00002000 fe:00 12   /bin/our own", Some(0x3000..0x9000));
        // What the loader writes addresses into, and variables.
        check("9000-a000 r--p 00008000 fe:00 12   /bin/our own", None);
        check("a000-b000 rw-p 00009000 fe:00 12   /bin/our own", None);
        check("3000-9000 r-xp 00002000 fe:00 12   /lib/libc.so.6", None);
        check("3000-9000 r-xp 00000000 00:00 0 ", None);
        check("3000-9000 rw-p 00000000 00:00 0    [heap]", None);
        check("", None);
        assert_eq!(unchanged("3000-9000 r-xp 00000000 00:00 0 ", ""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_let_go_takes_no_memory_and_runs_all_the_same() {
        let mapped = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("RssFile")).unwrap().to_owned();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        // Something to let go of.
        let pages = mappings().into_iter().map(|range| range.len()).sum::<usize>();
        assert!(pages > 0);
        only_what_is_never_changed_is_let_go();
        let before = mapped();
        let_go_of_code();
        only_what_is_never_changed_is_let_go();
        assert!(mapped() < before, "{} KiB, {before} before", mapped());
    }
}
