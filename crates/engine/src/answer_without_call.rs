//! The answer for a call that never entered the pipeline, or never left it.

use toolcrib_core::{Answer, Call, Outcome, Report, ToolError};

pub(crate) fn answer_without_call(call: Call, error: ToolError) -> Answer {
    Answer::Done(Box::new(Outcome {
        call: call.id,
        asked: call.name,
        tool: None,
        kind: error.error_type.outcome(),
        result: Err(error),
        notes: Vec::new(),
        report: Report::default(),
        unrecorded: None,
    }))
}
