//! What a command writes to one stream: both ends in memory, all of it in an artifact where that is not all.

use toolcrib_core::{ArtifactRef, Block, CallCtx, StreamSink};
use toolcrib_sandbox::process::{Capture, Captured};

/// Bytes kept of each stream, half at its beginning and half at its end (DESIGN 9, Bounds: 30,000).
pub(super) const KEPT: usize = 30_000;

/// One stream while it is read.
pub(super) struct Collector {
    call: CallCtx,
    capture: Capture,
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
    pub(super) fn new(call: CallCtx) -> Self {
        Self { call, capture: Capture::new(KEPT), all: Vec::new(), sink: None }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.capture.push(bytes);
        if let Some(sink) = &mut self.sink {
            sink.write(bytes);
        } else if self.all.len() + bytes.len() <= KEPT {
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
