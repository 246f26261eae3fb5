//! Rules that follow from repeated approvals.

use axum::extract::State;
use toolcrib_ops::rules::{self, RuleSuggestion};

use crate::api::{Json, Page, run_cpu_bound};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

pub(super) async fn suggest_rules(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<Page<RuleSuggestion>>, Problem> {
    let (on, client) = (daemon.clone(), principal.client.clone());
    let work = async move {
        let current = on.toolcrib().rules();
        let found = rules::suggest(&on.op_context(&principal, None), &current).await?;
        Ok::<_, Problem>(found)
    };
    Ok(Json(Page::single_page(run_cpu_bound(&daemon, &client, work).await?)))
}
