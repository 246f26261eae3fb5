//! The decision that a call enters the pipeline again with.

use serde_json::Value;
use toolcrib_core::{ApprovalRequest, Decision, DecisionRecord, SealError};

use crate::secrets::{Sealing, restore};

pub(crate) struct ResumedCall {
    pub(crate) request: ApprovalRequest,
    pub(crate) record: DecisionRecord,
}

impl ResumedCall {
    /// The arguments to run with: the edited ones, or those that were shown. `real` are the latter
    /// with the secrets in them; parts that an edit leaves as they were shown mean those.
    pub(crate) fn args(&self, sealing: &Sealing, real: Value) -> Result<Value, SealError> {
        match &self.record.decision {
            Decision::Edit { args } => {
                Ok(restore(&sealing.open_edit(args)?, &self.request.args, &real))
            }
            _ => Ok(real),
        }
    }
}
