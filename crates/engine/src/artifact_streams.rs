//! Long results: streamed into an artifact, with the beginning and the end buffered for the model.
//! Also forwards the progress of calls to subscribers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::tool::Streams;
use toolcrib_core::{
    ArtifactStore, ArtifactWriter, BatchSubscriber, Block, CallCtx, Progress, StreamSink, Trust,
    defaults,
};
use toolcrib_sanitizer::{Captured, HeadTail};

use crate::secrets::{Secrets, StreamMask};

/// Opens streams into an artifact store.
pub(crate) struct ArtifactStreams {
    pub(crate) artifacts: Arc<dyn ArtifactStore>,
    /// Secrets that are masked before any text is stored.
    pub(crate) secrets: Secrets,
    /// Total characters of the beginning and the end.
    pub(crate) chars: AtomicUsize,
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
            conversation: call.context.conversation.clone(),
        };
        // Without an artifact the model still gets the beginning and the end: a full disk must not
        // lose a computed result.
        let writer = self.artifacts.create(new).ok();
        Box::new(Stream {
            ends: HeadTail::new(self.chars.load(Ordering::Relaxed)),
            media_type: media_type.to_owned(),
            writer,
            total: 0,
            mask: self.secrets.stream(),
            plain: self.secrets.is_empty(),
        })
    }
}

/// Streams of one attempt that has a subscriber.
pub(crate) struct ProgressStreams {
    pub(crate) streams: Arc<ArtifactStreams>,
    pub(crate) watch: Arc<dyn BatchSubscriber>,
    /// Time of the last progress report.
    pub(crate) last: Mutex<Option<Instant>>,
}

impl Streams for ProgressStreams {
    fn open(&self, call: &CallCtx, media_type: &str) -> Box<dyn StreamSink> {
        self.streams.open(call, media_type)
    }

    fn wants_progress(&self) -> bool {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_none_or(|last| last.elapsed() >= defaults::PROGRESS_STEP)
    }

    fn progress(&self, call: &CallCtx, mut progress: Progress) {
        if !self.wants_progress() {
            return;
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        // Mask before cutting: a cut could leave half of a secret.
        let masked = self.streams.secrets.mask(progress.message);
        let beyond = masked.chars().count().saturating_sub(defaults::PROGRESS_CHARS);
        progress.message = masked.chars().skip(beyond).collect();
        self.watch.on_progress(call.call, &progress);
    }
}

struct Stream {
    ends: HeadTail,
    media_type: String,
    writer: Option<Box<dyn ArtifactWriter>>,
    total: u64,
    mask: StreamMask,
    /// Whether there are no secrets to mask.
    plain: bool,
}

impl StreamSink for Stream {
    fn write(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if self.plain {
            return self.keep(bytes);
        }
        let masked = self.mask.pass(bytes);
        self.keep(&masked);
    }

    fn finish(mut self: Box<Self>) -> Block {
        let rest = self.mask.finish();
        self.keep(&rest);
        Block::Spilled {
            preview: preview(self.ends.finish()),
            media_type: self.media_type,
            total_bytes: self.total,
            artifact: self.writer.and_then(|w| w.finish().ok()).map(|meta| meta.artifact),
        }
    }
}

/// Returns the beginning and the end, with exact counts of the complete text in the first line.
fn preview(captured: Captured) -> String {
    if !captured.is_cut() {
        return captured.into_text();
    }
    let (head, tail, total) = (captured.head.len(), captured.tail.len(), captured.total_bytes);
    let counts = format!(
        "[Showing {} of {total} bytes: the first {head} and the last {tail}.]",
        head + tail
    );
    [&counts, "\n", &captured.into_text()].concat()
}

impl Stream {
    fn keep(&mut self, bytes: &[u8]) {
        self.ends.push(bytes);
        if self.writer.as_mut().is_some_and(|writer| writer.write(bytes).is_err()) {
            self.writer = None;
        }
    }
}
