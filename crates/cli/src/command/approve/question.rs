//! Finds the question that a command names.

use toolcrib_app::Stores;
use toolcrib_core::store::ApprovalWithDecision;
use toolcrib_ops::approvals;

use crate::op_context;
use crate::output::Failure;

/// Returns the failure of a decision that does not fit this question.
pub(super) fn wrong_kind_failure(request: &toolcrib_core::ApprovalRequest) -> Failure {
    let id = request.id;
    Failure::usage(match &request.question {
        Some(_) => format!(
            "{id} is a question of the model: answer it with `toolcrib approve answer {id} TEXT`, or `toolcrib approve skip {id}`"
        ),
        None => format!(
            "{id} asks whether {} may run: decide with `toolcrib approve yes|no|edit|skip {id}`",
            request.tool
        ),
    })
}

/// Finds the question with this id or id prefix.
pub(super) async fn find_question(
    stores: &Stores,
    text: &str,
) -> Result<ApprovalWithDecision, Failure> {
    let ctx = op_context::for_stores(stores);
    let id = approvals::resolve_approval(&ctx, text).await?;
    Ok(approvals::find(&ctx, id).await?)
}
