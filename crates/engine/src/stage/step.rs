//! Results of a stage: the call continues with the next phase, or it leaves the pipeline.

use std::borrow::Cow;

use toolcrib_core::{Answer, ApprovalRequest, ErrorType, StageVerdict, ToolError};

use crate::resume::resumed_call::ResumedCall;

/// The result of a stage: the next phase of the call, or the reason why it leaves the pipeline.
pub(crate) type StageResult<P> = Result<StagePass<P>, StageExit>;

/// The call passes the stage and reaches the phase `next`.
pub(crate) struct StagePass<P> {
    pub(crate) next: P,
    pub(crate) verdict: StageVerdict,
    /// The stage's note in the trace.
    pub(crate) note: Cow<'static, str>,
}

impl<P> StagePass<P> {
    pub(crate) fn plain(next: P) -> Self {
        Self { next, verdict: StageVerdict::Pass, note: Cow::Borrowed("") }
    }

    /// Passes a stage that had nothing to do.
    pub(crate) fn skipped(next: P) -> Self {
        Self { next, verdict: StageVerdict::Skipped, note: Cow::Borrowed("") }
    }

    pub(crate) fn with_note(next: P, note: impl Into<Cow<'static, str>>) -> Self {
        Self { next, verdict: StageVerdict::Pass, note: note.into() }
    }

    /// Passes a stage that changed the arguments or the result.
    pub(crate) fn changed(next: P, note: impl Into<Cow<'static, str>>) -> Self {
        Self { next, verdict: StageVerdict::Changed, note: note.into() }
    }

    /// Converts the pass to another phase.
    pub(crate) fn map<Q>(self, next: impl FnOnce(P) -> Q) -> StagePass<Q> {
        StagePass { next: next(self.next), verdict: self.verdict, note: self.note }
    }
}

/// Why a call leaves the pipeline before its last stage.
pub(crate) enum StageExit {
    Fail(ToolError),
    /// It waits for a decision beyond this process.
    Suspend(Box<ApprovalRequest>),
    /// A person edited its arguments: the call enters the pipeline again at stage 0.
    Rerun(Box<ResumedCall>),
    /// Another process runs the call, or has run it: this is the answer recorded there.
    AnsweredElsewhere(Box<Answer>),
}

impl From<ToolError> for StageExit {
    fn from(error: ToolError) -> Self {
        Self::Fail(error)
    }
}

pub(crate) fn fail<T>(error_type: ErrorType, message: impl Into<String>) -> Result<T, StageExit> {
    Err(StageExit::Fail(ToolError::new(error_type, message)))
}
