//! Sink of the preview: counts calls, filters text, and forwards the pieces.

use super::text_filter::TextFilter;
use crate::model::{Delta, DeltaSink};

pub(super) struct PreviewSink<'o, 's> {
    pub(super) filter: &'o mut TextFilter,
    /// Calls begun so far.
    pub(super) calls: &'o mut usize,
    pub(super) deltas: DeltaSink<'s>,
}

impl PreviewSink<'_, '_> {
    pub(super) fn text(&mut self, text: &str) {
        let shown = self.filter.push(text);
        self.show(shown);
    }

    /// Ends the text and decides about the part that was held back.
    pub(super) fn flush(&mut self) {
        let rest = self.filter.flush();
        self.show(rest.text);
        for call in rest.calls {
            let index = self.call(&call.name);
            self.args(index, &call.args);
        }
    }

    fn show(&mut self, text: String) {
        if !text.is_empty() {
            (self.deltas)(Delta::Text { text });
        }
    }

    pub(super) fn reasoning(&mut self, text: &str) {
        if !text.is_empty() {
            (self.deltas)(Delta::Reasoning { text: text.to_owned() });
        }
    }

    /// Starts a call and returns its index.
    pub(super) fn call(&mut self, name: &str) -> usize {
        let index = *self.calls;
        *self.calls += 1;
        (self.deltas)(Delta::CallStart { index, name: name.to_owned() });
        index
    }

    pub(super) fn args(&mut self, index: usize, text: &str) {
        if !text.is_empty() {
            (self.deltas)(Delta::CallArgs { index, text: text.to_owned() });
        }
    }

    pub(super) fn hosted(&mut self, kind: &str) {
        (self.deltas)(Delta::Hosted { kind: kind.to_owned() });
    }
}
