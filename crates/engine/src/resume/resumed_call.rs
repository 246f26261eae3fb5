//! The decision with which a call enters the pipeline again.

use serde_json::Value;
use toolcrib_core::{ApprovalRequest, Decision, DecisionRecord, SealError};

use crate::secrets::{Sealing, restore};

pub(crate) struct ResumedCall {
    pub(crate) request: ApprovalRequest,
    pub(crate) record: DecisionRecord,
}

impl ResumedCall {
    /// Returns the arguments to run with: the edited ones, or those that were shown. `real` are the
    /// shown arguments with unmasked secrets; they replace the parts that an edit left unchanged.
    pub(crate) fn args(&self, sealing: &Sealing, real: Value) -> Result<Value, SealError> {
        match &self.record.decision {
            Decision::Edit { args } => {
                Ok(restore(&sealing.open_edit(args)?, &self.request.args, &real))
            }
            _ => Ok(real),
        }
    }
}
