//! Collects one output stream of a command: the beginning and the end in memory, and the complete
//! stream in an artifact if it is longer.

use toolcrib_core::{ArtifactRef, Block, CallCtx, Progress, StreamSink};
use toolcrib_sandbox::process::{Capture, Captured, count_chars};

/// Bytes of the newest output shown as progress.
const NEWEST: usize = 1_000;

/// One stream while it is being read.
pub(super) struct Collector {
    call: CallCtx,
    capture: Capture,
    /// Characters kept.
    kept: usize,
    /// Number of characters so far, while the complete output is stored.
    chars: usize,
    /// The newest output.
    newest: Vec<u8>,
    /// The complete output while it is small.
    all: Vec<u8>,
    sink: Option<Box<dyn StreamSink>>,
}

/// One stream of a finished command.
#[derive(Debug, Clone)]
pub(crate) struct CollectedStream {
    /// The beginning and the end, and the total size.
    pub(crate) kept: Captured,
    /// The complete output, if `kept` does not contain all of it.
    pub(crate) whole: Option<ArtifactRef>,
}

impl Collector {
    pub(super) fn new(call: CallCtx, kept: usize) -> Self {
        let (newest, all) = (Vec::new(), Vec::new());
        let capture = Capture::of_chars(kept);
        Self { call, capture, kept, chars: 0, newest, all, sink: None }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.capture.push(bytes);
        self.newest
            .extend_from_slice(bytes.get(bytes.len().saturating_sub(NEWEST)..).unwrap_or_default());
        self.newest.drain(..self.newest.len().saturating_sub(NEWEST));
        if bytes.iter().any(is_break) {
            self.call.progress(|| Progress::from(whole_lines(&self.newest)));
        }
        if let Some(sink) = &mut self.sink {
            sink.write(bytes);
            return;
        }
        self.chars += count_chars(bytes);
        if self.chars <= self.kept {
            self.all.extend_from_slice(bytes);
        } else {
            let mut sink = self.call.stream("text/plain");
            sink.write(&std::mem::take(&mut self.all));
            sink.write(bytes);
            self.sink = Some(sink);
        }
    }

    pub(super) fn finish(self) -> CollectedStream {
        let whole = match self.sink.map(StreamSink::finish) {
            Some(Block::Spilled { artifact, .. }) => artifact,
            Some(Block::Artifact(artifact)) => Some(artifact),
            _ => None,
        };
        CollectedStream { kept: self.capture.finish(), whole }
    }
}

/// Returns whether the byte ends a line; progress bars use carriage returns.
fn is_break(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Returns the complete lines at the end of a stream. A partial line may contain part of a secret,
/// which masking could not recognize.
fn whole_lines(end: &[u8]) -> String {
    let last = end.iter().rposition(is_break).map_or(0, |at| at + 1);
    let first =
        if end.len() < NEWEST { 0 } else { end.iter().position(is_break).map_or(0, |at| at + 1) };
    String::from_utf8_lossy(end.get(first..last).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_are_shown_while_a_command_runs() {
        let check = |end: &[u8], shown: &str| assert_eq!(whole_lines(end), shown);
        check(b"", "");
        check(b"half a line", "");
        check(b"one\ntwo\nthr", "one\ntwo\n");
        check(b"10 %\r20 %\r", "10 %\r20 %\r");
        check(&b"x".repeat(NEWEST), "");
        let long = [b"x".repeat(NEWEST - 5), b"\nend\n".to_vec()].concat();
        check(&long, "end\n");
    }
}
