//! What a command writes to one stream: both ends in memory, all of it in an artifact where that is not all.

use toolcrib_core::{ArtifactRef, Block, CallCtx, Progress, StreamSink};
use toolcrib_sandbox::process::{Capture, Captured};

/// Bytes of its newest lines that people see while it is written.
const NEWEST: usize = 1_000;

/// One stream while it is read.
pub(super) struct Collector {
    call: CallCtx,
    capture: Capture,
    /// Bytes that are kept of it.
    kept: usize,
    /// The end of what was written so far.
    newest: Vec<u8>,
    /// All of it, as long as that is little.
    all: Vec<u8>,
    sink: Option<Box<dyn StreamSink>>,
}

/// One stream of a command that is over.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    /// Both ends, and how much it was.
    pub(crate) kept: Captured,
    /// All of it, where the ends are not all.
    pub(crate) whole: Option<ArtifactRef>,
}

impl Collector {
    pub(super) fn new(call: CallCtx, kept: usize) -> Self {
        let (newest, all) = (Vec::new(), Vec::new());
        Self { call, capture: Capture::new(kept), kept, newest, all, sink: None }
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
        } else if self.all.len() + bytes.len() <= self.kept {
            self.all.extend_from_slice(bytes);
        } else {
            let mut sink = self.call.stream("text/plain");
            sink.write(&std::mem::take(&mut self.all));
            sink.write(bytes);
            self.sink = Some(sink);
        }
    }

    pub(super) fn finish(self) -> Stream {
        let whole = match self.sink.map(StreamSink::finish) {
            Some(Block::Spilled { artifact, .. }) => artifact,
            Some(Block::Artifact(artifact)) => Some(artifact),
            _ => None,
        };
        Stream { kept: self.capture.finish(), whole }
    }
}

/// What ends a line; bars that fill up go back to its beginning.
fn is_break(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// What of the end of a stream is whole lines: half of one may be half of a secret, which nobody would know again.
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
