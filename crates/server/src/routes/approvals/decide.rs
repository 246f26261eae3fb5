//! Deciding: reads the question, and passes the decision on.

use axum::extract::State;
use toolcrib_ops::approvals::{DecideBody, DecisionReply};

use super::find_approval;
use crate::api::{Json, Path};
use crate::decision::{Decider, decide_question};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

pub(super) async fn decide(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    Json(wanted): Json<DecideBody>,
) -> Result<Json<DecisionReply>, Problem> {
    let found = find_approval(&daemon, &principal, &id).await?;
    let decider = Decider {
        name: &principal.name,
        sees_payloads: principal.sees_payloads(),
        may_read_secrets: principal.may_read_secrets(),
        four_eyes: daemon.settings().four_eyes,
    };
    Ok(Json(decide_question(daemon.run_supervisor(), &decider, found, &wanted).await?))
}
