//! Releases file-backed code pages after startup (`MADV_DONTNEED`).
//!
//! Startup runs much of the program only once: options, settings and tools. The touched pages stay
//! mapped, in pieces of 64 KiB and more around each function, and account for most of a daemon's
//! resident memory.

use std::ops::Range;

/// Releases the mapped code and constants of this program. These are unmodified pages of its file,
/// so the kernel maps them again from the page cache when the code runs again. Does nothing on
/// other systems than Linux.
#[cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "which mappings may be forgotten is known here")
)]
pub fn release_code_pages() {
    #[cfg(target_os = "linux")]
    for mapping in mappings() {
        // SAFETY: the loader mapped these parts of our own file read-only, and they contain nothing
        // that it writes.
        unsafe { crate::linux::release_pages(mapping) };
    }
}

/// Returns the read-only, file-backed mappings of the program's file.
#[cfg(target_os = "linux")]
fn mappings() -> Vec<Range<usize>> {
    let program = std::fs::read_link("/proc/self/exe").ok();
    let program = program.as_deref().and_then(|path| path.to_str()).unwrap_or_default();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter_map(|line| file_backed_range(line, program)).collect()
}

/// Returns the address range of a line of `/proc/self/maps` if it is a part of this program that is
/// never modified in memory: its code, and the constants at the beginning of the file. Constants
/// with addresses are located after the code; the loader has relocated them, so they differ from
/// the file.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux says it so"))]
fn file_backed_range(line: &str, program: &str) -> Option<Range<usize>> {
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
    fn only_unmodified_mappings_are_released() {
        let check = |line: &str, expected: Option<Range<usize>>| {
            assert_eq!(file_backed_range(line, "/bin/our own"), expected, "{line}");
        };
        check("1000-3000 r--p 00000000 fe:00 12   /bin/our own", Some(0x1000..0x3000));
        check("3000-9000 r-xp 00002000 fe:00 12   /bin/our own", Some(0x3000..0x9000));
        // Relocated constants, and variables.
        check("9000-a000 r--p 00008000 fe:00 12   /bin/our own", None);
        check("a000-b000 rw-p 00009000 fe:00 12   /bin/our own", None);
        check("3000-9000 r-xp 00002000 fe:00 12   /lib/libc.so.6", None);
        check("3000-9000 r-xp 00000000 00:00 0 ", None);
        check("3000-9000 rw-p 00000000 00:00 0    [heap]", None);
        check("", None);
        assert_eq!(file_backed_range("3000-9000 r-xp 00000000 00:00 0 ", ""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn released_code_uses_no_memory_and_still_runs() {
        let mapped = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("RssFile")).unwrap().to_owned();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        // There are pages to release.
        let pages = mappings().into_iter().map(|range| range.len()).sum::<usize>();
        assert!(pages > 0);
        only_unmodified_mappings_are_released();
        let before = mapped();
        release_code_pages();
        only_unmodified_mappings_are_released();
        assert!(mapped() < before, "{} KiB, {before} before", mapped());
    }
}
