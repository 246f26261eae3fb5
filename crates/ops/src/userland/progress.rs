//! Describes the progress of an installation in words.

use std::sync::atomic::{AtomicU64, Ordering};

use toolcrib_sandbox::userland::Progress;

/// Number of bytes between two reports on the progress of a download.
const STEP: u64 = 8 << 20;
const MEBIBYTE: u64 = 1 << 20;

/// Converts progress to lines of text.
#[derive(Debug, Default)]
pub struct ProgressText {
    /// Downloaded bytes at the last report.
    said: AtomicU64,
}

impl ProgressText {
    /// Returns the line for a step; `None` if the step needs none. The line contains text of
    /// mirrors and programs unchanged.
    pub fn line(&self, progress: Progress) -> Option<String> {
        Some(match progress {
            Progress::Asking(mirror) => format!("asking {mirror}"),
            Progress::Useless(mirror, reason) => format!("{mirror} was of no use: {reason}"),
            Progress::Verifying => "comparing the archive with what is known of it".to_owned(),
            Progress::Unpacking => "unpacking".to_owned(),
            Progress::Said(line) => line,
            Progress::Downloaded(there, whole) => {
                if there < self.said.load(Ordering::Relaxed).saturating_add(STEP) {
                    return None;
                }
                self.said.store(there, Ordering::Relaxed);
                let of = whole.map(|whole| format!(" of {}", whole / MEBIBYTE)).unwrap_or_default();
                format!("{}{of} MiB are there", there / MEBIBYTE)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_is_said_in_steps() {
        let text = ProgressText::default();
        let line = |there| text.line(Progress::Downloaded(there, Some(20 << 20)));
        assert_eq!(line(1 << 20), None);
        assert_eq!(line(9 << 20).as_deref(), Some("9 of 20 MiB are there"));
        assert_eq!(line(10 << 20), None);
        assert_eq!(line(17 << 20).as_deref(), Some("17 of 20 MiB are there"));
        let asking = Progress::Asking("https://m.example".to_owned());
        assert_eq!(text.line(asking).as_deref(), Some("asking https://m.example"));
    }
}
