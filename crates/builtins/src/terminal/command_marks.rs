//! Commands that a person types: the shell reports them before it runs them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Start of a report that the shell prints before a command: an operating system command (OSC) of
/// terminals with a number that no program uses. The line follows in Base64.
const BEGIN: &[u8] = b"\x1b]7771;";
const END: u8 = 7;
/// Maximum characters of a report. The shell shortens a command to 4,096 bytes.
const LONGEST: usize = 64 * 1024;

/// `PS0` of the shell, which bash expands after reading a line and before running it.
pub(super) const PS0: &str = r#"$(printf '\033]7771;%s\007' "$(HISTTIMEFORMAT= history 1 | sed 's/^ *[0-9]*[* ] *//' | head -c 4096 | base64 | tr -d '\n')")"#;

/// Extracts the reports of commands from the output of a terminal.
#[derive(Debug, Default)]
pub struct CommandMarks {
    /// The beginning of a report whose end has not arrived yet.
    held: Vec<u8>,
}

impl CommandMarks {
    /// Returns the bytes to show, and the commands that these bytes report.
    pub fn take(&mut self, bytes: &[u8]) -> (Vec<u8>, Vec<String>) {
        self.held.extend_from_slice(bytes);
        let (mut shown, mut commands) = (Vec::with_capacity(self.held.len()), Vec::new());
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_slice();
        while let Some(at) = rest.iter().position(|byte| *byte == 0x1b) {
            let (before, from) = rest.split_at(at);
            shown.extend_from_slice(before);
            let Some(report) = from.strip_prefix(BEGIN) else {
                if BEGIN.starts_with(from) {
                    self.held = from.to_vec();
                    return (shown, commands);
                }
                shown.push(0x1b);
                rest = from.get(1..).unwrap_or_default();
                continue;
            };
            let Some(end) = report.iter().position(|byte| *byte == END) else {
                if report.len() > LONGEST {
                    shown.extend_from_slice(from);
                } else {
                    self.held = from.to_vec();
                }
                return (shown, commands);
            };
            let (text, after) = report.split_at(end);
            commands.extend(command(text));
            rest = after.get(1..).unwrap_or_default();
        }
        shown.extend_from_slice(rest);
        (shown, commands)
    }
}

fn command(text: &[u8]) -> Option<String> {
    let line = BASE64_STANDARD.decode(text).ok()?;
    let line = String::from_utf8_lossy(&line).trim().to_owned();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_taken_out_wherever_they_are_cut() {
        let line = BASE64_STANDARD.encode("ls -la | wc\n");
        let stream =
            format!("$ \x1b[1mls\x1b[0m\r\n\x1b]7771;{line}\x07total 3\r\n\x1b]0;title\x07");
        for cut in 0..stream.len() {
            let mut marks = CommandMarks::default();
            let (a, b) = stream.as_bytes().split_at(cut);
            let (first, mut commands) = marks.take(a);
            let (second, more) = marks.take(b);
            commands.extend(more);
            let shown = String::from_utf8([first, second].concat()).unwrap();
            assert_eq!(shown, "$ \x1b[1mls\x1b[0m\r\ntotal 3\r\n\x1b]0;title\x07", "cut at {cut}");
            assert_eq!(commands, ["ls -la | wc"]);
        }
    }

    #[test]
    fn a_report_without_end_does_not_hold_back_the_screen() {
        let mut marks = CommandMarks::default();
        let (shown, _) = marks.take(&[BEGIN, &vec![b'x'; LONGEST + 1]].concat());
        assert!(shown.len() > LONGEST);
        assert_eq!(marks.take(b"after").0, b"after");
    }
}
