//! Long results: written piece by piece into an artifact, with both ends kept for the model.

use std::sync::Arc;

use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::tool::Streams;
use toolcrib_core::{ArtifactStore, ArtifactWriter, Block, CallCtx, StreamSink, Trust, defaults};

use crate::text::HeadTail;

/// Opens streams into an artifact store.
pub(crate) struct ArtifactStreams {
    pub(crate) artifacts: Arc<dyn ArtifactStore>,
}

impl Streams for ArtifactStreams {
    fn open(&self, call: &CallCtx, media_type: &str) -> Box<dyn StreamSink> {
        let new = NewArtifact {
            owner: call.context.owner.clone(),
            media_type: media_type.to_owned(),
            trust: Trust::External,
            source: None,
            call: call.call,
            run: call.run,
        };
        // Without an artifact the model still gets both ends: a full disk must not lose a result that was computed.
        let writer = self.artifacts.create(new).ok();
        Box::new(Stream { ends: HeadTail::new(defaults::STREAM_CHARS), media_type: media_type.to_owned(), writer, total: 0 })
    }
}

struct Stream {
    ends: HeadTail,
    media_type: String,
    writer: Option<Box<dyn ArtifactWriter>>,
    total: u64,
}

impl StreamSink for Stream {
    fn write(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.ends.push(bytes);
        if self.writer.as_mut().is_some_and(|writer| writer.write(bytes).is_err()) {
            self.writer = None;
        }
    }

    fn finish(self: Box<Self>) -> Block {
        Block::Spilled {
            preview: self.ends.finish().into_text(),
            media_type: self.media_type,
            total_bytes: self.total,
            artifact: self.writer.and_then(|w| w.finish().ok()).map(|meta| meta.artifact),
        }
    }
}
