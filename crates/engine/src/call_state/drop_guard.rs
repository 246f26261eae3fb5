//! The one outcome of a call that is dropped before it is answered.

use std::sync::Arc;

use futures_util::FutureExt as _;
use toolcrib_core::{ErrorType, OutcomeKind, Settlement, ToolError};

use super::CallState;
use crate::resume::record_decision::denied_by;

impl CallState {
    /// Returns how a dropped call ended, as far as it is known.
    fn abandoned(&self) -> (OutcomeKind, ToolError) {
        let repeatable = self.facts.assessed.as_ref().is_none_or(|a| a.effect.is_repeatable());
        if self.attempts.count > 0 && !repeatable {
            let text = "The call was dropped while it ran. Whether it took effect is unknown: check before you call it again.";
            (OutcomeKind::Unknown, ToolError::new(ErrorType::UnknownOutcome, text))
        } else {
            let text = "The call was dropped before it was done.";
            (OutcomeKind::Cancelled, ToolError::new(ErrorType::Cancelled, text))
        }
    }
}

impl Drop for CallState {
    fn drop(&mut self) {
        if !self.succeeded {
            // Work that a failed or dropped call had started ends with it.
            self.cancel.cancel();
        }
        if self.is_answered {
            return;
        }
        // The call ran until it was dropped; that time is charged.
        if let Some(begun) = self.attempts.started.take() {
            self.attempts.run_time += begun.elapsed();
            if let Some(reservation) = self.reservation.take() {
                reservation.settle(self.attempts.run_time, 0);
            }
        }
        let (kind, error) = self.abandoned();
        let record = self.call_record(kind, Some(&error));
        let mut settlement = Settlement { record, outcome: None };
        let engine = Arc::clone(self.engine());
        if engine.calls.keeps_details() {
            settlement = settlement.with_outcome(&self.outcome(kind, Err(error)));
        }
        let question = self.open_question.take();
        self.mark_finishing();
        // The call counts as active until its end is recorded.
        let registration = self.registration.take();
        let mut settle = Box::pin(async move {
            let _registration = registration;
            let closing = question.map(|id| {
                let closed = denied_by("stopped", engine.clock.now_ms());
                engine.approvals.decide(id, closed)
            });
            // Both writes are queued before either is awaited: there may be no runtime to wait on.
            let settling = engine.calls.settle(settlement);
            if let Some(closing) = closing {
                let _ = closing.await;
            }
            let _ = settling.await;
        });
        // Most stores complete immediately; the others need a runtime, which exists as long as
        // calls do.
        if settle.as_mut().now_or_never().is_none()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(settle);
        }
    }
}
